import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Values that a store has of before, and that the narrower model to which it was migrated refuses.
struct MigratedValueTests {
  private func model(least: Int64?) -> ManagedObjectModel {
    let thing = EntityDescription("Thing")
    let size = AttributeDescription("size", .integer64, defaultValue: .integer(7))
    if let least { size.minimum = .integer(least) }
    thing.properties = [size, AttributeDescription("name", .string)]
    return ManagedObjectModel(entities: [thing])
  }

  private func replica(
    _ name: String, _ world: World, least: Int64?, file: URL? = nil
  ) async throws -> TestReplica {
    try await TestReplica(
      name, zone: world.zone, clock: world.clock, model: model(least: least), file: file)
  }

  @Test("They are parked as they are where somebody joins, and back with a model that holds them")
  func parked() async throws {
    var world = try await World(0)
    var old: [TestReplica] = []
    for index in 0..<2 { old.append(try await replica("r\(index)", world, least: nil)) }
    let low = try old[0].insert("Thing", ["size": .integer(-5)])
    let high = try old[0].insert("Thing", ["size": .integer(5)])
    for replica in old { try await replica.sync() }
    let unsent = try old[1].insert("Thing", ["size": .integer(-6)])
    for replica in old {
      await replica.engine.close()
      world.replicas.append(
        try await self.replica(replica.name, world, least: 0, file: replica.store.url))
    }
    world.replicas.append(try await replica("late", world, least: 0))
    for _ in 0..<2 { try await world.syncAll() }
    for replica in world.replicas {
      #expect(try replica.value(low, "size") == .integer(7), "\(replica.name)")
      #expect(try replica.value(high, "size") == .integer(5))
      #expect(try SyncEngine.parked(of: replica.store).map(\.object).contains(low))
      #expect(try replica.status.pending.objects == 0)
      #expect(try SyncEngine.check(replica.store).findings == [])
    }
    #expect(try world[2].value(unsent, "size") == .integer(7))
    try world[0].set(low, ["size": .integer(3)])
    try await world.syncAll()
    try await world.syncAll()
    for replica in world.replicas { #expect(try replica.value(low, "size") == .integer(3)) }
    await world[2].engine.close()
    let wide = try await replica("late", world, least: nil, file: world[2].store.url)
    try await wide.sync()
    #expect(try wide.value(unsent, "size") == .integer(-6))
    #expect(try SyncEngine.parked(of: wide.store).isEmpty)
  }
}
