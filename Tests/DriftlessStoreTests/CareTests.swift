import DriftlessSQLite
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Driftless

/// Backup, vacuum, replacing, emptying, a new identity, and news from another process.
struct CareTests {
  private func open(_ url: URL) throws -> PersistentStore {
    try PersistentStore.open(url: url, model: Shop.model())
  }

  @Test("A backup taken while others write is one state of the store, with its history")
  func backup() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try open(url)
    let picture = PropertyValue.data(Data(repeating: 3, count: 100_000))
    for _ in 0..<20 { try store.insert("Item", ["picture": picture]) }
    let other = try open(url)
    var steps = 0
    let copy = directory.file("copy.sqlite")
    try store.backup(to: copy) { part in
      steps += 1
      #expect((0...1).contains(part))
      if steps < 4 { try other.insert("Item", ["picture": picture]) }
    }
    let mode = try FileManager.default.attributesOfItem(atPath: copy.path)[.posixPermissions]
    #expect(mode as? Int == 0o600)
    let restored = try PersistentStore.open(url: copy)
    #expect(restored.identifier == store.identifier)
    #expect(try restored.check().objectCount == 20, "what was written meanwhile is not in it")
    #expect(try restored.check().isSound)
    #expect(try restored.fetchHistory(.fetchHistory(after: Date.distantPast)).count == 20)
    #expect { try store.backup(to: copy) } throws: {
      ($0 as? StoreError)?.code == .invalidArgument
    }
    struct Stop: Error {}
    let third = directory.file("third.sqlite")
    #expect(throws: Stop.self) { try store.backup(to: third) { _ in throw Stop() } }
    #expect(!FileManager.default.fileExists(atPath: third.path))
  }

  @Test("Vacuuming gives back what deleted rows took")
  func vacuum() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try open(url)
    let keep = try store.insert("Item", ["name": .string("kept")])
    let large = try store.insert("Item", ["picture": .data(Data(repeating: 3, count: 3_000_000))])
    _ = try store.write(TransactionInfo()) { try $0.delete(large, expectedVersion: nil) }
    try store.vacuum()
    let size = try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int
    #expect(try #require(size) < 1_000_000)
    #expect(try store.values(keep)?["name"] == .string("kept"))
    #expect(try store.check().isSound)
  }

  @Test("A store that is destroyed is empty to all, and is made anew by the next who opens it")
  func destroy() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try open(url)
    try store.insert("Item")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try Shop.model())
    try coordinator.destroyPersistentStore(at: url)
    #expect(throws: (any Error).self) { try store.insert("Item") }
    store.close()
    let fresh = try open(url)
    #expect(fresh.identifier != store.identifier)
    #expect(try fresh.check().objectCount == 0)
    try PersistentStore.destroy(at: directory.file("absent.sqlite"))
  }

  @Test(
    "A store whose file is damaged is destroyed as well, and made anew", arguments: [100, 4096])
  func destroyDamaged(bytes: Int) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try open(url)
    try store.insert("Item")
    store.checkpointNow()
    store.close()
    let file = try FileHandle(forWritingTo: url)
    try file.write(contentsOf: Data(count: bytes))
    try file.close()
    #expect(throws: (any Error).self) { try open(url) }
    try PersistentStore.destroy(at: url)
    #expect(try open(url).check().objectCount == 0)
  }

  @Test("A store that is being synced is not replaced, and the holder is named")
  func replaceWhileSyncing() throws {
    let directory = try TemporaryDirectory()
    let store = try open(directory.file("shop.sqlite"))
    let other = try open(directory.file("other.sqlite"))
    let lock = try store.acquireSyncLock()
    #expect {
      try PersistentStore.replace(
        at: directory.file("shop.sqlite"), withStoreAt: directory.file("other.sqlite"))
    } throws: {
      ($0 as? StoreError)?.code == .syncLocked
    }
    withExtendedLifetime((lock, other)) {}
  }

  @Test("A store takes the content of another at once, for those too who have it open")
  func replace() throws {
    let directory = try TemporaryDirectory()
    let (url, source) = (directory.file("shop.sqlite"), directory.file("backup.sqlite"))
    let store = try open(url)
    let key = try store.insert("Item", ["name": .string("then")])
    try store.backup(to: source)
    try store.update(key, "name", .string("now"))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try Shop.model())
    try coordinator.replacePersistentStore(at: url, withPersistentStoreFrom: source)
    #expect(try store.values(key)?["name"] == .string("then"))
    #expect(try store.check().isSound)
    let copy = directory.file("copy.sqlite")
    try coordinator.replacePersistentStore(at: copy, withPersistentStoreFrom: source)
    #expect(try open(copy).values(key)?["name"] == .string("then"))
  }

  @Test("A copy of an older model that is put back is another store to those who have it open")
  func otherModel() throws {
    func model(_ attributes: String...) -> ManagedObjectModel {
      let item = EntityDescription("Item")
      item.properties = attributes.map { AttributeDescription($0, .string) }
      return ManagedObjectModel(entities: [item])
    }
    let directory = try TemporaryDirectory()
    let (url, copy) = (directory.file("shop.sqlite"), directory.file("copy.sqlite"))
    var store = try PersistentStore.open(url: url, model: model("name"))
    let key = try store.insert("Item", ["name": .string("then")])
    try store.backup(to: copy)
    store.close()
    let newer = model("name", "note")
    try PersistentStore.migrate(at: url, to: newer)
    store = try PersistentStore.open(url: url, model: newer)
    #expect(try store.values(key)?["name"] == .string("then"))
    try PersistentStore.replace(at: url, withStoreAt: copy)
    #expect { try store.insert("Item") } throws: {
      ($0 as? StoreError)?.code == .fileReplaced
    }
    #expect { try store.values(key) } throws: { ($0 as? StoreError)?.code == .fileReplaced }
    store.close()
    #expect(
      try PersistentStore.open(url: url, model: model("name")).values(key)?["name"]
        == .string("then"))
  }

  @Test("A copy with a new identity keeps its objects' identities, and never makes the original's")
  func rekey() throws {
    let directory = try TemporaryDirectory()
    let (url, copy) = (directory.file("shop.sqlite"), directory.file("copy.sqlite"))
    let store = try open(url)
    let old = try store.insert("Item")
    let given = try store.insert("Item")
    let identity = UUID()
    _ = try store.write(TransactionInfo()) {
      try $0.assignIdentities(
        root: 1, firstKey: given.key, count: 1, firstIdentity: identity, firstNumber: nil)
    }
    let last = try store.insert("Item")
    try store.registerHistoryReader("app", at: store.currentHistoryToken())
    let before = try store.read { transaction in
      try [old, given, last].map(transaction.identity(of:))
    }
    try store.backup(to: copy)
    let opened = try PersistentStore.open(url: copy)
    let identifier = try opened.rekey()
    // It is the same store to connections that look at it for the first time.
    let snapshot = try #require(try opened.snapshot())
    snapshot.close()
    opened.close()
    let twin = try PersistentStore.open(url: copy)
    #expect(twin.identifier == identifier && identifier != store.identifier)
    #expect(
      try twin.read { transaction in try [old, given, last].map(transaction.identity(of:)) }
        == before)
    #expect(before[1] == identity)
    #expect(
      try twin.read { transaction in try before.map(transaction.key(of:)) } == [old, given, last])
    let (mine, theirs) = (try store.insert("Item"), try twin.insert("Item"))
    #expect(mine == theirs)
    #expect(
      try store.read { try $0.identity(of: mine) } != twin.read { try $0.identity(of: theirs) })
    #expect(try twin.historyReaders().isEmpty)
    #expect {
      _ = try twin.fetchHistory(.fetchHistory(after: store.currentHistoryToken()))
    } throws: { ($0 as? StoreError)?.code == .historyTokenExpired }
  }

  @Test("What another process saves is news here at once, and nobody polls")
  func news() async throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try open(url)
    var iterator = store.changes().makeAsyncIterator()
    for number in 1...5 {
      let probe = Task.detached { try Probe.run("save", url) }
      #expect(await iterator.next() == Int64(number))
      let saved = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?)).last
      #expect(saved?.processID == "storeprobe")
      #expect(try await probe.value.lines == ["done"])
    }
    #expect(store.notifications.isToldBySystem)
  }

  @Test("A file that a broken-off migration left without a log of its own gets one again")
  func logMode() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    try open(url).close()
    let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
    #expect(try connection.scalar("PRAGMA journal_mode = DELETE") == .text("delete"))
    connection.close()
    let store = try open(url)
    #expect(try store.read { try $0.connection.scalar("PRAGMA journal_mode") } == .text("wal"))
  }
}
