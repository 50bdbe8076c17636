import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Drivers and cars, each the other's only one.
func fleetModel() -> ManagedObjectModel {
  let car = EntityDescription("Car")
  car.properties = [
    AttributeDescription("plate", .string),
    RelationshipDescription("driver", to: "Driver", inverse: "car"),
  ]
  let driver = EntityDescription("Driver")
  driver.properties = [
    AttributeDescription("name", .string),
    RelationshipDescription("car", to: "Car", inverse: "driver"),
  ]
  return ManagedObjectModel(entities: [car, driver])
}

/// One-to-one relationships: one fact, one owner, both ends in step.
struct OneToOneTests {
  private func world(_ count: Int = 3) async throws -> World {
    var world = try await World(0)
    for index in 0..<count {
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, model: fleetModel()))
    }
    return world
  }

  private func give(_ car: UUID?, to driver: UUID, _ replica: TestReplica) throws {
    replica.clock.advance()
    replica.store.setClock { [clock = replica.clock] in clock.date }
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: driver))
      let car = try car.flatMap { try context.object(withIdentity: $0) }
      try object.setValue(car, forKey: "car")
    }
  }

  /// Who drives what, by car; both ends must say the same.
  private func pairs(_ replica: TestReplica) throws -> [UUID: UUID] {
    var pairs: [UUID: UUID] = [:]
    for driver in try replica.identities(of: "Driver") {
      guard let car = try replica.reference(driver, "car") else { continue }
      #expect(pairs.updateValue(driver, forKey: car) == nil, "two drivers of one car")
      #expect(try replica.reference(car, "driver") == driver, "the ends differ")
    }
    for car in try replica.identities(of: "Car") where pairs[car] == nil {
      #expect(try replica.reference(car, "driver") == nil, "the ends differ")
    }
    return pairs
  }

  private func expect(_ pairs: [UUID: UUID], _ world: World) throws {
    for replica in world.replicas { #expect(try self.pairs(replica) == pairs) }
  }

  @Test("F44 S5 Two replicas take one partner: it has one owner, and both ends say so")
  func twoOwners() async throws {
    let world = try await world()
    let car = try world[0].insert("Car")
    let drivers = try (0..<2).map { _ in try world[0].insert("Driver") }
    try await world.settle()
    try give(car, to: drivers[0], world[0])
    try give(car, to: drivers[1], world[1])
    try await world.settle()
    let found = try pairs(world[0])
    #expect(found.count == 1)
    try expect(found, world)
    #expect(try world[1].conflicts.contains { $0.property == "driver" })
  }

  @Test("F44 S5 Two replicas give one driver a car each: one car is left without")
  func twoCars() async throws {
    let world = try await world()
    let cars = try (0..<2).map { _ in try world[0].insert("Car") }
    let driver = try world[0].insert("Driver")
    try await world.settle()
    try give(cars[0], to: driver, world[0])
    try give(cars[1], to: driver, world[1])
    try await world.settle()
    try expect([cars[0]: driver], world)
    #expect(try world[1].conflicts.contains { $0.property == "driver" && $0.object == cars[1] })
  }

  @Test("F44 S5 Taking over the partner frees its former owner, on every replica")
  func takeOver() async throws {
    let world = try await world()
    let cars = try (0..<2).map { _ in try world[0].insert("Car") }
    let drivers = try (0..<2).map { _ in try world[0].insert("Driver") }
    try give(cars[0], to: drivers[0], world[0])
    try await world.settle()
    try give(cars[0], to: drivers[1], world[0])
    try await world.settle()
    try expect([cars[0]: drivers[1]], world)
    // Set from the other end.
    try world[1].save { context in
      try context.object(withIdentity: cars[1])?.setValue(
        try context.object(withIdentity: drivers[1]), forKey: "driver")
    }
    try await world.settle()
    try expect([cars[1]: drivers[1]], world)
  }

  @Test("F44 S5 When the taking loses, the freeing goes too")
  func group() async throws {
    let world = try await world()
    let cars = try (0..<2).map { _ in try world[0].insert("Car") }
    let drivers = try (0..<2).map { _ in try world[0].insert("Driver") }
    try give(cars[0], to: drivers[0], world[0])
    try await world.settle()
    // The driver changes the car here; there the other car is somebody's later.
    try give(cars[1], to: drivers[0], world[1])
    try give(cars[1], to: drivers[1], world[0])
    try await world.settle()
    try expect([cars[0]: drivers[0], cars[1]: drivers[1]], world)
  }

  @Test("S5 A deleted owner frees its partner, a deleted partner its owner")
  func deletes() async throws {
    let world = try await world()
    let cars = try (0..<2).map { _ in try world[0].insert("Car") }
    let drivers = try (0..<2).map { _ in try world[0].insert("Driver") }
    for (car, driver) in zip(cars, drivers) { try give(car, to: driver, world[0]) }
    try await world.settle()
    try world[0].delete(drivers[0])
    try world[1].delete(cars[1])
    try await world.settle()
    try expect([:], world)
  }

  @Test(
    "S5 Generated takings and deletes on three replicas end with one owner each", arguments: 0..<12)
  func generated(_ seed: UInt64) async throws {
    let world = try await world()
    var random = SeededGenerator(seed: seed)
    let cars = try (0..<3).map { _ in try world[0].insert("Car") }
    let drivers = try (0..<3).map { _ in try world[0].insert("Driver") }
    try await world.settle()
    for _ in 0..<30 {
      let replica = world[Int.random(in: 0..<3, using: &random)]
      if Int.random(in: 0..<3, using: &random) == 0 {
        try await replica.sync()
        continue
      }
      let driver = drivers[Int.random(in: 0..<3, using: &random)]
      let car = cars[Int.random(in: 0..<3, using: &random)]
      guard try replica.exists(driver) else { continue }
      switch Int.random(in: 0..<12, using: &random) {
      case 0: try give(nil, to: driver, replica)
      case 1: if try replica.exists(car) { try replica.delete(car) }
      default: if try replica.exists(car) { try give(car, to: driver, replica) }
      }
    }
    try await world.settle()
    try expect(try pairs(world[0]), world)
  }
}
