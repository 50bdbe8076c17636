import CoreData
import TestSupport
import Testing

/// Accessors of to-many relationships as Xcode wrote them before it left them to the run time.
struct SetMutationTests {
  private let folder: TemporaryDirectory
  private let container: NSPersistentContainer

  init() throws {
    let (crate, part) = (NSEntityDescription(), NSEntityDescription())
    (crate.name, part.name) = ("Crate", "Part")
    crate.managedObjectClassName = NSStringFromClass(Crate.self)
    part.managedObjectClassName = NSStringFromClass(Part.self)
    let parts = Shop.relationship("parts", to: part, max: 0)
    let owner = Shop.relationship("crate", to: crate, max: 1)
    let loose = Shop.relationship("spares", to: part, max: 0)
    (parts.inverseRelationship, owner.inverseRelationship) = (owner, parts)
    crate.properties = [parts, loose]
    part.properties = [owner]
    let model = NSManagedObjectModel()
    model.entities = [crate, part]
    folder = try TemporaryDirectory()
    container = NSPersistentContainer(name: "Crates", managedObjectModel: model)
    container.persistentStoreDescriptions = [
      NSPersistentStoreDescription(url: folder.file("Crates.sqlite"))
    ]
    nonisolated(unsafe) var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
  }

  @Test("A set that is a primitive value is the relationship's own: both ends follow")
  func classic() throws {
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let crate = Crate(context: context)
      let (first, second) = (Part(context: context), Part(context: context))
      crate.addToParts(first)
      crate.addToParts(second)
      crate.removeFromParts(first)
      #expect(crate.parts == [second] && second.value(forKey: "crate") as? Crate === crate)
      try context.save()
      crate.parts = [first]
      #expect(second.value(forKey: "crate") == nil && crate.hasChanges)
      try context.save()
      context.reset()
      let request = NSFetchRequest<NSManagedObject>(entityName: "Crate")
      let read = try #require(try context.fetch(request).first as? Crate)
      #expect(read.parts.map(\.objectID) == [first.objectID])
    }
  }

  @Test("The kinds of change have Core Data's numbers")
  func kinds() {
    let kinds: [NSKeyValueSetMutationKind] = [.union, .minus, .intersect, .set]
    #expect(kinds.map(\.rawValue) == [1, 2, 3, 4])
  }

  @Test("A new store has Core Data's columns for a relationship without inverse, and its index")
  func columns() throws {
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let (first, second, part) = (
        Crate(context: context), Crate(context: context), Part(context: context)
      )
      first.mutableSetValue(forKey: "spares").add(part)
      second.mutableSetValue(forKey: "spares").add(part)
      #expect(first.mutableSetValue(forKey: "spares").count == 0)
      try context.save()
    }
    let names = try indexes(of: folder.file("Crates.sqlite"))
    #expect(names.contains("ACHANGE_ZTRANSACTIONID_INDEX"))
  }

  @Test("A store that was destroyed and is made anew has columns again")
  func reset() throws {
    let coordinator = NSPersistentStoreCoordinator(
      managedObjectModel: container.managedObjectModel)
    let url = folder.file("Again.sqlite")
    func add() throws -> NSPersistentStore {
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
    }
    try coordinator.remove(try add())
    try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType)
    _ = try add()
    #expect(try indexes(of: url).contains("ACHANGE_ZTRANSACTIONID_INDEX"))
  }

  @Test("In memory an object is in several sets of a relationship without inverse")
  func inMemory() throws {
    let coordinator = NSPersistentStoreCoordinator(
      managedObjectModel: container.managedObjectModel)
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let crates = [Crate(context: context), Crate(context: context)]
      let part = Part(context: context)
      for crate in crates { crate.mutableSetValue(forKey: "spares").add(part) }
      try context.save()
      #expect(crates.allSatisfy { $0.mutableSetValue(forKey: "spares").count == 1 })
    }
  }

  @Test("An option asks for pairs, as a store needs that syncs")
  func pairs() throws {
    let coordinator = NSPersistentStoreCoordinator(
      managedObjectModel: container.managedObjectModel)
    let url = folder.file("Pairs.sqlite")
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [DriftlessToManyPairsOption: true])
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let crates = [Crate(context: context), Crate(context: context)]
      let part = Part(context: context)
      for crate in crates { crate.mutableSetValue(forKey: "spares").add(part) }
      #expect(crates.allSatisfy { $0.mutableSetValue(forKey: "spares").count == 1 })
      try context.save()
    }
    #expect(!(try indexes(of: url)).contains("ACHANGE_ZTRANSACTIONID_INDEX"))
    // A file that is there keeps what it has.
    let again = NSPersistentStoreCoordinator(managedObjectModel: container.managedObjectModel)
    try again.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
    context.performAndWait { context.persistentStoreCoordinator = again }
    try context.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Crate")
      for crate in try context.fetch(request) {
        #expect(crate.mutableSetValue(forKey: "spares").count == 1)
      }
    }
  }

  /// The names of the file's indexes, as its own pages have them.
  private func indexes(of url: URL) throws -> String {
    let files = [url, URL(fileURLWithPath: url.path + "-wal")]
    let there = files.filter { FileManager.default.fileExists(atPath: $0.path) }
    return try there.map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }.joined()
  }
}

/// Has parts, by accessors written by hand.
final class Crate: NSManagedObject {
  func addToParts(_ part: Part) {
    let changed: Set<AnyHashable> = [part]
    willChangeValue(forKey: "parts", withSetMutation: .union, using: changed)
    (primitiveValue(forKey: "parts") as? NSMutableSet)?.add(part)
    didChangeValue(forKey: "parts", withSetMutation: .union, using: changed)
  }

  func removeFromParts(_ part: Part) {
    willChangeValue(forKey: "parts", withSetMutation: .minus, using: [part])
    (primitiveValue(forKey: "parts") as? NSMutableSet)?.remove(part)
    didChangeValue(forKey: "parts", withSetMutation: .minus, using: [part])
  }

  var parts: Set<Part> {
    get { managedPrimitiveValue(forKey: "parts") }
    set {
      willChangeValue(forKey: "parts", withSetMutation: .set, using: newValue)
      setPrimitiveValue(newValue, forKey: "parts")
      didChangeValue(forKey: "parts", withSetMutation: .set, using: newValue)
    }
  }
}

/// Is in a crate.
final class Part: NSManagedObject {}
