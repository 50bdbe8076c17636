import Driftless
import Foundation
import TestSupport
import Testing

/// What the pages of Core Data's managed object say, where it is easy to get otherwise.
struct ClassPageTests {
  private let directory: TemporaryDirectory
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    ManagedObject.register(Entry.self)
    directory = try TemporaryDirectory()
    let entry = EntityDescription("Entry")
    entry.managedObjectClassName = "Entry"
    let size = AttributeDescription("size", .integer32)
    size.maximum = .integer(10)
    let parts = RelationshipDescription(
      "parts", to: "Part", inverse: "entry", toMany: true, isOptional: false)
    parts.maxCount = 2
    entry.properties = [
      AttributeDescription("text", .string), AttributeDescription("modified", .date), size,
      AttributeDescription("blob", .transformable),
      parts, RelationshipDescription("next", to: "Entry", inverse: "former"),
      RelationshipDescription("former", to: "Entry", inverse: "next"),
    ]
    parts.isOptional = true
    // Nobody registers its class: it is found by its name.
    let part = EntityDescription("Part")
    part.managedObjectClassName = String(reflecting: Part.self)
    part.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("entry", to: "Entry", inverse: "parts"),
    ]
    let late = EntityDescription("Late")
    late.managedObjectClassName = "LateEntry"
    let module = EntityDescription("InModule")
    module.managedObjectClassName = ".InModule"
    module.properties = [AttributeDescription("name", .string)]
    late.properties = [AttributeDescription("name", .string)]
    let plain = EntityDescription("Plain")
    plain.properties = [AttributeDescription("name", .string)]
    container = PersistentContainer(
      name: "Entries", model: ManagedObjectModel(entities: [entry, part, late, module, plain]),
      storeURL: directory.file("entries.sqlite"))
    try container.loadPersistentStores()
    context = container.newContext()
  }

  private func saved(_ text: String = "text") throws -> Entry {
    let entry = try context.insert(Entry.self)
    entry.text = text
    try context.save()
    return entry
  }

  @Test("A primitive value that willSave sets is saved with the object, and is taken back with it")
  func primitiveInWillSave() throws {
    let entry = try saved()
    entry.stamp = Date(timeIntervalSinceReferenceDate: 7)
    entry.text = "changed"
    try context.save()
    #expect(!entry.hasChanges && entry.changedValues().isEmpty)
    let other = container.newContext()
    let read = try #require(try other.existingObject(with: entry.objectID) as? Entry)
    #expect(try read.value(forKey: "modified") as? Date == entry.stamp)
    entry.stamp = nil
    try entry.setPrimitiveValue("beneath", forKey: "text")
    #expect(!entry.hasChanges && !context.hasChanges)
    #expect(entry.committedValues(forKeys: ["text"])["text"] as? String == "changed")
    try entry.setValue(3, forKey: "size")
    context.rollback()
    #expect(entry.text == "changed")
  }

  @Test("Accessors that awakeFromFetch uses change nothing, those that are written by hand too")
  func awakening() throws {
    let entry = try saved()
    let other = container.newContext()
    let read = try #require(try other.existingObject(with: entry.objectID) as? Entry)
    #expect(read.handWritten == "awoken too")
    #expect(try read.value(forKey: "size") as? Int64 == 3)
    #expect(!read.hasChanges && !other.hasChanges && read.changedValues().isEmpty)
  }

  @Test("An error of an override keeps its domain, code and keys when it is the only one")
  func ownErrors() throws {
    let entry = try saved()
    entry.flaw = NSError(domain: "app", code: 42, userInfo: ["why": "because"])
    entry.text = "changed"
    let error = try #require(throws: (any Error).self) { try context.save() } as NSError
    #expect(error.domain == "app" && error.code == 42)
    #expect(error.userInfo["why"] as? String == "because")
  }

  @Test("An error of an override that has details is taken apart, and each rule's names its object")
  func detailedErrors() throws {
    let entry = try saved()
    entry.flaw = NSError(
      domain: NSCocoaErrorDomain, code: 1560,
      userInfo: [
        "NSDetailedErrors": [NSError(domain: "app", code: 1), NSError(domain: "app", code: 2)]
      ])
    entry.text = "changed"
    let large = try context.insert(Entry.self)
    try large.setValue(11, forKey: "size")
    let error = try #require(throws: (any Error).self) { try context.save() } as NSError
    #expect(error.domain == NSCocoaErrorDomain && error.code == 1560)
    let details = try #require(error.userInfo["NSDetailedErrors"] as? [NSError])
    #expect(details.map(\.code).sorted() == [1, 2, 1610])
    let rule = try #require(details.first { $0.code == 1610 })
    #expect(rule.userInfo["NSValidationErrorObject"] as? ManagedObjectID == large.objectID)
    #expect(rule.userInfo["NSValidationErrorKey"] as? String == "size")
  }

  @Test("validateValue checks relationships as a save does")
  func relationships() throws {
    let entry = try saved()
    let parts = try (0..<3).map { _ in try context.insert(entityNamed: "Part") }
    try entry.validateValue(Set(parts.prefix(2)), forKey: "parts")
    #expect(throws: ValidationError.self) { try entry.validateValue(parts, forKey: "parts") }
    #expect(throws: ObjectError.self) { try entry.validateValue([entry], forKey: "parts") }
    try entry.validateValue(nil, forKey: "next")
    try entry.validateValue(entry, forKey: "next")
    #expect(throws: ObjectError.self) { try entry.validateValue(parts[0], forKey: "next") }
    try entry.setValue(parts, forKey: "parts")
    #expect(try entry.primitiveValue(forKey: "parts") as? Set<ManagedObject> == Set(parts))
  }

  @Test("A rule of a class is asked by saves and by validateValue, and may correct the value")
  func rules() throws {
    Entry.text.validate { entry, text in
      if text.hasPrefix("bad") { throw NSError(domain: "rule", code: 7) }
      text = text.replacing("\t", with: " ")
    }
    let entry = try saved("a\tb")
    #expect(entry.text == "a b")
    var value: Any? = "c\td"
    try entry.validateValue(&value, forKey: "text")
    #expect(value as? String == "c d" && entry.text == "a b")
    entry.text = "bad"
    let error = try #require(throws: (any Error).self) { try context.save() } as NSError
    #expect(error.domain == "rule" && error.code == 7)
    #expect(throws: NSError.self) { try entry.validateValue("bad too", forKey: "text") }
  }

  @Test("A class that is named with its module needs no registration; one may be registered late")
  func classes() throws {
    #expect(try context.insert(entityNamed: "Part") is Part)
    // A name without a module is looked for where classes were registered.
    #expect(try context.insert(entityNamed: "InModule") is InModule)
    #expect(type(of: try context.insert(entityNamed: "Late")) == ManagedObject.self)
    ManagedObject.register(LateEntry.self)
    #expect(try context.insert(entityNamed: "Late") is LateEntry)
  }

  @Test("A class knows its entity and makes its requests; objects are made by entity")
  func entities() throws {
    let entity = try Part.entity()
    #expect(entity.name == "Part")
    #expect(try Part.fetchRequest().entityName == "Part")
    #expect(throws: ObjectError.self) { try Unknown.entity() }
    let entry = try #require(container.managedObjectModel.entitiesByName["Entry"])
    let object = try Entry(entity: entry, insertInto: context)
    #expect(object.isInserted && object.managedObjectContext === context)
    #expect(throws: ObjectError.self) { try ManagedObject(entity: entry, insertInto: context) }
    let plain = try #require(container.managedObjectModel.entitiesByName["Plain"])
    #expect(try ManagedObject(entity: plain, insertInto: context).entity === plain)
    #expect(throws: ObjectError.self) { try Part(entity: entry, insertInto: context) }
    #expect(Entry.contextShouldIgnoreUnmodeledPropertyChanges)
  }

  @Test("A key of another type than the attribute's reads nothing, and the next save says so")
  func wrongKey() throws {
    let entry = try saved("seven")
    #expect(entry[Attribute<Entry, Int>("text")] == 0)
    #expect(context.accessorErrors.count == 1)
    #expect(throws: ObjectError.self) { try context.save() }
  }

  @Test("A case that this program does not know reads as the key's fallback, and saves go on")
  func unknownCase() throws {
    let entry = try saved("third")
    #expect(entry[Attribute<Entry, Kind>("text", default: .first)] == .first)
    entry.text = "first"
    try context.save()
    #expect(context.accessorErrors.isEmpty)
  }

  @Test("Primitive values are taken back by a rollback, and a primitive reference is saved")
  func primitivesAndRollback() throws {
    let (entry, next) = (try saved("one"), try context.insert(Entry.self))
    try entry.setPrimitiveValue("beneath", forKey: "text")
    context.rollback()
    #expect(entry.text == "one" && !entry.hasChanges)
    let other = try context.insert(Entry.self)
    try entry.setPrimitiveValue(other, forKey: "next")
    try context.save()
    entry.text = "two"
    try context.save()
    #expect(try entry.value(forKey: "next") as? Entry === other)
    #expect(next.managedObjectContext == nil)
  }

  @Test("What an object does while its context is reset changes nothing of the context")
  func callbacksAtReset() throws {
    let entry = try saved()
    let fresh = try context.insert(Entry.self)
    for object in [entry, fresh] {
      object.farewell = { [context] object in
        object.text = "changed at last"
        try? context.save()
        if object === fresh { context.reset() }
      }
    }
    context.reset()
    #expect(!context.hasChanges && context.registeredObjects.isEmpty)
    #expect(entry.log == ["will", "did"] && fresh.log.filter { $0 == "did" } == ["did"])
    #expect(try context.fetch(Entry.self).map(\.handWritten) == ["awoken too"])
  }

  @Test("Objects are told that their values go when a save deletes them or their context is reset")
  func dismissal() throws {
    let (kept, gone) = (try saved("kept"), try saved("gone"))
    context.delete(gone)
    #expect(gone.log.isEmpty)
    try context.save()
    #expect(gone.log == ["will", "did"])
    context.reset()
    #expect(kept.log == ["will", "did"] && kept.managedObjectContext == nil)
  }
}

private final class Entry: ManagedObject {
  static let text = Attribute<Entry, String>("text")
  var text: String {
    get { self[Entry.text] }
    set { self[Entry.text] = newValue }
  }
  var handWritten: String? {
    get { (try? primitiveValue(forKey: "text")) as? String }
    set {
      willChangeValue(forKey: "text")
      try? setPrimitiveValue(newValue, forKey: "text")
      didChangeValue(forKey: "text")
    }
  }
  var stamp: Date?
  var flaw: NSError?
  var log: [String] = []

  override func willSave() {
    if let stamp { try? setPrimitiveValue(stamp, forKey: "modified") }
  }
  override func awakeFromFetch() {
    handWritten = "awoken"
    text = "awoken too"
    try? setValue(3, forKey: "size")
  }
  override func validateForUpdate() throws {
    if let flaw { throw flaw }
    try super.validateForUpdate()
  }
  var farewell: ((Entry) -> Void)?
  override func willTurnIntoFault() {
    log.append("will")
    let last = farewell
    farewell = nil
    last?(self)
  }
  override func didTurnIntoFault() { log.append("did") }
}

private enum Kind: String, AttributeConvertible { case first, second }

final class Part: ManagedObject {}
final class InModule: ManagedObject {}
/// The runtime does not find it by its name.
private final class LateEntry: ManagedObject {}
private final class Unknown: ManagedObject {}
