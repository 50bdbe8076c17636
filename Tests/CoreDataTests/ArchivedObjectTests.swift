import CoreData
import TestSupport
import Testing

/// Objects of an application's class in transformable attributes that name no transformer.
struct ArchivedObjectTests {
  private final class Nested: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    override init() {}
    init?(coder: NSCoder) {}
    func encode(with coder: NSCoder) {}
  }

  private let folder: TemporaryDirectory
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    context = Albums.context(try Albums.coordinator(folder.file("albums.sqlite")))
  }

  @Test("An object with NSSecureCoding is archived, and comes back as one of its class")
  func values() throws {
    try context.performAndWait {
      let album = Album(context: context)
      album.setManagedValue(Ink(name: "red"), forKey: "info")
      try context.save()
      context.refresh(album, mergeChanges: false)
      let ink: Ink? = album.managedValue(forKey: "info")
      #expect(ink?.name == "red")
      album.setManagedValue([Ink(name: "red"), Ink(name: "blue")], forKey: "info")
      try context.save()
      context.refresh(album, mergeChanges: false)
      #expect((album.value(forKey: "info") as? [Ink])?.map(\.name) == ["red", "blue"])
    }
  }

  @Test(
    "A value that is equal by isEqual, or a dictionary in another order, is no change of the attribute"
  )
  func equalValues() throws {
    try context.performAndWait {
      let album = Album(context: context)
      album.setValue(Shade(name: "red", stamp: 1), forKey: "info")
      let keys = (0..<64).map { "key \($0)" }
      func tags(_ keys: [String]) -> [String: Int] {
        var tags: [String: Int] = [:]
        for key in keys { tags[key] = key.count }
        return tags
      }
      album.setValue(tags(keys), forKey: "tags")
      try context.save()
      album.setValue(Shade(name: "red", stamp: 2), forKey: "info")
      album.setValue(tags(keys.reversed()), forKey: "tags")
      #expect(
        album.hasChanges && !album.hasPersistentChangedValues && album.changedValues().isEmpty)
      try context.save()
      #expect((album.value(forKey: "info") as? Shade)?.stamp == 1)
      album.setValue(Shade(name: "blue", stamp: 2), forKey: "info")
      #expect(album.changedValues().count == 1)
      try context.save()
      context.refresh(album, mergeChanges: false)
      #expect((album.value(forKey: "info") as? Shade)?.name == "blue")
    }
  }

  @Test("A default value is the object that was given, and new objects have one like it")
  func defaults() throws {
    let ink = Ink(name: "green")
    let attribute = Shop.attribute("info", .transformableAttributeType)
    attribute.defaultValue = ink
    #expect(attribute.defaultValue as? Ink === ink)
    let model = Albums.model()
    model.entitiesByName["Album"]?.attributesByName["info"]?.defaultValue = ink
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let context = Albums.context(coordinator)
    context.performAndWait {
      #expect((Album(context: context).value(forKey: "info") as? Ink)?.name == "green")
    }
    attribute.defaultValue = nil
    #expect(attribute.defaultValue == nil)
  }

  @Test("An object whose class no archive can name is refused by the save")
  func nested() throws {
    context.performAndWait {
      let album = Album(context: context)
      album.setManagedValue(Nested(), forKey: "info")
      #expect(throws: CocoaError.self) { try context.save() }
    }
  }

  @Test("What the store has and the class does not expect reads as none, and the next save says so")
  func unexpected() throws {
    try context.performAndWait {
      let album = Album(context: context)
      album.setValue("text", forKey: "info")
      try context.save()
      let ink: Ink? = album.managedValue(forKey: "info")
      #expect(ink == nil)
      album.title = "a"
      let error = #expect(throws: CocoaError.self) { try context.save() }
      #expect("\(String(describing: error))".contains("Album.info"))
    }
  }
}

/// As an application has it beside its managed objects.
final class Ink: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let name: String

  init(name: String) { self.name = name }

  init?(coder: NSCoder) {
    guard let name = coder.decodeObject(of: NSString.self, forKey: "name") else { return nil }
    self.name = String(describing: name)
  }

  func encode(with coder: NSCoder) { coder.encode(NSString(string: name), forKey: "name") }
}

/// Equal by its name, though its archive says more.
final class Shade: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let name: String
  let stamp: Int

  init(name: String, stamp: Int) {
    self.name = name
    self.stamp = stamp
  }

  init?(coder: NSCoder) {
    name = coder.decodeObject(of: NSString.self, forKey: "name").map { "\($0)" } ?? ""
    stamp = coder.decodeInteger(forKey: "stamp")
  }

  func encode(with coder: NSCoder) {
    coder.encode(name as NSString, forKey: "name")
    coder.encode(stamp, forKey: "stamp")
  }

  override func isEqual(_ object: Any?) -> Bool { (object as? Shade)?.name == name }
  override var hash: Int { name.hashValue }
}
