import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Deletes that wait for a person, and what a look at the zone does to them: nothing.
struct WaitingDeleteTests {
  private func world() async throws -> (world: World, items: [UUID]) {
    var options = SyncOptions()
    options.massDelete.floor = 8
    let world = try await World(2, options: options)
    let items = try (0..<40).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    try await world.settle()
    return (world, items)
  }

  @Test("A comparison with the zone, and a repair, leave deletes waiting that were not sent")
  func unsent() async throws {
    let (world, items) = try await world()
    for id in items.prefix(30) { try world[0].delete(id) }
    await #expect(throws: SyncError.self) { try await world[0].sync() }
    for _ in 0..<2 {
      #expect(try await world[0].engine.verify().isEqual)
      #expect(try await world[0].engine.repair().isEqual)
      #expect(try world[0].status.pending.objects == 30)
      #expect(try world[0].identities(of: "Item").count == 10)
      let error = await #expect(throws: SyncError.self) { try await world[0].sync() }
      #expect(error?.code == .massDelete)
      await world[0].restart()
    }
    try await world[1].sync()
    #expect(try world[1].identities(of: "Item").count == 40)
    _ = try await world[0].engine.sync(allowingMassDelete: true)
    try await world.settle()
    #expect(try world[1].identities(of: "Item").count == 10)
  }

  @Test("A comparison with the zone, and a repair, leave deletes of the zone set aside")
  func setAside() async throws {
    let (world, items) = try await world()
    for id in items.prefix(30) {
      try world[0].delete(id)
      try await world[0].push()
    }
    await #expect(throws: SyncError.self) { try await world[1].sync() }
    let left = try world[1].identities(of: "Item")
    #expect(left.count > 10)
    for _ in 0..<2 {
      _ = try await world[1].engine.verify()
      _ = try await world[1].engine.repair()
      #expect(try world[1].identities(of: "Item") == left)
      #expect(try world[1].status.lastError?.contains("mass-delete") == true)
      let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
      #expect(error?.code == .massDelete)
      await world[1].restart()
    }
    try SyncEngine.keepMassDeleted(of: world[1].store)
    try await world[1].sync()
    try await world.settle()
    #expect(try Set(world[0].identities(of: "Item")) == Set(left))
  }

  @Test("What is said to a mass delete that waits names each way out of it")
  func ways() async throws {
    let (world, items) = try await world()
    for id in items.prefix(30) { try world[0].delete(id) }
    let unsent = await #expect(throws: SyncError.self) { try await world[0].sync() }
    for way in ["--allow-mass-delete", "--give-up-unsent", "init", "enroll"] {
      #expect(unsent?.suggestion.contains(way) == true, "\(way)")
    }
    #expect(unsent?.suggestion.contains("--keep-mass-deleted") == false, "nothing is set aside")
    var careless = SyncOptions()
    careless.massDelete.floor = 1000
    let other = try await TestReplica(
      "careless", zone: world.zone, clock: world.clock, options: careless)
    try await other.sync()
    for id in items.prefix(30) { try other.delete(id) }
    try await other.sync()
    let setAside = await #expect(throws: SyncError.self) { try await world[1].sync() }
    for way in ["--allow-mass-delete", "--keep-mass-deleted"] {
      #expect(setAside?.suggestion.contains(way) == true, "\(way)")
    }
  }
}
