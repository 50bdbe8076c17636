import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A key, a partner or a place in a tree that was acknowledged, lost with the server's log, and taken by another since: its
/// object goes back to what the zone has, on every replica.
struct PutBackKeyTests {
  private func world(
    _ model: @autoclosure () -> ManagedObjectModel, options: SyncOptions = SyncOptions()
  ) async throws -> World {
    var world = try await World(0)
    for index in 0..<3 {
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, model: model(), options: options))
    }
    return world
  }

  private func expect(
    _ id: UUID, _ property: String, _ value: PropertyValue?, _ world: World,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    for replica in world.replicas {
      #expect(try replica.value(id, property) == value, sourceLocation: location)
    }
  }

  @Test(
    "A key that was lost with the log and taken by another leaves its object with the zone's value",
    arguments: [false, true])
  func key(isEditedAgain: Bool) async throws {
    let world = try await world(staffModel())
    let one = try world[0].insert("Person", ["email": .string("k3"), "name": .string("X")])
    let other = try world[0].insert("Person", ["email": .string("k1"), "name": .string("Y")])
    try await world.settle()
    let backup = world.zone.log
    try world[1].set(one, ["email": .string("k2")])
    try await world[1].sync()
    if isEditedAgain { try world[1].set(one, ["email": .string("k4")]) }
    world.zone.putBack(backup)
    try world[2].set(other, ["email": .string(isEditedAgain ? "k4" : "k2")])
    try await world[2].sync()
    #expect(try await world[1].sync().reconciliations.map(\.kind) == [.offered])
    try await world.settle()
    try expect(one, "email", .string("k3"), world)
    try expect(other, "email", .string(isEditedAgain ? "k4" : "k2"), world)
    let told = try world[1].conflicts.filter { $0.property == "email" }
    #expect(told.map(\.kept) == ["\"k3\""])
    #expect(told.map(\.local) == [isEditedAgain ? "\"k4\"" : "\"k2\""])
  }

  @Test("What the zone said of the key meanwhile, by an earlier clock, is what stands there")
  func editedThere() async throws {
    let world = try await world(staffModel())
    let one = try world[0].insert("Person", ["email": .string("k3")])
    let other = try world[0].insert("Person", ["email": .string("k1")])
    try await world.settle()
    let backup = world.zone.log
    // Made before, and sent after, what is lost.
    try world[2].set(one, ["email": .string("k5")])
    try world[2].set(other, ["email": .string("k2")])
    try world[1].set(one, ["email": .string("k2")])
    try await world[1].sync()
    world.zone.putBack(backup)
    try await world[2].sync()
    try await world[1].sync()
    try await world.settle()
    try expect(one, "email", .string("k5"), world)
    try expect(other, "email", .string("k2"), world)
  }

  @Test("Where no kept entry says what the zone has, its log is read again")
  func unknown() async throws {
    var options = SyncOptions()
    options.keptFrameBytesMax = 4000
    let world = try await world(staffModel(), options: options)
    let one = try world[0].insert("Person", ["email": .string("k3")])
    let other = try world[0].insert("Person", ["email": .string("k1")])
    try await world.settle()
    var noise = SeededGenerator(seed: 1)
    for _ in 0..<3 {
      let text = String(
        (0..<4000).map { _ in "abcdefghijklmnop".randomElement(using: &noise) ?? "a" })
      try world[0].set(other, ["name": .string(text)])
      try await world.settle()
    }
    let backup = world.zone.log
    try world[1].set(one, ["email": .string("k2")])
    try await world[1].sync()
    world.zone.putBack(backup)
    try world[2].set(other, ["email": .string("k2")])
    try await world[2].sync()
    let report = try await world[1].sync()
    #expect(report.reconciliations.map(\.kind) == [.offered, .offered])
    try await world.settle()
    try expect(one, "email", .string("k3"), world)
    try expect(other, "email", .string("k2"), world)
  }

  @Test("An object that two made under one identity goes back to the zone's key, not to none")
  func oneIdentity() async throws {
    let world = try await world(staffModel())
    let id = UUID()
    try world[0].insert("Person", ["email": .string("k3")], identity: id)
    let other = try world[0].insert("Person", ["email": .string("k2")])
    try await world[0].sync()
    try world[1].insert("Person", ["email": .string("k2"), "name": .string("X")], identity: id)
    try await world.settle()
    try expect(id, "email", .string("k3"), world)
    try expect(id, "name", .string("X"), world)
    try expect(other, "email", .string("k2"), world)
  }

  @Test("A partner that was lost with the log and taken by another: both have one, as in the zone")
  func partner() async throws {
    let world = try await world(fleetModel())
    let cars = try (0..<3).map { try world[0].insert("Car", ["plate": .string("\($0)")]) }
    let drivers = try (0..<2).map { try world[0].insert("Driver", ["name": .string("\($0)")]) }
    func give(_ car: UUID, to driver: UUID, _ replica: TestReplica) throws {
      try replica.save { context in
        let object = try #require(try context.object(withIdentity: driver))
        try object.setValue(try context.object(withIdentity: car), forKey: "car")
      }
    }
    try give(cars[0], to: drivers[0], world[0])
    try give(cars[1], to: drivers[1], world[0])
    try await world.settle()
    let backup = world.zone.log
    try give(cars[2], to: drivers[0], world[1])
    try await world[1].sync()
    world.zone.putBack(backup)
    try give(cars[2], to: drivers[1], world[2])
    try await world[2].sync()
    try await world[1].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.reference(drivers[1], "car") == cars[2])
      #expect(try replica.reference(cars[2], "driver") == drivers[1])
      #expect(try replica.reference(drivers[0], "car") == cars[0])
      #expect(try replica.reference(cars[0], "driver") == drivers[0])
    }
  }

  @Test(
    "A move within a tree that was lost with the log and closes a ring now is taken back to the zone's parent"
  )
  func tree() async throws {
    let world = try await world(taskModel())
    let root = try world[0].insert("Folder", ["name": .string("root")])
    let nodes = try ["x", "y"].map { try world[0].insert("Folder", ["name": .string($0)]) }
    func move(_ node: UUID, below parent: UUID, _ replica: TestReplica) throws {
      try replica.save { context in
        let object = try #require(try context.object(withIdentity: node))
        try object.setValue(try context.object(withIdentity: parent), forKey: "parent")
      }
    }
    for node in nodes { try move(node, below: root, world[0]) }
    try await world.settle()
    let backup = world.zone.log
    try move(nodes[0], below: nodes[1], world[1])
    try await world[1].sync()
    world.zone.putBack(backup)
    try move(nodes[1], below: nodes[0], world[2])
    try await world[2].sync()
    try await world[1].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.reference(nodes[0], "parent") == root)
      #expect(try replica.reference(nodes[1], "parent") == nodes[0])
    }
  }
}
