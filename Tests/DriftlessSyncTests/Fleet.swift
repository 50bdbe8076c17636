import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Replicas on one zone, each of which may go over to another model.
struct Fleet {
  var world: World
  /// Those of before a migration: their folders go with them.
  private var former: [TestReplica] = []

  init(_ count: Int, _ model: ManagedObjectModel) async throws {
    world = try await World(0)
    for number in 0..<count { try await join(model, "r\(number)") }
  }

  subscript(number: Int) -> TestReplica { world[number] }

  mutating func join(
    _ model: ManagedObjectModel, _ name: String, by way: (any SyncTransport)? = nil
  ) async throws {
    world.replicas.append(
      try await TestReplica(
        name, zone: world.zone, clock: world.clock, model: model, transport: way))
  }

  /// One that takes the log, and one that takes what it comes to.
  mutating func joinBothWays(_ model: ManagedObjectModel) async throws {
    try await join(model, "by the log")
    let folded = try FoldedZone(world.zone)
    try folded.fold()
    try await join(model, "by the snapshot", by: folded)
  }

  mutating func migrate(
    _ number: Int, to model: ManagedObjectModel, by way: (any SyncTransport)? = nil
  ) async throws {
    let replica = world[number]
    await replica.engine.close()
    replica.store.close()
    former.append(replica)
    world.replicas[number] = try await TestReplica(
      replica.name, zone: world.zone, clock: world.clock, model: model, transport: way,
      enrolled: false, file: replica.store.url)
  }

  /// Syncs some, in this order.
  func sync(_ numbers: Int...) async throws {
    for number in numbers { try await world[number].sync() }
  }

  func expect(
    _ value: PropertyValue, _ property: String, of id: UUID,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    for replica in world.replicas {
      let found = try replica.value(id, property)
      #expect(found == value, "\(replica.name)", sourceLocation: location)
    }
  }
}
