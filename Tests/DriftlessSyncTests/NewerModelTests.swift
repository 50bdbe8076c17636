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
}
