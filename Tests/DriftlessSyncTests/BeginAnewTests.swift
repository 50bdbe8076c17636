import Driftless
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A replica whose record of its zone is damaged forgets it (`syncctl enroll --anew`) and goes on as a new one.
struct BeginAnewTests {
  private func beginAnew(_ replica: TestReplica, _ world: World) async throws {
    await replica.engine.close()
    try SyncEngine.enroll(
      store: replica.store, server: MemoryZone.url, zone: world.zone.name,
      info: try await world.zone.zoneInfo(), anew: true)
    let engine = try await replica.engine(through: world.zone)
    _ = try await engine.sync()
    await engine.close()
  }

  @Test("What was acknowledged, what is pending and what others did is on both sides")
  func keepsAll() async throws {
    let world = try await World(2)
    let ids = try (0..<4).map { try world[0].insert("Item", ["title": .string("\($0)")]) }
    try await world.settle()
    try world[1].set(ids[0], ["title": .string("theirs")])
    try world[1].delete(ids[3])
    try await world[1].sync()
    try world[0].set(ids[1], ["title": .string("mine")])
    try world[0].delete(ids[2])
    let new = try world[0].insert("Item", ["title": .string("new")])
    try await beginAnew(world[0], world)
    try await world[1].sync()
    for replica in world.replicas {
      #expect(try Set(replica.identities(of: "Item")) == [ids[0], ids[1], new])
      #expect(try replica.value(ids[0], "title") == .string("theirs"))
      #expect(try replica.value(ids[1], "title") == .string("mine"))
      #expect(try replica.value(new, "title") == .string("new"))
      #expect(try SyncEngine.check(replica.store).findings == [])
    }
    #expect(try world[0].status.pending.objects == 0)
  }

  @Test(
    "Damage of the engine's own record is gone once a store began anew",
    arguments: [
      "UPDATE ZDL_REPLICA SET chain = x'00'", "UPDATE ZDL_CHAIN SET chain = x'00'",
      "INSERT INTO ZDL_KEPT VALUES (1, 1, 'title', x'00', 1, x'00', 1)",
      "INSERT INTO ZDL_ALIAS VALUES (x'00', 1, 1, 1, x'00', NULL)",
      "INSERT INTO ZDL_DELETED VALUES (x'00', 1, 1, 1, 1, 7)",
      "INSERT INTO ZDL_DELETED_SINCE VALUES (x'00', 0)",
      "INSERT INTO ZDL_PENDING VALUES (1, 1, 1, x'00')",
      "INSERT INTO ZDL_STORE VALUES ('sync.reconciled', 'x')",
      "DELETE FROM ZDL_STORE WHERE key = 'syncing'",
    ])
  func mends(sql: String) async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a")])
    try await world.settle()
    try world[0].set(id, ["title": .string("b")])
    _ = try world[0].store.write(TransactionInfo()) {
      // As a disk does it, which knows no rules.
      try $0.connection.execute(
        "PRAGMA ignore_check_constraints = ON; \(sql); PRAGMA ignore_check_constraints = OFF")
    }
    let finding = try #require(try SyncEngine.check(world[0].store).findings.first)
    #expect(finding.suggestion.contains("syncctl enroll --anew"), "\(finding)")
    try await beginAnew(world[0], world)
    #expect(try SyncEngine.check(world[0].store).findings == [])
    try await world[1].sync()
    #expect(try world[1].value(id, "title") == .string("b"))
  }
}
