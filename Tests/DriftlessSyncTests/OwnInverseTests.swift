import Driftless
import DriftlessTesting
import Foundation
import Testing

@testable import DriftlessSync

/// A one-to-one relationship that is its own inverse: a pair is one fact, and nobody has two partners.
struct OwnInverseTests {
  private func model() -> ManagedObjectModel {
    let person = EntityDescription("Person")
    person.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("spouse", to: "Person", inverse: "spouse"),
    ]
    return ManagedObjectModel(entities: [person])
  }

  private func people(_ count: Int, _ world: World) async throws -> [UUID] {
    let people = try (0..<count).map {
      try world[0].insert("Person", ["name": .string("\($0)")])
    }
    try await world.settle()
    return people
  }

  /// Pairs as both of them say, the same ones everywhere.
  private func pairs(
    _ world: World, _ location: SourceLocation = #_sourceLocation
  ) throws -> [UUID: UUID] {
    var all: [[UUID: UUID]] = []
    for replica in world.replicas {
      var pairs: [UUID: UUID] = [:]
      for id in try replica.identities(of: "Person") {
        pairs[id] = try replica.reference(id, "spouse")
      }
      for (one, other) in pairs {
        #expect(pairs[other] == one, "\(replica.name)", sourceLocation: location)
      }
      all.append(pairs)
    }
    for pairs in all.dropFirst() { #expect(pairs == all[0], sourceLocation: location) }
    return all[0]
  }

  @Test("Two replicas give one object a partner each: it has one, and the other is free")
  func twoPartners() async throws {
    let world = try await World(3) { model() }
    let people = try await people(3, world)
    try world[0].point(people[0], "spouse", people[1])
    try world[1].point(people[1], "spouse", people[2])
    try await world[0].sync()
    try await world.settle()
    #expect(try pairs(world) == [people[0]: people[1], people[1]: people[0]])
    #expect(try world[1].conflicts.contains { $0.property == "spouse" && $0.object == people[2] })
  }

  @Test(
    "Two replicas pair what two pairs were anew: the later pair stands, and the others are free")
  func crossed() async throws {
    let world = try await World(3) { model() }
    let people = try await people(4, world)
    try world[0].point(people[0], "spouse", people[1])
    try world[0].point(people[2], "spouse", people[3])
    try await world.settle()
    try world[0].point(people[0], "spouse", people[2])
    try world[0].point(people[1], "spouse", people[3])
    try world[1].point(people[0], "spouse", people[3])
    try await world[0].sync()
    try await world.settle()
    #expect(try pairs(world) == [people[0]: people[3], people[3]: people[0]])
    for person in people {
      #expect(try world[1].conflicts.contains { $0.property == "spouse" && $0.object == person })
    }
  }

  @Test("New objects that pair with one that was taken elsewhere go without")
  func newPartners() async throws {
    let world = try await World(3) { model() }
    let people = try await people(1, world)
    let first = try world[0].make("Person", to: ["spouse": people[0]])
    _ = try world[1].make("Person", to: ["spouse": people[0]])
    try await world[0].sync()
    try await world.settle()
    #expect(try pairs(world) == [people[0]: first, first: people[0]])
  }

  @Test("A decision for a partner that lost frees who has it now")
  func putBack() async throws {
    let world = try await World(3) { model() }
    let people = try await people(3, world)
    try world[0].point(people[0], "spouse", people[1])
    try world[1].point(people[1], "spouse", people[2])
    try await world[0].sync()
    try await world.settle()
    let entry = try #require(
      try world[1].conflicts.first { $0.object == people[2] && $0.property == "spouse" })
    try SyncEngine.undo(conflict: entry.number, of: world[1].store, author: "person")
    try await world.settle()
    #expect(try pairs(world) == [people[1]: people[2], people[2]: people[1]])
  }

  /// Two people of whom one says, to the zone, that the other is the partner, and that one does not.
  private func half(_ world: World) async throws -> (one: UUID, other: UUID) {
    let people = try await people(2, world)
    try world[0].write { transaction in
      let keys = try people.map { try #require(try transaction.key(of: $0)) }
      var row = try #require(try transaction.row(keys[0])).values
      let layout = try #require(world[0].store.schema.entity(numbered: keys[0].entity)).layout
      let slot = try #require(layout.index(named: "spouse"))
      row[slot] = .reference(keys[1])
      try transaction.update(keys[0], PropertyMask([slot]), values: row, expectedVersion: nil)
    }
    try await world.syncAll()
    return (people[0], people[1])
  }

  @Test("Half a pair of an object that is deleted is let go of, by whoever deletes it")
  func deletedHalf() async throws {
    let world = try await World(3) { model() }
    let (one, other) = try await half(world)
    for replica in [world[1], world[2]] {
      #expect(try replica.reference(one, "spouse") == nil)
      #expect(try replica.reference(other, "spouse") == nil)
    }
    try world[1].delete(one)
    for replica in [world[1], world[2], world[0], world[1]] {
      try await replica.sync()
      #expect(try SyncEngine.check(replica.store).findings == [], "\(replica.name)")
    }
    for replica in world.replicas {
      #expect(
        try replica.store.read { try $0.connection.number("SELECT count(*) FROM ZDL_KEPT") } == 0)
    }
    try await world.settle()
  }

  @Test("Half a pair makes no settling due, and is shown once the other says so")
  func restingHalf() async throws {
    let world = try await World(3) { model() }
    let (one, other) = try await half(world)
    for replica in [world[1], world[2]] {
      #expect(
        try replica.store.read { transaction in
          try transaction.connection.number("SELECT count(*) FROM ZDL_KEPT") == 1
            && !KeySettlement.isDue(PendingSet(), transaction)
        }, "\(replica.name)")
    }
    try world[1].point(other, "spouse", one)
    try await world.settle()
    #expect(try pairs(world) == [one: other, other: one])
    for replica in world.replicas {
      #expect(
        try replica.store.read { try $0.connection.number("SELECT count(*) FROM ZDL_KEPT") } == 0)
    }
  }

  @Test("Generated pairings and deletes end with pairs that both say", arguments: 0..<24)
  func generated(_ seed: UInt64) async throws {
    var world = try await World(3) { model() }
    var random = SeededGenerator(seed: seed)
    let people = try await people(5, world)
    for step in 0..<40 {
      let replica = world[Int.random(in: 0..<3, using: &random)]
      if Int.random(in: 0..<4, using: &random) == 0 {
        try await replica.sync()
        continue
      }
      let one = people[Int.random(in: 0..<5, using: &random)]
      let other = people[Int.random(in: 0..<5, using: &random)]
      guard one != other, try replica.exists(one), try replica.exists(other) else { continue }
      switch Int.random(in: 0..<12, using: &random) {
      case 0: try replica.point(one, "spouse", nil)
      case 1 where step > 30: try replica.delete(one)
      default: try replica.point(one, "spouse", other)
      }
    }
    try await world.settle()
    _ = try pairs(world)
    let folded = try FoldedZone(world.zone)
    try folded.fold()
    world.replicas.append(
      try await TestReplica(
        "newcomer", zone: world.zone, clock: world.clock, model: model(), transport: folded))
    try await world.settle()
    _ = try pairs(world)
  }
}
