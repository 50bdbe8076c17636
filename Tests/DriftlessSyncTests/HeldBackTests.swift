import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Edits that wait for what the server refuses, while others are sent: nobody else knew them.
struct HeldBackTests {
  private let world: World
  private let picky: PickyTransport
  private let item: UUID
  private let labels: [UUID]

  /// An item that has the first of two labels.
  init() async throws {
    var world = try await World(1)
    picky = PickyTransport(world.zone, .init(word: "poison"))
    world.replicas.insert(
      try await TestReplica("picky", zone: world.zone, clock: world.clock, transport: picky), at: 0)
    self.world = world
    item = try world[0].insert("Item", ["title": .string("x")])
    labels = try (0..<2).map { try world[0].insert("Label", ["name": .string("\($0)")]) }
    try Self.relate(world[0], item, [labels[0]])
    try await world.settle()
  }

  private static func relate(_ replica: TestReplica, _ item: UUID, _ labels: [UUID]) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: item))
      let members = try labels.map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(Set(members), forKey: "labels")
    }
  }

  /// Sends something else, so that what waits outlives the history of its save.
  private func sendOthers() async throws {
    try world[0].insert("Item", ["title": .string("other")])
    try await world[0].sync()
    try world[0].insert("Item", ["title": .string("another")])
    try await world[0].sync()
  }

  private func takeAll() async throws {
    picky.set(.init())
    try SyncEngine.retryQuarantined(of: world[0].store)
    try await world.settle()
  }

  @Test(
    "What was put in and waits stays in, though another replica took it out, which never knew it in"
  )
  func takenOutElsewhere() async throws {
    try world[0].set(item, ["title": .string("poison")])
    try Self.relate(world[0], item, labels)
    try await sendOthers()
    #expect(try world[0].status.quarantined == 1)
    for labels in [labels, [labels[0]]] {
      try Self.relate(world[1], item, labels)
      try await world[1].sync()
    }
    try await takeAll()
    for replica in world.replicas {
      #expect(try replica.elements(item, "labels") == Set(labels), "\(replica.name)")
    }
  }

  @Test("A set with an element that waits is offered to a zone that began anew")
  func renewed() async throws {
    let refused = try world[0].insert("Label", ["name": .string("poison")])
    try Self.relate(world[0], item, [labels[0], refused])
    try await sendOthers()
    world.zone.renew()
    try await world[0].sync()
    let late = try await TestReplica("late", zone: world.zone, clock: world.clock)
    try await late.sync()
    #expect(try late.elements(item, "labels") == [labels[0]])
    try await takeAll()
    try await late.sync()
    #expect(try late.elements(item, "labels") == [labels[0], refused])
  }

  @Test("An edit that waits keeps what somebody deletes from a zone that began anew")
  func deletedElsewhere() async throws {
    let shelf = try world[0].insert("Shelf", ["name": .string("fine")])
    try await world.settle()
    try world[0].set(shelf, ["name": .string("poison")])
    try await sendOthers()
    world.zone.renew()
    try await world[1].sync()
    try world[1].delete(shelf)
    try await world[1].sync()
    try await takeAll()
    for replica in world.replicas {
      #expect(try replica.value(shelf, "name") == .string("poison"), "\(replica.name)")
    }
  }
}
