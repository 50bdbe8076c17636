import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What comes back with an object that an edit, or another object, keeps: all that it must have, and what its delete took.
struct RequiredRevivalTests {
  /// Drivers whom an edit keeps, and who must have a car, which owns the relationship.
  private func drivers() -> ManagedObjectModel {
    let car = EntityDescription("Car")
    car.properties = [
      AttributeDescription("plate", .string),
      RelationshipDescription("driver", to: "Driver", inverse: "car"),
    ]
    let driver = EntityDescription("Driver")
    driver.deletePolicy = .editWins
    driver.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("car", to: "Car", inverse: "driver", isOptional: false),
    ]
    return ManagedObjectModel(entities: [car, driver])
  }

  @Test(
    "What an edit keeps has its partner back, by whichever end, whoever comes last",
    arguments: [false, true])
  func partner(deleteComesLast: Bool) async throws {
    let world = try await World(3) { drivers() }
    let car = try world[0].insert("Car", ["plate": .string("p")])
    let driver = try world[0].make("Driver", ["name": .string("a")], to: ["car": car])
    try await world.settle()
    try world[0].save { context in
      try #require(try context.object(withIdentity: driver)).setValue("b", forKey: "name")
    }
    try world[1].save { context in
      context.delete(try #require(try context.object(withIdentity: driver)))
      context.delete(try #require(try context.object(withIdentity: car)))
    }
    try await world[deleteComesLast ? 0 : 1].sync()
    try await world[deleteComesLast ? 1 : 0].sync()
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas {
      #expect(try replica.value(driver, "name") == .string("b"))
      #expect(try replica.reference(driver, "car") == car)
      #expect(try replica.value(car, "plate") == .string("p"))
    }
  }

  @Test("What the delete of a parent took comes back with it, where a cut ring needs that")
  func taken() async throws {
    let world = try await World(3) { RequiredParentTests.model(deleteRule: .cascade) }
    let root = try world[0].make("Root")
    let old = try world[0].make("Folder", to: ["parent": root])
    let x = try world[0].make("Folder", to: ["parent": root])
    let y = try world[0].make("Folder", to: ["parent": old])
    try await world.settle()
    try world[0].point(x, "parent", y)
    let new = try world[0].make("Folder", ["name": .string("new")], to: ["parent": old])
    let below = try world[0].make("Folder", ["name": .string("below")], to: ["parent": new])
    try world[1].save { context in
      let object = try #require(try context.object(withIdentity: y))
      try object.setValue(try context.object(withIdentity: x), forKey: "parent")
      context.delete(try #require(try context.object(withIdentity: old)))
    }
    try await world[0].sync()
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas {
      #expect(try replica.reference(x, "parent") == y)
      #expect(try replica.reference(y, "parent") == old)
      #expect(try replica.exists(new) && replica.reference(new, "parent") == old)
      #expect(try replica.exists(below) && replica.reference(below, "parent") == new)
      #expect(try replica.exists(below) && replica.value(below, "name") == .string("below"))
    }
  }
}
