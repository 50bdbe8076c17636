import Driftless
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Replicas whose own bookkeeping is not what the engine wrote.
struct TamperedCursorTests {
  @Test(
    "F60 A cursor that was tampered with is found out, nothing traps, and the replica comes back",
    arguments: [
      "cursor = cursor + 1000", "cursor = 1", "chain = randomblob(16)",
      "cursor = cursor + 7, chain = randomblob(16)",
    ])
  func tampered(change: String) async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a"), "stock": .integer(1)])
    try await world.settle()
    for count in 2...5 {
      try world[count % 2].set(id, ["stock": .integer(Int64(count))])
      try await world.syncAll()
    }
    try world[1].set(id, ["title": .string("pending")])
    _ = try world[1].store.write(TransactionInfo(kind: .imported)) { transaction in
      try transaction.connection.execute("UPDATE ZDL_REPLICA SET \(change)")
    }
    await world[1].restart()
    for _ in 0..<3 {
      for replica in world.replicas {
        do {
          try await replica.sync()
        } catch {
          // Told, in words: what matters is that it ends, and how the next ones do.
          #expect(!"\(error)".isEmpty)
        }
      }
    }
    try await world.settle()
    #expect(try world[0].value(id, "title") == .string("pending"))
    #expect(try world[0].value(id, "stock") == .integer(5))
  }
}
