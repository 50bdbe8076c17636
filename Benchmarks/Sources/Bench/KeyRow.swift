import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation

/// Two replicas that took the same unique keys offline: each pair of objects becomes one in the sync of the second.
struct KeyRow: Sendable {
  let folder: URL
  private static let collisions = 2_000

  func run() async throws -> Row {
    let rounds = 3
    var all: [SyncEngine] = []
    var tenths: [SyncEngine] = []
    for round in 0...rounds {
      all.append(try await collided("\(round)-all", Self.collisions))
      tenths.append(try await collided("\(round)-tenth", Self.collisions / 10))
    }
    return try Comparison(
      name: "settle 2,000 taken keys (limit: a tenth)", aim: 12, rounds: rounds,
      ours: { try settle(all.removeLast(), Self.collisions) },
      limit: { try settle(tenths.removeLast(), Self.collisions / 10) }
    ).run()
  }

  private func settle(_ engine: SyncEngine, _ count: Int) throws {
    try blocking {
      let conflicts = try await engine.sync().pull.conflicts
      guard conflicts >= count else { throw BenchError(description: "settled \(conflicts)") }
    }
  }

  /// The engine of a replica whose keys another one has brought into the zone.
  private func collided(_ name: String, _ count: Int) async throws -> SyncEngine {
    let zone = MemoryZone()
    let first = try await replica("keys-\(name)-first", zone, count)
    _ = try await first.sync()
    return try await replica("keys-\(name)-second", zone, count)
  }

  private func replica(
    _ name: String, _ zone: MemoryZone, _ count: Int
  ) async throws -> SyncEngine {
    let customer = EntityDescription("Customer")
    customer.properties = [
      AttributeDescription("email", .string), AttributeDescription("name", .string),
    ]
    customer.uniquenessConstraints = [["email"]]
    let model = ManagedObjectModel(entities: [customer])
    try model.freeze()
    let container = PersistentContainer(
      name: name, model: model,
      storeURL: folder.appendingPathComponent(name))
    try container.loadPersistentStores()
    let store = container.persistentStoreCoordinator.persistentStores[0]
    try SyncEngine.enroll(
      store: store, server: MemoryZone.url, zone: "zone", info: try await zone.zoneInfo())
    try container.performAndWait { context in
      for number in 0..<count {
        let object = try context.insert(entityNamed: "Customer")
        try object.setValue("\(number)@example.org", forKey: "email")
        try object.setValue(name, forKey: "name")
      }
      try context.save()
    }
    return SyncEngine(store: store, transport: zone)
  }
}
