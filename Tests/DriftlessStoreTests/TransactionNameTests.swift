import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Names of transactions, by which copies of a store and the zone know them again.
struct TransactionNameTests {
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("shop.sqlite")
  }

  private func names(_ store: PersistentStore) throws -> [UInt64] {
    try store.read { transaction in
      try (1...max(1, transaction.maximumTransactionNumber())).map(transaction.transactionName)
    }
  }

  /// Makes the tables of a store what they were before transactions had names.
  private func downgrade() throws {
    let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
    defer { connection.close() }
    try connection.execute(
      """
      ALTER TABLE ZDL_TRANSACTION DROP COLUMN name; DROP TABLE ZDL_DELTA;
      DROP INDEX ZDL_IDENTITY_UNIQUE_NUMBER;
      CREATE INDEX ZDL_IDENTITY_NUMBER ON ZDL_IDENTITY (number);
      DELETE FROM ZDL_STORE WHERE key = 'tables'
      """)
  }

  @Test("Each save draws a name; an import has the one that it is given, or none")
  func drawn() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    try store.insert("Item")
    try store.insert("Item")
    try store.insert("Item", info: TransactionInfo(kind: .imported))
    try store.insert("Item", info: TransactionInfo(kind: .imported, name: 77))
    try store.insert("Item", info: TransactionInfo(kind: .resolution))
    let names = try names(store)
    #expect(names[0] != 0 && names[1] != 0 && names[0] != names[1])
    #expect(names[2] == 0 && names[3] == 77)
    #expect(names[4] != 0)
    try store.read { transaction throws in
      var fed: [UInt64] = []
      try transaction.forEachChange(after: 0) { header, _, _, _ in fed.append(header.name) }
      #expect(fed == names)
      #expect(try transaction.transactionNumber(named: names[1]) == 2)
      #expect(try transaction.transactionNumber(named: 0) == nil)
      #expect(try transaction.transactionName(99) == 0)
    }
  }

  @Test("A store without names gets them when it is opened: two copies of it the same ones")
  func derived() throws {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    try store.insert("Item")
    try store.insert("Item", info: TransactionInfo(kind: .imported))
    try store.insert("Item")
    store.close()
    try downgrade()
    let copy = directory.file("copy.sqlite")
    try FileManager.default.copyItem(at: url, to: copy)
    // Whoever only reads sees the same names, and leaves the file as it is.
    let reader = try PersistentStore.open(url: url, options: StoreOptions(isReadOnly: true))
    let read = try names(reader)
    #expect(try reader.currentHistoryToken().numbers.values.first == 3)
    reader.close()
    let (one, other) = (
      try PersistentStore.open(url: url), try PersistentStore.open(url: copy)
    )
    let found = try names(one)
    #expect(found[0] != 0 && found[2] != 0 && found[0] != found[2])
    #expect(found[1] == 0, "an import is the zone's")
    #expect(try names(other) == found && read == found)
    try one.insert("Item")
    try other.insert("Item")
    #expect(try names(one)[3] != names(other)[3])
    #expect(try one.check().isSound)
    #expect(
      try one.read {
        try $0.connection.rows("SELECT 1 FROM sqlite_master WHERE name = 'ZDL_IDENTITY_NUMBER'")
      }.isEmpty)
  }

  @Test("A store that has a zone object number twice opens all the same, and says so")
  func numbersTwice() throws {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let keys = try [store.insert("Item"), store.insert("Item")]
    store.close()
    try downgrade()
    let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
    for (place, key) in keys.enumerated() {
      try connection.run(
        "INSERT INTO ZDL_IDENTITY VALUES (1, ?, 1, 7, ?)", .integer(key.key),
        .blob(Data(repeating: UInt8(place), count: 16)))
    }
    connection.close()
    let again = try PersistentStore.open(url: url)
    #expect(try again.values(keys[0]) != nil)
    let findings = try again.check().findings
    #expect(findings.contains { $0.message.contains("zone object number 7") })
    _ = try again.write(TransactionInfo()) {
      try $0.connection.run("UPDATE ZDL_IDENTITY SET number = NULL")
    }
    again.close()
    let mended = try PersistentStore.open(url: url)
    #expect(try mended.check().isSound)
    #expect(throws: StoreError.self) {
      _ = try mended.write(TransactionInfo()) {
        try $0.connection.run("UPDATE ZDL_IDENTITY SET number = 7")
      }
    }
  }
}
