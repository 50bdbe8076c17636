import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What no entry says of an attribute: it was added to the model, with a default, or the default is another one by now.
struct AddedDefaultTests {
  private func model(
    colour: PropertyValue? = nil, isOptional: Bool = true, size: Int64? = nil
  ) -> ManagedObjectModel {
    let item = EntityDescription("Item")
    item.properties = [AttributeDescription("name", .string)]
    if let colour {
      item.properties.append(
        AttributeDescription("colour", .string, isOptional: isOptional, defaultValue: colour))
    }
    if let size {
      let attribute = AttributeDescription("size", .integer64, defaultValue: .integer(size))
      attribute.minimum = .integer(0)
      item.properties.append(attribute)
    }
    return ManagedObjectModel(entities: [item])
  }

  @Test("An added attribute's default is what all show of older objects", arguments: [true, false])
  func added(isOptional: Bool) async throws {
    let red = model(colour: .string("red"), isOptional: isOptional)
    var fleet = try await Fleet(2, model())
    let old = try fleet[0].insert("Item", ["name": .string("old")])
    let other = try fleet[0].insert("Item", ["name": .string("other")])
    try await fleet.sync(0, 1)
    let unsent = try fleet[1].insert("Item", ["name": .string("unsent")])
    try await fleet.migrate(0, to: red)
    let before = try fleet[1].insert("Item", ["name": .string("of a program of before")])
    try await fleet.sync(1, 0)
    try fleet[0].set(other, ["colour": .string("green")])
    try await fleet.sync(0, 1)
    try await fleet.migrate(1, to: red)
    try await fleet.joinBothWays(red)
    try await fleet.world.settle()
    for item in [old, unsent, before] { try fleet.expect(.string("red"), "colour", of: item) }
    try fleet.expect(.string("green"), "colour", of: other)
  }

  @Test("No value is a value, where the model has a default")
  func cleared() async throws {
    let red = model(colour: .string("red"))
    var fleet = try await Fleet(2, red)
    let none = try fleet[0].insert("Item", ["name": .string("none"), "colour": .null])
    let cleared = try fleet[0].insert("Item", ["colour": .string("green")])
    try await fleet.sync(0, 1)
    try fleet[1].set(cleared, ["colour": .null])
    try await fleet.sync(1, 0)
    try await fleet.joinBothWays(red)
    try await fleet.world.settle()
    for item in [none, cleared] { try fleet.expect(.null, "colour", of: item) }
  }

  @Test("A default that comes to an attribute later is none of what was made before")
  func later() async throws {
    let plain = model(colour: .null)
    let red = model(colour: .string("red"))
    var fleet = try await Fleet(2, plain)
    let none = try fleet[0].insert("Item", ["name": .string("none")])
    try await fleet.sync(0, 1)
    for number in 0..<2 { try await fleet.migrate(number, to: red) }
    try await fleet.joinBothWays(red)
    try await fleet.world.settle()
    try fleet.expect(.null, "colour", of: none)
  }

  @Test("What nobody set shows the default of the model, also where that is another one by now")
  func changed() async throws {
    let red = model(colour: .string("red"))
    let blue = model(colour: .string("blue"))
    var fleet = try await Fleet(3, model())
    let unset = try fleet[0].insert("Item", ["name": .string("unset")])
    let set = try fleet[0].insert("Item", ["name": .string("set")])
    let back = try fleet[0].insert("Item", ["name": .string("back")])
    try await fleet.sync(0, 1, 2)
    try await fleet.migrate(0, to: red)
    try await fleet.migrate(2, to: red)
    let late = try fleet[1].insert("Item", ["name": .string("late")])
    try await fleet.sync(1, 0, 2)
    try fleet[0].set(set, ["colour": .string("green")])
    try fleet[2].set(back, ["colour": .string("green")])
    try await fleet.sync(0, 2, 0)
    try fleet[0].set(back, ["colour": .string("red")])
    let made = try fleet[0].insert("Item", ["colour": .string("red")])
    try await fleet.sync(0, 1)
    let pending = try fleet[2].insert("Item", ["colour": .string("red")])
    for number in 0..<3 { try await fleet.migrate(number, to: blue) }
    try await fleet.joinBothWays(blue)
    try await fleet.world.settle()
    for item in [unset, late] { try fleet.expect(.string("blue"), "colour", of: item) }
    for item in [back, made, pending] { try fleet.expect(.string("red"), "colour", of: item) }
    try fleet.expect(.string("green"), "colour", of: set)
  }

  @Test("What was in flight when the model changed shows the default of the model of now")
  func inFlight() async throws {
    var fleet = try await Fleet(2, model())
    try fleet[0].insert("Item", ["name": .string("first")])
    try await fleet.sync(0, 1)
    let item = try fleet[0].insert("Item", ["name": .string("in flight")])
    let engine = try await fleet[0].engine(
      through: CutTransport(fleet.world.zone, after: 1, isAfter: false))
    await #expect(throws: (any Error).self) { try await engine.push() }
    await engine.close()
    try await fleet.migrate(0, to: model(colour: .string("red")))
    for number in 0..<2 { try await fleet.migrate(number, to: model(colour: .string("blue"))) }
    try await fleet.world.settle()
    try fleet.expect(.string("blue"), "colour", of: item)
  }

  @Test("What stands in for a parked value is the default of the model of now")
  func standsIn() async throws {
    let wide = model(size: -10)
    (wide.entitiesByName["Item"]?.attributesByName["size"])?.minimum = nil
    var fleet = try await Fleet(1, wide)
    let item = try fleet[0].insert("Item", ["size": .integer(-5)])
    try await fleet.sync(0)
    try await fleet.join(model(size: 7), "r1")
    try await fleet.sync(1)
    try await fleet.migrate(1, to: model(size: 8))
    try await fleet.migrate(0, to: model(size: 8))
    try await fleet.joinBothWays(model(size: 8))
    for _ in 0..<2 { try await fleet.world.syncAll() }
    try fleet.expect(.integer(8), "size", of: item)
    let first = try fleet[0].export
    for replica in fleet.world.replicas { #expect(try replica.export == first, "\(replica.name)") }
  }
}
