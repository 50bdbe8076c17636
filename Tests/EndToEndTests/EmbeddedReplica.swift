import Driftless
import DriftlessHTTP
import DriftlessSync
import Foundation
import TestSupport

/// A replica in this process, over HTTP to a server that may be reached by a detour.
final class EmbeddedReplica {
  /// The model that every test of faults shares: a name, and a counter in which a second effect shows.
  static let model = ModelText(entities: [
    .init(
      name: "Item",
      attributes: [
        ("name", "String", nil), ("count", "Integer 64", "counter"), ("payload", "String", nil),
      ])
  ])

  let name: String
  let store: PersistentStore
  let transport: CurlTransport
  let engine: SyncEngine
  private let container: PersistentContainer

  /// - Parameter route: where requests go to; the server itself unless given.
  init(
    _ name: String, in directory: TemporaryDirectory, model: URL, server: String,
    route: String? = nil, zone: String, token: String, options sync: SyncOptions = .init(),
    _ change: (inout TransportOptions) -> Void = { _ in }
  ) async throws {
    self.name = name
    container = PersistentContainer(
      name: name, model: try ManagedObjectModel(contentsOf: model),
      storeURL: directory.file("\(name).sqlite"))
    try container.loadPersistentStores()
    store = container.persistentStoreCoordinator.persistentStores[0]
    guard let address = URL(string: server), let way = URL(string: route ?? server) else {
      throw HarnessError(description: "\(server) is no address")
    }
    var options = TransportOptions()
    // Attempts are the test's own.
    options.retry.attemptsMax = 1
    options.retry.delaySecondsFirst = 0.01
    change(&options)
    let direct = try CurlTransport(server: address, zone: zone, token: token)
    try SyncEngine.enroll(
      store: store, server: address, zone: zone, info: try await direct.zoneInfo())
    transport = try CurlTransport(server: way, zone: zone, token: token, options: options)
    engine = SyncEngine(store: store, transport: transport, options: sync)
  }

  /// Adds an object, and one to the counter of the object called `shared`, which the first call makes.
  func count(_ name: String, payload: String = "") throws {
    let context = container.newContext()
    let item = try context.insert(entityNamed: "Item")
    item["name"] = name
    item["payload"] = payload
    var request = FetchRequest<ManagedObject>(entityName: "Item")
    request.predicate = try FetchPredicate(format: "name == 'shared'")
    let shared = try context.fetch(request).first ?? context.insert(entityNamed: "Item")
    shared["name"] = "shared"
    shared["count"] = (shared["count"] as? Int64 ?? 0) + 1
    try context.save()
  }

  /// Adds an object, and nothing else.
  func addItem(_ name: String) throws { try addItems([name]) }

  /// Adds objects in one save.
  func addItems(_ names: [String]) throws {
    let context = container.newContext()
    for name in names { try context.insert(entityNamed: "Item")["name"] = name }
    try context.save()
  }

  /// The counter of `shared`.
  var shared: Int64? {
    get throws {
      var request = FetchRequest<ManagedObject>(entityName: "Item")
      request.predicate = try FetchPredicate(format: "name == 'shared'")
      return try container.newContext().fetch(request).first?["count"] as? Int64
    }
  }

  var export: String { get throws { try ReplicaExport.text(of: store) } }
  var pendingObjects: Int { get throws { try SyncEngine.status(of: store).pending.objects } }
}
