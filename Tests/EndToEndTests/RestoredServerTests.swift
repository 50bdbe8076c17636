import DriftlessSync
import Foundation
import TestSupport
import Testing

/// A server whose folder is put back to an older copy, while its replicas go on.
@Suite(.serialized) struct RestoredServerTests {
  private struct World {
    let shared: FaultWorld
    let first: EmbeddedReplica
    let second: EmbeddedReplica
    var server: ServerProcess { shared.server }

    init() async throws {
      shared = try FaultWorld()
      first = try await shared.embedded("first")
      second = try await shared.embedded("second")
    }

    func sync() async throws {
      for replica in [first, second] { _ = try await replica.engine.sync() }
    }

    /// The server's folder as it is now, while nothing serves it.
    func backup() throws -> URL {
      server.kill()
      let copy = shared.directory.file("backup")
      try FileManager.default.copyItem(at: server.data, to: copy)
      try server.start()
      return copy
    }

    func restore(_ copy: URL) throws {
      server.kill()
      try FileManager.default.removeItem(at: server.data)
      try FileManager.default.moveItem(at: copy, to: server.data)
      try server.start()
    }

    func expectEqual(
      _ count: Int64, objects: Int, _ location: SourceLocation = #_sourceLocation
    ) throws {
      #expect(try first.export == second.export, sourceLocation: location)
      #expect(try first.shared == count, sourceLocation: location)
      #expect(
        try first.export.split(separator: "\n").count == objects, sourceLocation: location)
      for replica in [first, second] {
        #expect(try replica.pendingObjects == 0, sourceLocation: location)
      }
    }
  }

  @Test(
    "F58 F60 A server that is put back to an older copy gets from its replicas what it lost, and counts nothing twice",
    arguments: [true, false])
  func putBack(firstGoesFirst: Bool) async throws {
    let world = try await World()
    try world.first.count("1")
    try await world.sync()
    try await world.sync()
    let copy = try world.backup()
    for index in 2...4 {
      try world.first.count("first\(index)")
      try await world.sync()
      try world.second.count("second\(index)")
      try await world.sync()
    }
    try await world.sync()
    // What is not sent yet goes on being that.
    try world.second.count("pending")
    try world.restore(copy)
    for _ in 0..<3 {
      for replica in firstGoesFirst ? [world.first, world.second] : [world.second, world.first] {
        _ = try await replica.engine.sync()
      }
    }
    try world.expectEqual(8, objects: 9)
  }

  @Test(
    "F58 Where another replica has gone on with the older copy, both sides' changes are there in the end"
  )
  func parted() async throws {
    let world = try await World()
    try world.first.count("1")
    try await world.sync()
    try await world.sync()
    let copy = try world.backup()
    try world.first.addItem("lost")
    _ = try await world.first.engine.sync()
    try world.restore(copy)
    try world.second.addItem("gone on")
    try world.second.addItem("gone on again")
    _ = try await world.second.engine.sync()
    for _ in 0..<3 { try await world.sync() }
    try world.expectEqual(1, objects: 5)
  }

  @Test(
    "S2 enroll --on-diverged ask: nothing is handed over before sync --reconcile, one word for one sync"
  )
  func asked() throws {
    let shared = try FaultWorld()
    let (asking, other) = (try shared.replica("asking"), try shared.replica("other"))
    try asking.run(
      [
        "enroll", "--store", asking.store.path, "--server", shared.server.address, "--zone",
        shared.zone, "--on-diverged", "ask",
      ], environment: ["SYNCCTL_TOKEN": shared.token])
    try asking.importLines([FaultWorld.insertion("before")])
    try asking.sync()
    shared.server.kill()
    let copy = shared.directory.file("backup")
    try FileManager.default.copyItem(at: shared.server.data, to: copy)
    try shared.server.start()
    try asking.importLines([FaultWorld.insertion("lost")])
    try asking.sync()
    for _ in 0..<2 {
      shared.server.kill()
      try FileManager.default.removeItem(at: shared.server.data)
      try FileManager.default.copyItem(at: copy, to: shared.server.data)
      try shared.server.start()
      let waiting = try asking.attempt("sync")
      #expect(waiting.status == 1, "\(waiting)")
      #expect(waiting.errors.contains("syncctl sync --reconcile"), "\(waiting)")
      #expect(try asking.status()["state"] as? String == "waiting")
      let head = try Programs.run(
        "driftless-server", ["zone", "list", "--json", "--data", shared.server.data.path])
      #expect(head.output.contains(#""head":1"#), "nothing goes: \(head)")
      let done = try asking.attempt("sync", ["--reconcile"])
      #expect(done.status == 0, "\(done)")
      #expect(done.output.contains("has it back from this store"), "\(done)")
    }
    try other.sync()
    #expect(try other.export().contains("lost"))
  }
}
