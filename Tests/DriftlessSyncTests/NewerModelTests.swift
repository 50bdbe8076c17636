import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Replicas with different versions of the model.
struct NewerModelTests {
  @Test("F71 What an older model does not know is kept, and there when the model does")
  func parked() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let newer = try await TestReplica(
      "newer", zone: zone, clock: clock, model: shopModel(withNewerParts: true))
    let older = try await TestReplica("older", zone: zone, clock: clock)
    let offer = try newer.insert("Offer", ["percent": .integer(20)])
    let item = try newer.insert("Item", ["title": .string("a"), "colour": .string("red")])
    try await newer.sync()
    try newer.set(item, ["colour": .string("green"), "title": .string("b")])
    try await newer.sync()
    try await older.sync()
    #expect(try older.value(item, "title") == .string("b"))
    #expect(try !older.exists(offer))
    #expect(try older.status.parked == 2)

    // The older replica goes on working, and harms nothing that it does not know.
    try older.set(item, ["title": .string("c")])
    try await older.sync()
    try await newer.sync()
    #expect(try newer.value(item, "colour") == .string("green"))
    #expect(try newer.value(item, "title") == .string("c"))
    // A third replica with the newer model gets all of it.
    let third = try await TestReplica(
      "third", zone: zone, clock: clock, model: shopModel(withNewerParts: true))
    try await third.sync()
    #expect(try third.export == newer.export)
  }

  @Test(
    "F71 Once the model knows it, what was parked is applied by the next sync, and parked no more")
  func unparked() async throws {
    let world = try await World(2)
    let item = try world[0].insert("Item", ["title": .string("a"), "note": .string("n")])
    try await world.settle()
    try world[0].set(item, ["note": .string("parked")])
    try await world[0].sync()
    let generation = try #require(try world[0].status.generation)
    let place = try #require(world.zone.log.place(at: world.zone.head - 1))
    let page = try await world.zone.pull(
      PullRequest(
        cursor: Cursor(generation: generation, sequence: place.sequence, chain: place.chain),
        maxBytes: 1, waitSeconds: 0, replica: UUID(), ownThrough: 0))
    // As if the store's model had had no `note` when the change set came.
    try world[1].store.park(try #require(page.entries.first), unknown: "Item.note")
    #expect(try world[1].status.parked == 1)
    try await world[1].sync()
    #expect(try world[1].value(item, "note") == .string("parked"))
    #expect(try world[1].status.parked == 0)
    try await world.settle()
  }

  /// A replica whose model gets the parts that it lacked.
  private struct Upgraded {
    let newer: TestReplica
    let older: TestReplica
    let item: UUID
    /// Has the file.
    private let before: TestReplica

    /// The older one has a parked colour, gets the model that knows it, and sets it.
    init() async throws {
      let clock = ManualClock()
      let zone = MemoryZone(clock: clock)
      newer = try await TestReplica(
        "newer", zone: zone, clock: clock, model: shopModel(withNewerParts: true))
      before = try await TestReplica("before", zone: zone, clock: clock)
      item = try newer.insert("Item", ["title": .string("a"), "colour": .string("red")])
      try await newer.sync()
      try await before.sync()
      await before.engine.close()
      before.store.close()
      let file = before.directory.file("before.sqlite")
      older = try await TestReplica(
        "older", zone: zone, clock: clock, model: shopModel(withNewerParts: true), file: file)
      try older.set(item, ["colour": .string("green")])
    }
  }

  @Test("What was parked is settled against what is pending, and nothing of it stays behind")
  func settled() async throws {
    let upgraded = try await Upgraded()
    try await upgraded.older.sync()
    try await upgraded.newer.sync()
    #expect(try upgraded.newer.value(upgraded.item, "colour") == .string("green"))
    try upgraded.newer.delete(upgraded.item)
    try await upgraded.newer.sync()
    try await upgraded.older.sync()
    #expect(try !upgraded.older.exists(upgraded.item))
  }

  @Test("A push does not overtake what is parked")
  func pushed() async throws {
    let upgraded = try await Upgraded()
    try await upgraded.older.push()
    try await upgraded.older.sync()
    try await upgraded.newer.sync()
    #expect(try upgraded.older.value(upgraded.item, "colour") == .string("green"))
    #expect(try upgraded.newer.value(upgraded.item, "colour") == .string("green"))
  }

  @Test("A delete that meets an edit of what this model does not have is settled like any other")
  func deletedHere() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let newer = try await TestReplica(
      "newer", zone: zone, clock: clock, model: shopModel(withNewerParts: true))
    let older = try await TestReplica("older", zone: zone, clock: clock)
    let item = try newer.insert("Item", ["title": .string("a")])
    try await newer.sync()
    try await older.sync()
    try older.delete(item)
    try newer.set(item, ["colour": .string("green")])
    try await newer.sync()
    try await older.sync()
    try await newer.sync()
    #expect(try !newer.exists(item))
    let entry = try #require(try older.conflicts.first { $0.object == item })
    #expect(entry.explanation.hasPrefix("colour, which this model does not have"))
    #expect(entry.remote == "\"green\"")
  }
}
