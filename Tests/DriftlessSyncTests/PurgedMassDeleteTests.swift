import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Deletes of a large part of a replica that comes by a snapshot, since the log that told them was purged.
struct PurgedMassDeleteTests {
  @Test(
    "F54 Deletes that a snapshot tells are set aside as a log's are: nothing else waits, and a person's word ends it",
    arguments: [false, true])
  func setAside(areKept: Bool) async throws {
    var options = SyncOptions()
    options.massDelete.floor = 8
    var world = try await World(1, options: options)
    let way = try PurgedZone(world.zone)
    world.replicas.append(
      try await TestReplica(
        "away", zone: world.zone, clock: world.clock, transport: way, options: options))
    let items = try (0..<40).map {
      try world[0].insert("Item", ["title": .string("item \($0)"), "low": .integer(Int64($0))])
    }
    let shelf = try world[0].insert("Shelf", ["name": .string("shelf")])
    let label = try world[0].insert("Label", ["name": .string("label")])
    let rows = try (0..<3).map { try world[0].insert("Row", ["name": .string("row \($0)")]) }
    let order = [rows[2], rows[0], rows[1]]
    try world[0].save { context in
      let held = try order.map { try #require(try context.object(withIdentity: $0)) }
      try #require(try context.object(withIdentity: shelf)).setValue(held, forKey: "rows")
      let item = try #require(try context.object(withIdentity: items[38]))
      try item.setValue(try context.object(withIdentity: shelf), forKey: "shelf")
      let labels = [try #require(try context.object(withIdentity: label))]
      try #require(try context.object(withIdentity: items[39])).setValue(
        Set(labels), forKey: "labels")
    }
    try await world.settle()
    for id in items.prefix(30) + [shelf, label] { try world[0].delete(id) }
    try world[0].set(items[30], ["note": .string("zone's")])
    _ = try await world[0].engine.sync(allowingMassDelete: true)
    try way.purge()
    try world[1].set(items[35], ["title": .string("mine")])
    let own = try world[1].insert("Label", ["name": .string("own")])
    for _ in 0..<2 {
      let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
      #expect(error?.code == .massDelete)
      #expect(error?.message.contains("32 of 46 objects") == true)
      #expect(error?.message.contains("syncctl parked") == true)
      await world[1].restart()
    }
    #expect(way.refused > 0)
    #expect(try world[1].status.pending.objects == 0, "own edits wait for no answer")
    #expect(try world[1].identities(of: "Item").count == 40)
    #expect(try world[1].value(items[30], "note") == .string("zone's"))
    let deletes = try SyncEngine.deletesSetAside(of: world[1].store)
    #expect(Set(deletes.map(\.object)) == Set(items.prefix(30) + [shelf, label]))
    #expect(try Set(deletes.map(\.sender)) == [#require(world[0].status.replica)])
    #expect(Set(deletes.map(\.entity)) == ["Item", "Shelf", "Label"])
    #expect(try world[1].conflicts == [])
    try await world[0].sync()
    #expect(try world[0].exists(own))
    #expect(try world[0].value(items[35], "title") == .string("mine"))
    #expect(try SyncEngine.check(world[1].store).findings == [])
    if areKept {
      try SyncEngine.keepMassDeleted(of: world[1].store)
      try await world[1].sync()
    } else {
      _ = try await world[1].engine.sync(allowingMassDelete: true)
    }
    #expect(try SyncEngine.deletesSetAside(of: world[1].store).isEmpty)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.identities(of: "Item").count == (areKept ? 40 : 10), "\(replica.name)")
      if areKept { #expect(try replica.value(items[3], "title") == .string("item 3")) }
      #expect(try replica.reference(items[38], "shelf") == (areKept ? shelf : nil))
      #expect(try replica.elements(items[39], "labels") == (areKept ? [label] : []))
      if areKept { #expect(try self.rows(of: shelf, replica) == order) }
      for row in rows { #expect(try replica.reference(row, "shelf") == (areKept ? shelf : nil)) }
    }
  }

  private func rows(of shelf: UUID, _ replica: TestReplica) throws -> [UUID] {
    try replica.store.read { transaction in
      let key = try #require(try transaction.key(of: shelf))
      let relationship = try #require(
        replica.store.schema.entity(numbered: key.entity)?.relationshipsByName["rows"])
      return try transaction.toManyKeys(of: key, relationship).map(transaction.identity)
    }
  }
}
