import Driftless
import DriftlessSQLite
import DriftlessSync
import Foundation
import Testing

/// A copied replica becomes a store of its own.
struct RekeyTests {
  @Test("What a change set in flight left out goes with it, and the check agrees")
  func leavesNothingInFlight() async throws {
    let world = try await World(1)
    let id = try world[0].insert("Item", ["title": .string("a"), "stock": .integer(1)])
    try await world.settle()
    try world[0].set(id, ["title": .string("pending")])
    let store = world[0].store
    _ = try store.write(TransactionInfo(kind: .imported)) { transaction in
      let key = try #require(try transaction.key(of: id))
      try transaction.connection.run(
        "INSERT INTO ZDL_OMITTED VALUES (?, ?, 'title')", .integer(Int64(key.entity)),
        .integer(key.key))
    }
    await world[0].engine.close()
    _ = try SyncEngine.rekey(store: store)
    for table in ["REPLICA", "OUTBOX", "OMITTED", "PENDING", "CHAIN", "FRAME", "BASE"] {
      let rows = try store.read { try $0.connection.scalar("SELECT COUNT(*) FROM ZDL_\(table)") }
      #expect(rows == .integer(0), "ZDL_\(table)")
    }
    let numbers = try store.read {
      try $0.connection.scalar("SELECT COUNT(number) FROM ZDL_IDENTITY")
    }
    #expect(numbers == .integer(0))
    #expect(try SyncEngine.check(store).findings.isEmpty)
  }
}
