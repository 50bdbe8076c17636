import CoreData
import Synchronization
import TestSupport
import Testing

/// What a coordinator does with stores by their type, under each of its names.
struct StoreMemberTests {
  private let folder: TemporaryDirectory
  private let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
  private let url: URL

  init() throws {
    folder = try TemporaryDirectory()
    url = folder.file("a.sqlite")
  }

  private func count(_ name: String = "Item") throws -> Int {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return try context.performAndWait {
      try context.count(for: NSFetchRequest<NSManagedObject>(entityName: name))
    }
  }

  private func fill() throws {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      Item(context: context).name = "Lamp"
      try context.save()
    }
  }

  @Test("Metadata of a file are read and set by the type's name and by the type")
  func metadata() throws {
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
    try coordinator.remove(store)
    typealias Coordinator = NSPersistentStoreCoordinator
    try Coordinator.setMetadata(["a": "1"], forPersistentStoreOfType: NSSQLiteStoreType, at: url)
    var read = try Coordinator.metadataForPersistentStore(
      ofType: NSSQLiteStoreType, at: url, options: nil)
    #expect(read["a"] as? String == "1")
    try Coordinator.setMetadata(
      ["a": "2"], forPersistentStoreOfType: NSSQLiteStoreType, at: url, options: nil)
    read = try Coordinator.metadataForPersistentStore(type: .sqlite, at: url, options: nil)
    #expect(read["a"] as? String == "2")
    try Coordinator.setMetadata(["a": "3"], type: .sqlite, at: url, options: nil)
    #expect(try PersistentStoreFile.text("a", at: url) == "3")
  }

  private enum PersistentStoreFile {
    static func text(_ key: String, at url: URL) throws -> String? {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(
        ofType: NSSQLiteStoreType, at: url)[key] as? String
    }
  }

  @Test("A store is added by a description, and by its type")
  func adding() throws {
    nonisolated(unsafe) var failure: (any Error)?
    coordinator.addPersistentStore(
      with: NSPersistentStoreDescription(url: url),
      completionHandler: { _, error in failure = error })
    #expect(failure == nil && coordinator.persistentStores.count == 1)
    let other = try coordinator.addPersistentStore(
      type: .inMemory, configuration: nil, at: folder.file("b"), options: nil)
    let type: NSPersistentStore.StoreType.RawValue = NSPersistentStore.StoreType.inMemory.rawValue
    #expect(other.type == type)
    #expect(NSPersistentStore.migrationManagerClass() is NSMigrationManager.Type)
  }

  @Test("A store is moved, replaced and destroyed by its type and by the type's name")
  func files() throws {
    var store = try coordinator.addPersistentStore(type: .sqlite, at: url)
    try fill()
    let (second, third) = (folder.file("b.sqlite"), folder.file("c.sqlite"))
    store = try coordinator.migratePersistentStore(store, to: second, options: nil, type: .sqlite)
    #expect(try count() == 1 && store.url == second)
    try coordinator.remove(store)
    try coordinator.replacePersistentStore(
      at: third, destinationOptions: nil, withPersistentStoreFrom: second, sourceOptions: nil,
      type: .sqlite)
    try coordinator.destroyPersistentStore(at: second, type: .sqlite, options: nil)
    try coordinator.replacePersistentStore(
      at: second, destinationOptions: nil, withPersistentStoreFrom: third, sourceOptions: nil,
      ofType: NSSQLiteStoreType)
    try coordinator.destroyPersistentStore(at: third, ofType: NSSQLiteStoreType, options: nil)
    let last = try coordinator.addPersistentStore(type: .sqlite, at: second)
    #expect(try count() == 1)
    try coordinator.remove(last)
  }

  @Test(
    "A store that is destroyed while it is attached is the coordinator's no more, and a new one is made in its place"
  )
  func destroyed() throws {
    try coordinator.addPersistentStore(type: .sqlite, at: url)
    try fill()
    try coordinator.destroyPersistentStore(at: url, type: .sqlite)
    #expect(coordinator.persistentStores.isEmpty)
    try coordinator.addPersistentStore(type: .sqlite, at: url)
    try fill()
    #expect(try count() == 1 && coordinator.persistentStores.count == 1)
  }

  @Test("A container loads a store anew that was destroyed, and says so")
  func loadedAnew() throws {
    let container = NSPersistentContainer(name: "a", managedObjectModel: Shop.model())
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
    let told = Mutex<[String?]>([])
    func load() {
      container.loadPersistentStores { _, error in
        told.withLock { $0.append(error.map { "\($0)" }) }
      }
    }
    load()
    try container.persistentStoreCoordinator.destroyPersistentStore(at: url, type: .sqlite)
    load()
    #expect(told.withLock { $0 } == [nil, nil])
    let context = container.newBackgroundContext()
    try context.performAndWait {
      Item(context: context).name = "Lamp"
      try context.save()
      #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Item")) == 1)
    }
  }
}
