import CoreData
import TestSupport
import Testing

/// Options of SQLite's: each does what it says, or is refused by its name.
struct PragmaTests {
  private let folder: TemporaryDirectory
  private var url: URL { folder.file("shop.sqlite") }

  init() throws { folder = try TemporaryDirectory() }

  private func open(_ pragmas: [String: String]) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [NSSQLitePragmasOption: pragmas])
    let context = Albums.context(coordinator)
    try context.performAndWait {
      Item(context: context).name = "Lamp"
      try context.save()
    }
    try coordinator.remove(store)
  }

  /// The bytes of the file that say whether it is read and written with a write-ahead log: 2, or with a rollback journal: 1.
  private func modes() throws -> [UInt8] { Array(try Data(contentsOf: url)[18..<20]) }

  @Test(
    "A file of journal_mode DELETE has no log once it is closed, and says so itself",
    arguments: ["DELETE", "truncate"])
  func rollbackJournal(_ mode: String) throws {
    try open([:])
    #expect(try modes() == [2, 2])
    try open(["journal_mode": mode])
    #expect(try modes() == [1, 1])
    for suffix in ["-wal", "-shm", "-journal"] {
      #expect(!FileManager.default.fileExists(atPath: url.path + suffix), "\(suffix)")
    }
    try open(["journal_mode": "WAL"])
    #expect(try modes() == [2, 2])
  }

  @Test(
    "A pragma that a store does not leave to its user is refused by its name",
    arguments: [
      ("journal_mode", "OFF"), ("journal_mode", "MEMORY"), ("synchronous", "OFF"),
      ("cache_size", "9"), ("page_size", "512"),
    ])
  func refused(_ name: String, _ value: String) throws {
    let error = #expect(throws: (any Error).self) { try open([name: value]) }
    #expect((error as NSError?)?.localizedDescription.contains("\(name) = \(value)") == true)
  }

  @Test(
    "A store waits ten seconds for another process, or as long as NSPersistentStoreTimeoutOption says"
  )
  func timeout() throws {
    #expect(NSPersistentStoreDescription(url: url).timeout == 10)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [NSPersistentStoreTimeoutOption: 240])
    #expect(store.options?[NSPersistentStoreTimeoutOption] as? Double == 240)
  }
}
