import CoreData
import TestSupport
import Testing

/// Where a migration manager writes: which stores, with which options, and to one that is there.
struct MigrationDestinationTests {
  private let folder: TemporaryDirectory
  private let source: URL
  private let destination: URL
  private let manager: NSMigrationManager

  init() throws {
    folder = try TemporaryDirectory()
    (source, destination) = (folder.file("a.sqlite"), folder.file("b.sqlite"))
    let model = Albums.model()
    manager = NSMigrationManager(sourceModel: model, destinationModel: model)
    let context = Albums.context(try Albums.coordinator(source))
    try context.performAndWait {
      let album = Album(context: context)
      album.title = "first"
      album.setValue(["x"], forKey: "tags")
      let pages = [2, 1, 3].map { Page($0, context) }
      album.setValue(NSOrderedSet(array: pages), forKey: "pages")
      album.setValue(Set(pages.prefix(1)), forKey: "notes")
      try context.save()
    }
    for store in context.persistentStoreCoordinator?.persistentStores ?? [] { store.close() }
  }

  private func migrate(
    _ type: String = NSSQLiteStoreType, _ options: [AnyHashable: Any]? = nil,
    _ entities: [String] = ["Album", "Page"]
  ) throws {
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: manager.sourceModel, destinationModel: manager.destinationModel)
    mapping.entityMappings = mapping.entityMappings.filter {
      entities.contains($0.sourceEntityName ?? "")
    }
    try manager.migrateStore(
      from: source, sourceType: NSSQLiteStoreType, with: mapping, toDestinationURL: destination,
      destinationType: type, destinationOptions: options)
  }

  private func read<T>(_ body: (NSManagedObjectContext) throws -> T) throws -> T {
    let coordinator = try Albums.coordinator(destination)
    defer { for store in coordinator.persistentStores { store.close() } }
    let context = Albums.context(coordinator)
    return try context.performAndWait { try body(context) }
  }

  @Test(
    "A destination that is no file of SQLite is refused by its type",
    arguments: [NSBinaryStoreType, NSInMemoryStoreType])
  func otherType(_ type: String) throws {
    let error = #expect(throws: CocoaError.self) { try migrate(type) }
    #expect(error?.code == .persistentStoreInvalidType)
    #expect(!FileManager.default.fileExists(atPath: destination.path))
  }

  @Test("Options that would make another file take effect, or are refused")
  func options() throws {
    for key in [DriftlessToManyPairsOption, NSReadOnlyPersistentStoreOption] {
      let error = #expect(throws: CocoaError.self) { try migrate(NSSQLiteStoreType, [key: true]) }
      #expect(error?.localizedDescription.contains(key) == true)
    }
    try migrate(
      NSSQLiteStoreType,
      [
        NSSQLitePragmasOption: ["journal_mode": "DELETE"],
        NSMigratePersistentStoresAutomaticallyOption: true,
      ])
    #expect(Array(try Data(contentsOf: destination)[18..<20]) == [1, 1])
    #expect(!FileManager.default.fileExists(atPath: destination.path + "-wal"))
  }

  @Test("A store that is there is appended to: each pass adds its objects, with what relates them")
  func appended() throws {
    try migrate(NSSQLiteStoreType, nil, ["Page"])
    try migrate(NSSQLiteStoreType, nil, ["Album"])
    try read { context in
      #expect(try context.count(for: NSFetchRequest<Page>(entityName: "Page")) == 3)
      let albums = try context.fetch(NSFetchRequest<Album>(entityName: "Album"))
      #expect(albums.map(\.title) == ["first"])
      #expect(albums.first?.value(forKey: "tags") as? [String] == ["x"])
    }
    try migrate()
    try migrate()
    try read { context in
      let albums = try context.fetch(NSFetchRequest<Album>(entityName: "Album"))
      #expect(albums.count == 3)
      #expect(try context.count(for: NSFetchRequest<Page>(entityName: "Page")) == 9)
      let orders = albums.map { album in
        (album.value(forKey: "pages") as? NSOrderedSet)?.compactMap { ($0 as? Page)?.number }
      }
      #expect(orders.filter { $0 == [2, 1, 3] }.count == 2 && orders.contains([]))
      let notes = albums.map { ($0.value(forKey: "notes") as? Set<Page>)?.map(\.number) }
      #expect(notes.filter { $0 == [2] }.count == 2)
    }
    let left = try FileManager.default.contentsOfDirectory(
      atPath: destination.deletingLastPathComponent().path)
    #expect(!left.contains { $0.contains("-pass-") })
  }

  @Test("A destination of another model, and the source itself, stay as they are")
  func refused() throws {
    let other = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    try other.remove(try other.addPersistentStore(type: .sqlite, at: destination))
    let before = try Data(contentsOf: destination)
    let error = #expect(throws: CocoaError.self) { try migrate() }
    #expect(error?.code == .persistentStoreIncompatibleVersionHash)
    #expect(try Data(contentsOf: destination) == before)
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: manager.sourceModel, destinationModel: manager.destinationModel)
    #expect(throws: CocoaError.self) {
      try manager.migrateStore(
        from: source, type: .sqlite, mapping: mapping, to: source, type: .sqlite)
    }
  }
}
