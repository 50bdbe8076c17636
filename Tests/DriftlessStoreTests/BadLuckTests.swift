import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Full disks, held locks, newer files, long readers.
struct BadLuckTests {
  private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do {
      try body()
      return nil
    } catch { return (error as? StoreError)?.code }
  }

  @Test("F10 When the file cannot grow, the save fails whole, and the next one that fits succeeds")
  func fullDisk() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let key = try store.insert("Item", ["name": .string("before")])
    _ = try store.write(TransactionInfo()) { transaction in
      guard case .integer(let pages)? = try transaction.connection.scalar("PRAGMA page_count")
      else {
        return
      }
      _ = try transaction.connection.scalar("PRAGMA max_page_count = \(pages + 2)")
    }
    let picture = PropertyValue.data(Data(repeating: 1, count: 1 << 20))
    #expect(code { try store.insert("Item", ["picture": picture]) } == .diskFull)
    #expect(try store.values(key)?["name"] == .string("before"))
    #expect(try store.insert("Item", ["name": .string("after")]).key == key.key + 1)
    #expect(try store.read { try $0.maximumTransactionNumber() } == 2)
    #expect(
      try store.read { try $0.connection.scalar("PRAGMA integrity_check") } == .text("ok"))
  }

  @Test("A store that another process writes says that it is busy when the time is up")
  func busy() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(
      url: url, model: Shop.model(), options: StoreOptions(busyTimeoutMilliseconds: 10))
    let other = try SQLiteConnection(path: url.path, mode: .readWrite)
    try other.execute("BEGIN IMMEDIATE")
    #expect(code { try store.insert("Item") } == .busy)
    try other.execute("ROLLBACK")
    #expect(code { try store.insert("Item") } == nil)
  }

  @Test("F74 A file of a newer format is refused and not touched")
  func newerFormat() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(url: url, model: Shop.model())
    try store.setMetadata(3, forKey: "DriftlessFormat")
    store.close()
    let bytes = try Data(contentsOf: url)
    #expect(code { _ = try PersistentStore.open(url: url) } == .newerFormat)
    #expect(try Data(contentsOf: url) == bytes)
  }

  @Test("A long reader keeps its snapshot through a checkpoint, and writers do not wait for it")
  func longReader() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let key = try store.insert("Item", ["name": .string("old")])
    let picture = PropertyValue.data(Data(repeating: 9, count: 3 << 20))
    try store.read { transaction in
      #expect(try transaction.row(key)?.version == 1)
      let start = ContinuousClock.now
      for _ in 0..<12 { try store.insert("Item", ["picture": picture]) }
      try store.update(key, "name", .string("new"))
      // The time-out for locks is ten seconds; each of the checkpoints would wait as long.
      #expect(ContinuousClock.now - start < .seconds(10))
      #expect(try transaction.row(key)?.version == 1)
    }
    #expect(try store.values(key)?["name"] == .string("new"))
  }

  @Test("A store in memory may be read inside a write and inside a read")
  func nestedReads() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    let key = try store.insert("Item")
    func version() throws -> Int64? { try store.read { try $0.row(key)?.version } }
    let inWrite = try store.write(TransactionInfo()) { _ in try version() }.0
    let inRead = try store.read { _ in try version() }
    #expect(inWrite == 1)
    #expect(inRead == 1)
  }

  @Test("F31 The clock goes on after all history was purged, even when the wall clock went back")
  func clockAfterPurge() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    let ahead = HybridTime(Date(timeIntervalSinceNow: 3600))
    try store.insert("Item", info: TransactionInfo(hybridTime: ahead))
    try store.deleteHistory(before: Date.distantFuture)
    let committed = try store.write(TransactionInfo()) { transaction in
      try transaction.delete(ObjectKey(entity: 1, key: 1), expectedVersion: nil)
    }.committed
    #expect(try #require(committed).hybridTime > ahead)
  }

  @Test("A value that no property list can have is refused with what to use, and the metadata stay")
  func metadataThatAreNone() throws {
    let store = try PersistentStore.open(
      url: nil, model: ManagedObjectModel(entities: [EntityDescription("Item")]))
    try store.setMetadata("kept", forKey: "note")
    for value: Any in [UUID(), NoValue(), ["a": NoValue()], ["b": URL(fileURLWithPath: "/")]] {
      #expect {
        try store.setMetadata(value, forKey: "note")
      } throws: { ($0 as? StoreError)?.code == .invalidArgument }
    }
    #expect(store.metadata.values["note"] as? String == "kept")
  }

  private struct NoValue {}
}
