import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A key, a partner or a place in a tree that was acknowledged, lost with the server's log, and taken by another since: its
/// object goes back to what the zone has, on every replica.
struct PutBackKeyTests {
  private func world(
    _ model: @autoclosure () -> ManagedObjectModel
  ) async throws -> World {
    var world = try await World(0)
    for index in 0..<3 {
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, model: model()))
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

  @Test("A lost key of an object that is deleted here and edited there comes back with the zone's")
  func deletedHere() async throws {
    let world = try await world(staffModel(deletePolicy: .editWins))
    let one = try world[0].insert("Person", ["email": .string("k3")])
    let other = try world[0].insert("Person", ["email": .string("k1")])
    try await world.settle()
    let backup = world.zone.log
    try world[1].set(one, ["email": .string("k2")])
    try await world[1].sync()
    try world[1].delete(one)
    world.zone.putBack(backup)
    try world[2].set(one, ["name": .string("there")])
    try world[2].set(other, ["email": .string("k2")])
    try await world[2].sync()
    try await world[1].sync()
    try await world.settle()
    try expect(one, "email", .string("k3"), world)
    try expect(one, "name", .string("there"), world)
    try expect(other, "email", .string("k2"), world)
  }

  @Test(
    "A key that goes back to a value that the model here cannot hold is as on its like: set aside")
  func narrower() async throws {
    func model(_ type: AttributeType) -> ManagedObjectModel {
      let thing = EntityDescription("Thing")
      thing.properties = [
        AttributeDescription("code", type), AttributeDescription("note", .string),
      ]
      thing.uniquenessConstraints = [["code"]]
      return ManagedObjectModel(entities: [thing])
    }
    var world = try await World(0)
    for (name, type) in [
      ("r", AttributeType.integer16), ("like", .integer16), ("wide", .integer64),
    ] {
      world.replicas.append(
        try await TestReplica(name, zone: world.zone, clock: world.clock, model: model(type)))
    }
    let one = try world[2].insert("Thing", ["code": .integer(1), "note": .string("one")])
    let other = try world[2].insert("Thing", ["code": .integer(2), "note": .string("other")])
    try await world.syncAll()
    try await world.syncAll()
    try world[2].set(one, ["code": .integer(100_000)])
    try world[2].set(other, ["code": .integer(7)])
    try await world[2].sync()
    try await world[1].sync()
    world.clock.advance()
    try world[0].set(one, ["code": .integer(7)])
    for _ in 0..<3 { try await world.syncAll() }
    #expect(try world[2].value(one, "code") == .integer(100_000))
    #expect(try world[0].export == world[1].export)
    for replica in world.replicas[..<2] {
      #expect(try SyncEngine.check(replica.store).findings == [], "\(replica.name)")
      #expect(try replica.value(other, "code") == .integer(7))
      #expect(try SyncEngine.parked(of: replica.store).map(\.object) == [one], "\(replica.name)")
    }
  }

  /// A world whose second replica lost a key with the log, and whose kept entries do not say what the zone has.
  private func forgetful() async throws -> (
    world: World, network: HookedTransport, one: UUID, other: UUID
  ) {
    var options = SyncOptions()
    options.keptFrameBytesMax = 4000
    var world = try await World(0)
    let network = HookedTransport(world.zone)
    for index in 0..<3 {
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, model: staffModel(),
          transport: index == 1 ? network : nil, options: options))
    }
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
    return (world, network, one, other)
  }

  @Test("A zone that is emptied on purpose while its log is to be read again stays empty")
  func emptiedMeanwhile() async throws {
    let (world, network, _, _) = try await forgetful()
    var asked = 0
    network.beforeZoneInfo = { [zone = world.zone] in
      asked += 1
      // The first question is for coming back at all.
      if asked == 2 { zone.renew(intent: .replace) }
    }
    #expect(try await world[1].sync().reconciliations.last?.kind == .taken)
    #expect(asked >= 2)
    #expect(try world[1].identities(of: "Person").isEmpty)
    #expect(world.zone.head == 0)
  }

  @Test("Where no kept entry says what the zone has, its log is read again")
  func unknown() async throws {
    let (world, _, one, other) = try await forgetful()
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
