import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Unique numbers of which one is 0.0 and one is -0.0: a store keeps the two apart, and so does the zone.
struct ZeroKeyTests {
  private func world() async throws -> World {
    var world = try await World(0)
    for index in 0..<3 {
      let thing = EntityDescription("Thing")
      thing.properties = [
        AttributeDescription("size", .double), AttributeDescription("made", .date),
      ]
      thing.uniquenessConstraints = [["size"], ["made"]]
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock,
          model: ManagedObjectModel(entities: [thing])))
    }
    return world
  }

  private static let zeros: [PropertyValue] = [.double(0), .double(-0.0)]
  private static let dates: [PropertyValue] = [0, -0.0].map {
    .date(Date(timeIntervalSinceReferenceDate: $0))
  }

  @Test("Two replicas that take one zero each are in step", arguments: ["size", "made"])
  func apart(property: String) async throws {
    let world = try await world()
    let values = property == "size" ? Self.zeros : Self.dates
    let ids = try zip(values, world.replicas).map { value, replica in
      try replica.insert("Thing", [property: value])
    }
    try await world.settle()
    for replica in world.replicas {
      #expect(try zip(ids, values).allSatisfy { try replica.value($0, property) == $1 })
      #expect(try replica.status.quarantined == 0)
      #expect(try replica.conflicts.isEmpty)
    }
  }

  @Test("An edit from one zero to the other is an edit, and one to a zero that is taken goes back")
  func edited() async throws {
    let world = try await world()
    let ids = try [0.0, 1].map { try world[0].insert("Thing", ["size": .double($0)]) }
    try await world.settle()
    try world[0].set(ids[0], ["size": .double(-0.0)])
    try await world.settle()
    #expect(try world[2].value(ids[0], "size") == .double(-0.0))
    try world[1].set(ids[1], ["size": .double(0)])
    try await world.settle()
    #expect(try world[2].value(ids[1], "size") == .double(0))
    try world[1].set(ids[1], ["size": .double(2)])
    let third = try world[2].insert("Thing", ["size": .double(3)])
    try await world.settle()
    try world[1].set(ids[1], ["size": .double(0)])
    try world[2].set(third, ["size": .double(0)])
    for place in [1, 2] { try await world[place].sync() }
    try await world.settle()
    #expect(try world[0].value(ids[1], "size") == .double(0))
    #expect(try world[0].value(third, "size") == .double(3))
    #expect(try world[2].conflicts.map(\.object) == [third])
  }
}
