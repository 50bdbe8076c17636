import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Numbers of a damaged file, or of what lies beside it, that nothing can be reckoned with; and names in a file that the
/// library reads by.
struct DamagedRangeTests {
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(url: url, model: Shop.model())
    for number in 0..<2 { try store.insert("Item", ["name": .string("item \(number)")]) }
    store.close()
  }

  private func damage(_ sql: String) throws {
    let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
    defer { connection.close() }
    try connection.execute("PRAGMA ignore_check_constraints = ON; " + sql)
  }

  @Test(
    "A commit mark that no store leaves says nothing, and the store opens",
    arguments: [Int64.min, -1, .max])
  func mark(number: Int64) throws {
    let store = try PersistentStore.open(url: url)
    let bytes = CommitMark(store: store.identifier, number: number).bytes
    store.close()
    let file = try FileHandle(
      forWritingTo: URL(fileURLWithPath: url.path + "-driftless-lock"))
    try file.write(contentsOf: bytes)
    try file.close()
    #expect(CommitMark(bytes) == nil)
    let again = try PersistentStore.open(url: url)
    #expect(try again.lostCommits() == nil)
    try again.insert("Item")
    #expect(try again.check().isSound)
  }

  @Test(
    "A run of identities with keys that no object has is no object's, and the check names it",
    arguments: [
      (Int64.min, Int64(1)), (.min, .max), (.max, 1), (-5, 1 << 61), (0, 1), (.min, 0),
      (1 << 62, 2),
    ])
  func runs(first: Int64, count: Int64) throws {
    let identity = "randomblob(16)"
    try damage("INSERT INTO ZDL_IDENTITY VALUES (1, \(first), \(count), NULL, \(identity))")
    let store = try PersistentStore.open(url: url)
    let findings = try store.check().findings
    #expect(findings.contains { $0.table == "ZDL_IDENTITY" }, "\(findings)")
    let root = try store.read { try $0.identity(of: ObjectKey(entity: 1, key: 1)) }
    let key = try store.insert("Item", ["name": .string("new")])
    _ = try store.write(TransactionInfo()) { transaction in
      try transaction.assignNumbers(
        root: key.entity, firstKey: 1, count: key.key, firstNumber: 7)
    }
    let numbered = try store.read { try IdentityRuns.last(upToNumber: 7, on: $0.connection) }
    #expect(numbered?.firstKey == 1)
    #expect(try store.read { try $0.identity(of: ObjectKey(entity: 1, key: 1)) } == root)
  }

  @Test(
    "A number of a zone that is none stands in no object's way", arguments: [Int64.min, -1])
  func numbers(number: Int64) throws {
    try damage("INSERT INTO ZDL_IDENTITY VALUES (3, 1, 5, \(number), randomblob(16))")
    let store = try PersistentStore.open(url: url)
    _ = try store.write(TransactionInfo()) {
      try $0.assignNumbers(root: 1, firstKey: 1, count: 2, firstNumber: 7)
    }
    #expect(try store.check().findings.contains { $0.table == "ZDL_IDENTITY" })
  }

  @Test(
    "A note of a time that cannot be reckoned with is none, and the check names it",
    arguments: [
      ("clock", "\(Int64.min) 0 0 boot"), ("clock", "\(Int64.max) 1 1 boot"),
      ("clock", "0 \(Int64.min) 0 boot"), ("lostCommits", "\(Int64.min) 0"),
      ("lostCommits", "3 nan"), ("lostCommits", "3 1e300"),
    ])
  func settings(name: String, text: String) throws {
    try damage("INSERT OR REPLACE INTO ZDL_STORE VALUES ('\(name)', '\(text)')")
    let store = try PersistentStore.open(url: url)
    #expect(try store.check().findings.contains { $0.message.contains(name) })
    #expect(try store.lostCommits() == nil)
    #expect(try store.clockOffsetMilliseconds == 0)
    try store.setClockOffset(milliseconds: 5)
    #expect(try store.clockOffsetMilliseconds == 5)
    #expect(try store.clockStep() == 0)
  }

  @Test(
    "What takes the name of the rows in memory is told as the store is opened, and no save is lost",
    arguments: [
      "CREATE TABLE Driftless_Rows (c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12)",
      "CREATE VIEW driftless_rows AS SELECT 1 AS c0",
    ])
  func rowsTable(statement: String) throws {
    let store = try PersistentStore.open(url: url)
    try damage(statement)
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    let item = try #require(store.model.entitiesByName["Item"])
    for _ in 0..<3 { _ = try ManagedObject(entity: item, insertInto: context) }
    #expect(throws: (any Error).self) { try context.save() }
    #expect(try store.read { try $0.maximumTransactionNumber() } == 2)
    store.close()
    let error = #expect(throws: StoreError.self) { try PersistentStore.open(url: url) }
    #expect(error?.code == .damaged)
    #expect(error?.message.lowercased().contains("driftless_rows") == true)
    try damage("DROP \(statement.split(separator: " ")[1]) driftless_rows")
    #expect(try PersistentStore.open(url: url).check().isSound)
  }

  @Test("What takes the name of the wider rows in memory is told as well")
  func wideRowsTable() throws {
    try PersistentStore.open(url: url).close()
    try damage("CREATE TABLE Driftless_wide_Rows (c0)")
    let error = #expect(throws: StoreError.self) { try PersistentStore.open(url: url) }
    #expect(error?.code == .damaged)
    #expect(error?.message.contains("Driftless_wide_Rows") == true)
    try damage("DROP TABLE driftless_wide_rows")
    #expect(try PersistentStore.open(url: url).check().isSound)
  }

  @Test("Who shares a lock shares it still after a checkpoint, whether that had it alone or not")
  func sharedAfterAlone() throws {
    let path = directory.file("lock").path
    let (one, other) = (try FileLock(path: path), try FileLock(path: path))
    try one.lock(.shared)
    #expect(one.alone { true } == true)
    #expect(!other.tryLock(), "it is shared again")
    try other.lock(.shared)
    #expect(one.alone { true } == nil)
    other.unlock()
    #expect(!other.tryLock(), "it is shared still")
    one.unlock()
    #expect(other.tryLock())
    other.unlock()
    #expect(one.alone { other.tryLock() } == false)
    #expect(other.tryLock())
  }
}
