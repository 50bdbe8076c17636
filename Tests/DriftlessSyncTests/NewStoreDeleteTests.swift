import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// A store that reads a log is asked about deletes of what it had, and of nothing that came and went in that log.
struct NewStoreDeleteTests {
  private var options: SyncOptions {
    var options = SyncOptions()
    options.massDelete.floor = 8
    options.pullBytesMax = 200
    return options
  }

  /// A zone in which somebody made 40 items and deleted 30 of them, one after the other.
  private func world() async throws -> World {
    let world = try await World(1, options: options)
    let items = try (0..<40).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    try await world.settle()
    for id in items.prefix(30) {
      try world[0].delete(id)
      try await world[0].push()
    }
    return world
  }

  @Test(
    "A store that is new in a zone is not asked about what was deleted there before it came",
    arguments: [0, 3])
  func new(own: Int) async throws {
    var world = try await world()
    let late = try await TestReplica("late", zone: world.zone, clock: world.clock, options: options)
    for _ in 0..<own { try late.insert("Label", ["name": .string("mine")]) }
    try await late.sync()
    #expect(try late.identities(of: "Item").count == 10)
    #expect(try late.identities(of: "Label").count == own)
    world.replicas.append(late)
    try await world.settle()
  }

  @Test("So it is where the pull broke off in between")
  func brokenOff() async throws {
    let world = try await world()
    let directory = try TemporaryDirectory()
    func late(_ way: (any SyncTransport)?, isNew: Bool = false) async throws -> TestReplica {
      try await TestReplica(
        "late", zone: world.zone, clock: world.clock, transport: way, options: options,
        enrolled: isNew, file: directory.file("late.sqlite"))
    }
    for requests in [3, 25] {
      let cut = try await late(
        CutTransport(world.zone, after: requests, isAfter: false), isNew: requests == 3)
      if requests == 3 { try cut.insert("Label", ["name": .string("mine")]) }
      await #expect(throws: CutTransport.Cut.self) { try await cut.sync() }
      await cut.engine.close()
      cut.store.close()
    }
    let whole = try await late(nil)
    try await whole.sync()
    #expect(try whole.identities(of: "Item").count == 10)
  }

  @Test("What came and went while a store was away is nothing that it had")
  func cameAndWent() async throws {
    let world = try await World(2, options: options)
    let held = try (0..<20).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    try await world.settle()
    let made = try (0..<60).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    try await world[0].sync()
    for id in made.prefix(50) + held.prefix(5) {
      try world[0].delete(id)
      try await world[0].push()
    }
    try await world[1].sync()
    #expect(try world[1].identities(of: "Item").count == 25)
    // What it had by then counts: 15 of its 25.
    let more = try (0..<9).map { _ in try world[0].insert("Item") }
    try await world[0].sync()
    for id in more + held.suffix(15) {
      try world[0].delete(id)
      try await world[0].push()
    }
    let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
    #expect(error?.code == .massDelete)
    #expect(try world[1].identities(of: "Item").count > 10)
    _ = try await world[1].engine.sync(allowingMassDelete: true)
    try await world.settle()
  }

  @Test("Deletes of a push in several parts count as far as the store had the objects")
  func parts() async throws {
    var options = options
    options.partObjectsMax = 10
    var careless = options
    careless.massDelete.floor = 1000
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let deleter = try await TestReplica("deleter", zone: zone, clock: clock, options: careless)
    let other = try await TestReplica("other", zone: zone, clock: clock, options: options)
    let items = try (0..<40).map { try deleter.insert("Item", ["low": .integer(Int64($0))]) }
    try await deleter.sync()
    try deleter.save { context in
      for id in items.prefix(30) {
        context.delete(try #require(try context.object(withIdentity: id)))
      }
    }
    try await deleter.sync()
    try await other.sync()
    #expect(try other.identities(of: "Item").count == 10)
  }
}
