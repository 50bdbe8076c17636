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
    try world[0].save { context in
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
      #expect(error?.message.contains("32 of 43 objects") == true)
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
    let cut = try world[1].conflicts.filter { $0.outcome == .remote }
    #expect(Set(cut.compactMap(\.property)) == ["shelf", "labels"])
    try await world[0].sync()
    #expect(try world[0].exists(own))
    #expect(try world[0].value(items[35], "title") == .string("mine"))
    #expect(try SyncEngine.check(world[1].store).findings == [])
    if areKept {
      try SyncEngine.keepMassDeleted(of: world[1].store)
      try await world[1].sync()
      for entry in cut { try SyncEngine.undo(conflict: entry.number, of: world[1].store) }
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
    }
  }
}
