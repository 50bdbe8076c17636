import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A rule that makes a value of both sides which the model does not hold.
struct CombinedValueTests {
  private func world(_ policy: ConflictPolicy) async throws -> World {
    var options = SyncOptions()
    options.customPolicies["both"] = { conflict in
      guard case .string(let local) = conflict.local, case .string(let remote) = conflict.remote
      else { return conflict.local }
      return .string([local, remote].sorted().joined())
    }
    var world = try await World(0)
    for index in 0..<3 {
      let thing = EntityDescription("Thing")
      let name = AttributeDescription("name", .string, conflictPolicy: policy)
      name.isOptional = false
      name.defaultValue = .string("none")
      name.maximum = .integer(6)
      thing.properties = [name]
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock,
          model: ManagedObjectModel(entities: [thing]), options: options))
    }
    return world
  }

  @Test(
    "What does not fit is not sent, nor what stands in for it: the later edit stands, and both are told",
    arguments: [ConflictPolicy.custom("both"), .text], [0, 1])
  func tooLong(policy: ConflictPolicy, first: Int) async throws {
    let world = try await world(policy)
    let id = try world[0].insert("Thing", ["name": .string("-")])
    try await world.settle()
    try world[0].set(id, ["name": .string("abcd-")])
    try world[1].set(id, ["name": .string("-wxyz")])
    try await world[first].sync()
    try await world[1 - first].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(id, "name") == .string("-wxyz"), "\(replica.name)")
      #expect(try SyncEngine.parked(of: replica.store).isEmpty)
    }
    let told = try #require(world[1 - first].conflicts.first)
    #expect(Set([told.local, told.remote]) == ["\"abcd-\"", "\"-wxyz\""])
    // A text has words of its own for that.
    #expect(policy == .text || told.explanation.contains("does not fit"))
  }

  @Test("What fits is made of both as ever")
  func fits() async throws {
    let world = try await world(.custom("both"))
    let id = try world[0].insert("Thing", ["name": .string("-")])
    try await world.settle()
    try world[0].set(id, ["name": .string("abc")])
    try world[1].set(id, ["name": .string("xyz")])
    try await world.settle()
    #expect(try world[2].value(id, "name") == .string("abcxyz"))
  }
}
