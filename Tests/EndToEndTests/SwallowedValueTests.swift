import Driftless
import DriftlessHTTP
import DriftlessSync
import Foundation
import TestSupport
import Testing

/// A real server behind a proxy that does not carry large values, and all else.
@Suite(.serialized) struct SwallowedValueTests {
  private struct World {
    let directory: TemporaryDirectory
    let server: ServerProcess
    let relay: FaultyRelay
    /// Beside the server.
    let near: EmbeddedReplica
    /// Behind the relay; it has heard of photos that somebody asks for.
    let far: EmbeddedReplica

    init(photos: Int) async throws {
      directory = try TemporaryDirectory()
      let text = ModelText(entities: [
        .init(name: "Photo", attributes: [("name", "String", nil), ("image", "Binary", nil)])
      ])
      let model = try writeModel(text.xml, named: "Photos", in: directory)
      server = try ServerProcess(data: directory.file("server"), zone: "photos")
      let token = try server.token(zone: "photos")
      let limits = directory.file("limits.json")
      try Data(#"{ "valueBytesMax": 100000000 }"#.utf8).write(to: limits)
      server.kill()
      server.limits = limits
      try server.start()
      relay = try FaultyRelay(to: server.address)
      var options = SyncOptions()
      options.values = .firstUse
      near = try await EmbeddedReplica(
        "near", in: directory, model: model, server: server.address, zone: "photos", token: token)
      // The bound is one of all requests: those that are answered have to be within it on a busy host too.
      far = try await EmbeddedReplica(
        "far", in: directory, model: model, server: server.address, route: relay.address,
        zone: "photos", token: token, options: options
      ) { $0.stallTimeoutSeconds = 5 }
      for number in 0..<photos { try Self.add("p\(number)", number, to: near) }
      _ = try await near.engine.sync()
      _ = try await far.engine.sync()
      #expect(try SyncEngine.wantValues(of: far.store) == photos)
    }

    static func add(_ name: String, _ seed: Int? = nil, to replica: EmbeddedReplica) throws {
      let context = ManagedObjectContext(PersistentStoreCoordinator(store: replica.store))
      let photo = try context.insert(entityNamed: "Photo")
      photo["name"] = name
      if let seed {
        var numbers = SeededNumbers(seed: UInt64(seed))
        photo["image"] = Data(
          (0..<1_200_000).map { _ in UInt8(truncatingIfNeeded: numbers.next()) })
      }
      try context.save()
    }

    /// How often values were asked for on connections since the relay was told something.
    var asked: Int {
      relay.passed.count { String(decoding: $0.request, as: UTF8.self).contains("/values/") }
    }

    /// The way is there: all comes.
    func settle() async throws {
      relay.set(.none)
      for replica in [far, near, far, near] { _ = try await replica.engine.sync() }
      #expect(try SyncEngine.wantedValues(of: far.store) == 0)
      #expect(try SyncEngine.wantedFailure(of: far.store) == nil)
      #expect(try far.export == near.export)
      relay.stop()
    }
  }

  @Test(
    "Values that a proxy swallows cost a sync a few attempts, and come once it lets them through")
  func swallowed() async throws {
    let world = try await World(photos: 6)
    world.relay.set(.swallow("/values/", saying: nil))
    try World.add("own", to: world.far)
    _ = try await world.far.engine.sync()
    #expect(world.asked == 3)
    #expect(try world.far.pendingObjects == 0)
    #expect(try SyncEngine.wantedValues(of: world.far.store) == 6)
    #expect(try SyncEngine.wantedFailure(of: world.far.store)?.code == "timed-out")
    _ = try await world.far.engine.sync()
    #expect(world.asked == 4)
    try await world.settle()
  }

  @Test("A server that asks for patience with values is asked once, and for none until then")
  func patience() async throws {
    let world = try await World(photos: 3)
    world.relay.set(
      .swallow(
        "/values/",
        saying: "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 600\r\nContent-Length: 0\r\n"
          + "Connection: close\r\n\r\n"))
    for _ in 0..<2 {
      _ = try await world.far.engine.sync()
      #expect(world.asked == 1)
      #expect(try SyncEngine.wantedFailure(of: world.far.store)?.code == "busy")
    }
    #expect(try SyncEngine.wantedValues(of: world.far.store) == 3)
    world.relay.stop()
  }
}
