import CSQLite
import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation
import TestSupport
import Testing

@testable import DriftlessSQLite
@testable import DriftlessSync

/// What a download of many values costs, by the work of statements.
@Suite("The work of large values")
struct ValueWorkTests {
  /// What the statements of a store's connections have done so far, in instructions of SQLite's machine.
  private static func work(_ store: PersistentStore) throws -> Int64 {
    func steps(_ connection: SQLiteConnection) -> Int64 {
      var steps: Int64 = 0
      var statement = sqlite3_next_stmt(connection.handle, nil)
      while let current = statement {
        steps += Int64(sqlite3_stmt_status(current, SQLITE_STMTSTATUS_VM_STEP, 0))
        statement = sqlite3_next_stmt(connection.handle, current)
      }
      return steps
    }
    var work = try store.read { steps($0.connection) }
    let info = TransactionInfo(author: nil, contextName: nil)
    _ = try store.write(info) { work += steps($0.connection) }
    return work
  }

  /// The work of a download of so many values, beside as many objects that wait to be sent.
  private static func download(_ count: UInt64) async throws -> (work: Int64, transactions: Int64) {
    let shop = try await ValueShop(2, firstUse: [1])
    for seed in 1...count {
      try shop[0].insert("Item", ["blob": .data(ValueShop.bytes(1500, seed))])
    }
    try await shop.syncAll()
    for seed in 1...count { try shop[1].insert("Item", ["title": .string("\(seed)")]) }
    func transactions() throws -> Int64 {
      let count = try shop[1].store.read {
        try $0.connection.scalar("SELECT count(*) FROM ATRANSACTION")
      }
      guard case .integer(let number)? = count else { return 0 }
      return number
    }
    let before = try (work(shop[1].store), transactions())
    let report = try await shop[1].engine.downloadAll()
    #expect(report.values == Int(count))
    return (try work(shop[1].store) - before.0, try transactions() - before.1)
  }

  @Test("A download of many values does as much for each as one of few")
  func linear() async throws {
    let few = try await Self.download(60)
    let many = try await Self.download(240)
    #expect(few.work > 0)
    #expect(
      Double(many.work) / Double(few.work) < 6, "\(few.work) for 60, \(many.work) for 240")
    #expect(many.transactions <= 240 / 16, "\(many.transactions) transactions")
  }
}
