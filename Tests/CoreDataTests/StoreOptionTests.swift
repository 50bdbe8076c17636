import CoreData
import TestSupport
import Testing

/// Options of stores under Core Data's keys, where a store is added and where a file is worked on.
struct StoreOptionTests {
  private let folder: TemporaryDirectory
  private let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
  private let url: URL

  init() throws {
    folder = try TemporaryDirectory()
    url = folder.file("a.sqlite")
  }

  private func refuses(_ code: Int, _ body: () throws -> Void) {
    let error = #expect(throws: (any Error).self) { try body() }
    #expect((error as NSError?)?.code == code)
  }

  @Test("A key that is none of a store's is passed over, and one of this library's is refused")
  func unknown() throws {
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [
        "NSValidateXMLStoreOption": true, "com.example.own": "x",
        NSReadOnlyPersistentStoreOption: false,
      ])
    try coordinator.remove(store)
    let description = NSPersistentStoreDescription(url: url)
    description.setOption(NSNumber(value: true), forKey: "com.example.own")
    nonisolated(unsafe) var failure: (any Error)?
    coordinator.addPersistentStore(with: description) { _, error in failure = error }
    #expect(failure == nil)
    refuses(NSCoreDataError) {
      try coordinator.addPersistentStore(
        type: .sqlite, at: folder.file("b.sqlite"), options: ["DriftlessToManyPairOption": true])
    }
    refuses(NSCoreDataError) {
      try coordinator.addPersistentStore(
        type: .sqlite, at: folder.file("b.sqlite"),
        options: [NSPersistentStoreTimeoutOption: "soon"])
    }
  }

  @Test("Files are replaced, destroyed and described with options that fit, and of types that are")
  func files() throws {
    try coordinator.remove(try coordinator.addPersistentStore(type: .sqlite, at: url))
    let wrong: [AnyHashable: Any] = [NSReadOnlyPersistentStoreOption: "maybe"]
    let copy = folder.file("b.sqlite")
    refuses(NSCoreDataError) {
      try coordinator.replacePersistentStore(
        at: copy, destinationOptions: wrong, withPersistentStoreFrom: url, type: .sqlite)
    }
    refuses(NSCoreDataError) {
      try coordinator.replacePersistentStore(
        at: copy, withPersistentStoreFrom: url, sourceOptions: wrong, type: .sqlite)
    }
    #expect(!FileManager.default.fileExists(atPath: copy.path))
    refuses(NSCoreDataError) {
      try coordinator.destroyPersistentStore(at: url, type: .sqlite, options: wrong)
    }
    refuses(NSPersistentStoreInvalidTypeError) {
      try coordinator.destroyPersistentStore(at: url, ofType: "XML")
    }
    typealias Coordinator = NSPersistentStoreCoordinator
    refuses(NSCoreDataError) {
      try Coordinator.setMetadata(["a": "1"], type: .sqlite, at: url, options: wrong)
    }
    refuses(NSPersistentStoreInvalidTypeError) {
      try Coordinator.setMetadata(
        ["a": "1"], forPersistentStoreOfType: "XML", at: url, options: nil)
    }
    try coordinator.destroyPersistentStore(
      at: url, type: .sqlite, options: [NSPersistentStoreForceDestroyOption: true])
  }

  @Test("A migration manager takes stores of SQLite, with options that fit")
  func migration() throws {
    try coordinator.remove(try coordinator.addPersistentStore(type: .sqlite, at: url))
    let model = Shop.model()
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: model, destinationModel: model)
    let manager = NSMigrationManager(sourceModel: model, destinationModel: model)
    let copy = folder.file("b.sqlite")
    refuses(NSPersistentStoreInvalidTypeError) {
      try manager.migrateStore(
        from: url, sourceType: NSSQLiteStoreType, with: mapping, toDestinationURL: copy,
        destinationType: "XML")
    }
    refuses(NSCoreDataError) {
      try manager.migrateStore(
        from: url, type: .sqlite, options: [NSReadOnlyPersistentStoreOption: "maybe"],
        mapping: mapping, to: copy, type: .sqlite)
    }
    try manager.migrateStore(
      from: url, type: .sqlite, options: [NSReadOnlyPersistentStoreOption: true],
      mapping: mapping, to: copy, type: .sqlite)
  }

  @Test("A store that is moved or saved elsewhere is told of, the former one and the new one")
  func moving() throws {
    let former = try coordinator.addPersistentStore(type: .sqlite, at: url)
    nonisolated(unsafe) var told: [[AnyHashable: Any]] = []
    let token = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreCoordinatorStoresDidChange, object: coordinator, queue: nil
    ) { told.append($0.userInfo ?? [:]) }
    defer { NotificationCenter.default.removeObserver(token) }
    let saved = try coordinator.migratePersistentStore(
      former, to: folder.file("b.sqlite"), type: .sqlite)
    #expect(told.count == 1)
    func stores(_ key: String) -> [NSPersistentStore]? {
      told.last?[key] as? [NSPersistentStore]
    }
    #expect(stores(NSAddedPersistentStoresKey) == [saved])
    #expect(stores(NSRemovedPersistentStoresKey) == [former])
    #expect(stores(NSUUIDChangedPersistentStoresKey) == [former, saved])
    let moved = folder.file("c.sqlite")
    try FileManager.default.moveItem(at: folder.file("b.sqlite"), to: moved)
    #expect(coordinator.setURL(moved, for: saved))
    #expect(told.count == 2)
    #expect(stores(NSAddedPersistentStoresKey)?.first?.url == moved)
    #expect(stores(NSRemovedPersistentStoresKey) == [saved])
  }

  @Test("A coordinator answers a fetch with an array, and saves the context when it is asked to")
  func requests() throws {
    try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      let save = NSSaveChangesRequest(inserted: nil, updated: nil, deleted: nil, locked: nil)
      let saved = try coordinator.execute(save, with: context)
      #expect((saved as? [Any])?.isEmpty == true && !context.hasChanges)
      let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
      #expect(try coordinator.execute(request, with: context) as? [Item] == [item])
      request.resultType = .countResultType
      let count = request.cast(to: NSFetchRequest<NSNumber>.self)
      #expect(try coordinator.execute(count, with: context) as? [NSNumber] == [1])
      #expect(throws: CocoaError.self) { try context.execute(save) }
    }
  }
}
