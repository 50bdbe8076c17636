import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A value that the model here cannot hold is the zone's, and the offer's, and not what the row shows in its place: where two
/// objects become one, and where a total is offered.
struct StandInTests {
  private func model(_ type: AttributeType, policy: String) -> ManagedObjectModel {
    let product = EntityDescription("Product")
    let stock = AttributeDescription("stock", type)
    stock.userInfo = [ConflictPolicy.userInfoKey: policy]
    product.properties = [AttributeDescription("code", .string), stock]
    product.uniquenessConstraints = [["code"]]
    return ManagedObjectModel(entities: [product])
  }

  /// The first and the second hold what the third cannot.
  private func world(_ policy: String) async throws -> World {
    var world = try await World(0)
    for (name, type) in [
      ("wide", AttributeType.integer64), ("other", .integer64), ("narrow", .integer16),
    ] {
      world.replicas.append(
        try await TestReplica(
          name, zone: world.zone, clock: world.clock, model: model(type, policy: policy)))
    }
    return world
  }

  private func expect(
    _ stock: Int64, of id: UUID, _ world: World, _ location: SourceLocation = #_sourceLocation
  ) throws {
    for replica in world.replicas {
      #expect(try replica.status.pending.objects == 0, sourceLocation: location)
      #expect(try SyncEngine.check(replica.store).findings == [], sourceLocation: location)
    }
    let isHeld = stock <= 32767
    for (index, replica) in world.replicas.enumerated() {
      let shown: PropertyValue = index == 2 && !isHeld ? .null : .integer(stock)
      #expect(
        try replica.value(id, "stock") == shown, "\(replica.name)", sourceLocation: location)
    }
    #expect(
      try SyncEngine.parked(of: world[2].store).isEmpty == isHeld, sourceLocation: location)
  }

  @Test(
    "Two objects with one key that become one settle with the parked value, by the policy",
    arguments: [
      ("lastWriterWins", 5), ("counter", 100_000), ("max", 100_000), ("min", 5),
      ("serverWins", 100_000), ("clientWins", 5),
    ] as [(String, Int64)])
  func union(policy: String, wanted: Int64) async throws {
    let world = try await world(policy)
    let id = try world[0].insert(
      "Product", ["code": .string("k"), "stock": .integer(100_000)])
    try await world[0].sync()
    try world[2].insert("Product", ["code": .string("k"), "stock": .integer(5)])
    for _ in 0..<3 { try await world.syncAll() }
    try expect(wanted, of: id, world)
    let told = try #require(try world[2].conflicts.first { $0.property == "stock" })
    #expect(told.remote == "100000")
    #expect(told.local == "5")
  }

  @Test("A parked total that is offered is the one that stands, with what was counted there since")
  func offeredTotal() async throws {
    let world = try await world("counter")
    let id = try world[0].insert("Product", ["code": .string("k"), "stock": .integer(10)])
    try await world.settleAll()
    try world[0].set(id, ["stock": .integer(100_000)])
    try await world[0].sync()
    try await world[2].sync()
    world.zone.renew()
    try await world[1].sync()
    try world[1].set(id, ["stock": .integer(15)])
    try await world[1].sync()
    try await world[2].sync()
    for _ in 0..<2 { try await world.syncAll() }
    try expect(100_005, of: id, world)
  }

  @Test(
    "A parked value that is offered, later than the zone's, is the one that stands and is named")
  func offeredValue() async throws {
    let world = try await world("lastWriterWins")
    let id = try world[0].insert("Product", ["code": .string("k"), "stock": .integer(10)])
    try await world.settleAll()
    try world[0].set(id, ["stock": .integer(100_000)])
    try await world[0].sync()
    try await world[2].sync()
    world.zone.renew()
    try await world[1].sync()
    try await world[2].sync()
    for _ in 0..<2 { try await world.syncAll() }
    try expect(100_000, of: id, world)
    let told = try #require(try world[2].conflicts.first { $0.property == "stock" })
    #expect(told.local == "100000")
  }

  @Test("A parked value that was lost with the log is offered as it is, and named")
  func lostValue() async throws {
    let world = try await world("lastWriterWins")
    let id = try world[0].insert("Product", ["code": .string("k"), "stock": .integer(10)])
    try await world.settleAll()
    let backup = world.zone.log
    try world[1].set(id, ["stock": .integer(7)])
    try world[0].set(id, ["stock": .integer(100_000)])
    try await world[0].sync()
    try await world[2].sync()
    world.zone.putBack(backup)
    try await world[1].sync()
    try await world[2].sync()
    for _ in 0..<2 { try await world.syncAll() }
    try expect(100_000, of: id, world)
    let told = try #require(try world[2].conflicts.first { $0.property == "stock" })
    #expect(told.local == "100000" && told.remote == "7")
  }
}

extension World {
  /// Replicas of unlike models have unlike exports.
  fileprivate func settleAll() async throws { for _ in 0..<2 { try await syncAll() } }
}
