import Foundation
import TestSupport
import Testing

/// `syncd` against `driftless-server`, both as programs.
@Suite(.serialized) struct DaemonProgramTests {
  private func holds(_ replica: Replica, _ names: [String]) throws -> Bool {
    let export = try replica.export()
    return names.allSatisfy { export.contains("\"\($0)\"") }
  }

  private func daemon(of replica: Replica) throws -> [String: Any]? {
    try replica.status()["daemon"] as? [String: Any]
  }

  @Test("It syncs on a local change and on news, and the next one is not waited for")
  func changeAndNews() throws {
    let world = try FaultWorld()
    let first = try world.replica("first")
    let second = try world.replica("second")
    let daemon = try DaemonProcess(stores: [first.store, second.store], in: world.directory.url)
    try eventually("the daemon keeps both stores") {
      try self.daemon(of: first) != nil && self.daemon(of: second) != nil
    }
    // A program writes while the daemon has the store; the other store hears of it from the server.
    try first.importLines([FaultWorld.insertion("a")])
    try eventually("the change came to the second store") { try holds(second, ["a"]) }
    try second.importLines([FaultWorld.insertion("b")])
    try eventually("and back to the first") { try holds(first, ["a", "b"]) }
    try eventually("nothing is pending") {
      try [first, second].allSatisfy {
        try ($0.status()["pending"] as? [String: Any])?["objects"] as? Int == 0
      }
    }
    #expect(daemon.stop() == 0)
  }

  @Test(
    "Without a server it says so and keeps changes; when the server is back it goes on by itself")
  func offline() throws {
    let world = try FaultWorld()
    let first = try world.replica("first")
    let second = try world.replica("second")
    let daemon = try DaemonProcess(stores: [first.store], in: world.directory.url)
    try first.importLines([FaultWorld.insertion("a")])
    try eventually("it was pushed") {
      try second.sync()
      return try holds(second, ["a"])
    }
    world.server.kill()
    try first.importLines([FaultWorld.insertion("offline")])
    try eventually("status tells of the server that is not there") {
      try first.status()["lastError"] as? String != nil
    }
    let pending = try first.status()["pending"] as? [String: Any]
    #expect(pending?["objects"] as? Int == 1)
    try world.server.start()
    try eventually("it was pushed after the server came back") {
      try second.sync()
      return try holds(second, ["a", "offline"])
    }
    try eventually("the error is gone") { try first.status()["lastError"] as? String == nil }
    #expect(daemon.stop() == 0)
  }

  /// A store that a daemon keeps, which has sent an object, and another replica of its zone.
  private func kept() throws -> (
    world: FaultWorld, first: Replica, second: Replica, daemon: DaemonProcess
  ) {
    let world = try FaultWorld()
    let first = try world.replica("first")
    let second = try world.replica("second")
    let daemon = try DaemonProcess(stores: [first.store], in: world.directory.url)
    try first.importLines([FaultWorld.insertion("before")])
    try eventually("the daemon has sent it") {
      try self.daemon(of: first) != nil && first.pendingObjects == 0
    }
    return (world, first, second, daemon)
  }

  @Test(
    "A backup that is put in the store's place while the daemon runs is what it keeps from then on")
  func replacedStore() throws {
    let (world, first, second, daemon) = try kept()
    let backup = world.directory.file("backup.sqlite")
    let made = try Programs.run("syncctl", ["store", "backup", first.store.path, backup.path])
    #expect(made.status == 0, "\(made.errors)")
    let manager = FileManager.default
    let folder = first.store.deletingLastPathComponent()
    for name in try manager.contentsOfDirectory(atPath: folder.path)
    where name.hasPrefix(first.store.lastPathComponent) && !name.hasSuffix("-driftless-token") {
      try manager.removeItem(at: folder.appendingPathComponent(name))
    }
    try manager.copyItem(at: backup, to: first.store)
    try first.importLines([FaultWorld.insertion("after")])
    try eventually("what was saved in the new file was sent") {
      try second.sync()
      return try holds(second, ["before", "after"])
    }
    try eventually("the daemon keeps the new file, and syncctl tells of it") {
      try self.daemon(of: first)?["pid"] as? Int32 == daemon.pid && first.pendingObjects == 0
    }
    try second.importLines([FaultWorld.insertion("news")])
    try second.sync()
    try eventually("and it hears of news") { try holds(first, ["news"]) }
    #expect(daemon.stop() == 0)
  }

  @Test("A store that is gone is told as gone, and is kept again once it is there again")
  func goneStore() throws {
    let (world, first, second, daemon) = try kept()
    let manager = FileManager.default
    let folder = first.store.deletingLastPathComponent()
    let away = world.directory.file("away")
    try manager.createDirectory(at: away, withIntermediateDirectories: true)
    func move(from: URL, to: URL) throws {
      // The database goes first and comes last.
      var names = try manager.contentsOfDirectory(atPath: from.path).filter {
        $0.hasPrefix(first.store.lastPathComponent)
      }.sorted()
      if to == folder { names.reverse() }
      for name in names {
        try? manager.removeItem(at: to.appendingPathComponent(name))
        try manager.moveItem(
          at: from.appendingPathComponent(name), to: to.appendingPathComponent(name))
      }
    }
    try move(from: folder, to: away)
    let outcome = try first.attempt("sync")
    #expect(outcome.status == 65)
    #expect(outcome.errors.contains("There is no store"), "\(outcome.errors)")
    try move(from: away, to: folder)
    try first.importLines([FaultWorld.insertion("after")])
    try eventually("the daemon keeps it again") {
      try second.sync()
      return try holds(second, ["before", "after"])
    }
    #expect(daemon.stop() == 0)
  }

  @Test("One daemon keeps stores of two zones apart, and holds none when it has ended")
  func zones() throws {
    let world = try FaultWorld()
    let created = try Programs.run(
      "driftless-server", ["zone", "create", "other", "--data", world.server.data.path])
    #expect(created.status == 0, "\(created.errors)")
    let first = try world.replica("first")
    let reader = try world.replica("reader")
    let other = try Replica(
      "other", in: world.directory, model: world.model, server: world.server, zone: "other",
      token: try world.server.token(zone: "other"))
    let daemon = try DaemonProcess(stores: [first.store, other.store], in: world.directory.url)
    try first.importLines([FaultWorld.insertion("a")])
    try other.importLines([FaultWorld.insertion("b")])
    try eventually("both are pushed") {
      try [first, other].allSatisfy {
        let status = try $0.status()
        return status["daemon"] is [String: Any]
          && (status["pending"] as? [String: Any])?["objects"] as? Int == 0
      }
    }
    try reader.sync()
    #expect(try holds(reader, ["a"]))
    #expect(try !holds(reader, ["b"]))
    #expect(daemon.stop() == 0)
    let next = try DaemonProcess(stores: [first.store, other.store], in: world.directory.url)
    try eventually("the next daemon keeps both") {
      try [first, other].allSatisfy {
        try self.daemon(of: $0)?["pid"] as? Int32 == next.pid
      }
    }
    #expect(next.stop() == 0)
  }

  @Test("F13 A daemon with more stores than it can open files for says so before it begins")
  func tooManyStores() throws {
    let world = try FaultWorld()
    let replicas = try ["first", "second"].map { try world.replica($0) }
    let daemon = try DaemonProcess(stores: replicas.map(\.store), in: world.directory.url)
    for replica in replicas { try replica.importLines([FaultWorld.insertion(replica.name)]) }
    try eventually("the daemon has sent what both have") {
      try replicas.allSatisfy { try self.daemon(of: $0) != nil && $0.pendingObjects == 0 }
    }
    // What it says that it needs is enough.
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.pid)/fd").count
    #expect(open <= 32 + 2 * 16, "\(open) files")
    #expect(daemon.stop() == 0)
    let outcome = try Programs.run(
      "syncd", ["--config", daemon.configuration.path], filesMax: 60)
    #expect(outcome.status == 71)
    #expect(outcome.errors.contains("it needs 64"), "\(outcome.errors)")
  }

  @Test("syncctl goes through the daemon, and works without it again when it has ended")
  func commands() throws {
    let world = try FaultWorld()
    let replica = try world.replica("first")
    let daemon = try DaemonProcess(stores: [replica.store], in: world.directory.url)
    try eventually("the daemon keeps the store") { try self.daemon(of: replica) != nil }
    #expect(try self.daemon(of: replica)?["pid"] as? Int32 == daemon.pid)
    try replica.importLines([FaultWorld.insertion("a")])
    for command in ["push", "pull", "sync"] {
      let outcome = try replica.attempt(command, ["--json"])
      #expect(outcome.status == 0, "\(command): \(outcome.errors)")
      #expect(throws: Never.self) {
        try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
      }
    }
    #expect(daemon.stop() == 0)
    #expect(try self.daemon(of: replica) == nil)
    try replica.sync()
  }

  @Test(
    "A reload takes stores in and lets stores go; a second daemon is refused by the first's pid")
  func reloadAndRefusal() throws {
    let world = try FaultWorld()
    let first = try world.replica("first")
    let second = try world.replica("second")
    let daemon = try DaemonProcess(stores: [first.store], in: world.directory.url)
    try eventually("the first store is kept") { try self.daemon(of: first) != nil }
    try daemon.reload(stores: [second.store])
    try eventually("the second store is kept, the first is not") {
      try self.daemon(of: second) != nil && self.daemon(of: first) == nil
    }
    let outcome = try Programs.run(
      "syncd", ["--config", daemon.configuration.path])
    #expect(outcome.status != 0)
    #expect(outcome.errors.contains("\(daemon.pid)"), "\(outcome.errors)")
    #expect(outcome.errors.contains("Try:"))
    #expect(daemon.stop() == 0)
  }

  @Test("F26 A daemon follows the address that enroll gives, without being told to begin again")
  func movedServer() throws {
    let world = try FaultWorld()
    let replica = try world.replica("first")
    let daemon = try DaemonProcess(stores: [replica.store], in: world.directory.url)
    try eventually("the daemon keeps the store") { try self.daemon(of: replica) != nil }
    world.server.kill()
    try replica.importLines([FaultWorld.insertion("a")])
    try eventually("it is offline") { try replica.status()["state"] as? String == "offline" }
    let next = ServerProcess(data: world.server.data, listen: "[::1]:0")
    try next.start()
    try replica.run(
      ["enroll", "--store", replica.store.path, "--server", next.address, "--zone", world.zone],
      environment: ["SYNCCTL_TOKEN": world.token])
    try eventually("it is in step with the server at its new address") {
      try replica.status()["state"] as? String == "in-step"
    }
    #expect(try replica.pendingObjects == 0)
    #expect(daemon.stop() == 0)
  }

  @Test("A daemon goes on with the token that enroll gives at once, whatever it was asked before")
  func newToken() throws {
    let world = try FaultWorld()
    let replica = try world.replica("first")
    let daemon = try DaemonProcess(stores: [replica.store], in: world.directory.url)
    try eventually("the daemon keeps the store") { try self.daemon(of: replica) != nil }
    let id = String(world.token.dropFirst(3).prefix { $0 != "_" })
    let revoked = try Programs.run(
      "driftless-server", ["token", "revoke", id, "--data", world.server.data.path])
    #expect(revoked.status == 0, "\(revoked.errors)")
    try replica.importLines([FaultWorld.insertion("a")])
    try eventually("it waits for a person") {
      try replica.status()["state"] as? String == "waiting"
    }
    // Asked in vain, it has a way to the zone with the token of before.
    #expect(try replica.attempt("sync").status == 77)
    try replica.run(
      [
        "enroll", "--store", replica.store.path, "--server", world.server.address, "--zone",
        world.zone,
      ], environment: ["SYNCCTL_TOKEN": try world.server.token(zone: world.zone)])
    #expect(try replica.attempt("sync").status == 0)
    #expect(try replica.pendingObjects == 0)
    #expect(daemon.stop() == 0)
  }

  /// The daemon's own last sync, once it only listens.
  private func lastSyncOfListener(_ replica: Replica) throws -> String? {
    let state = try daemon(of: replica)?["state"] as? [String: Any]
    return state?["activity"] as? String == "listening" ? state?["lastSync"] as? String : nil
  }

  @Test("What a person lets be tried again, the daemon tries at once: quarantine retry")
  func quarantineRetry() throws {
    let world = try FaultWorld()
    let limits = world.directory.file("limits.json")
    try Data(#"{"bodyBytesMax": 20000}"#.utf8).write(to: limits)
    world.server.kill()
    world.server.limits = limits
    try world.server.start()
    let (first, second) = (try world.replica("first"), try world.replica("second"))
    var random = SeededGenerator(seed: 7)
    let payload = String(
      (0..<60_000).map { _ in
        "abcdefghijklmnopqrstuvwxyz0123456789".randomElement(using: &random) ?? "a"
      })
    try first.importLines([
      #"{"op":"insert","entity":"Item","id":"large","set":{"name":"large","payload":"\#(payload)"}}"#
    ])
    let daemon = try DaemonProcess(stores: [first.store], in: world.directory.url)
    try eventually("it is set aside") { try first.status()["quarantined"] as? Int == 1 }
    world.server.kill()
    world.server.limits = nil
    try world.server.start()
    try first.importLines([FaultWorld.insertion("small")])
    try eventually("the rest was sent, and the daemon listens") {
      try second.sync()
      return try holds(second, ["small"]) && lastSyncOfListener(first) != nil
    }
    #expect(try !holds(second, ["large"]))
    try first.run(["quarantine", "retry", "--store", first.store.path])
    try eventually(within: 20, "it was sent") {
      try second.sync()
      return try holds(second, ["large"])
    }
    #expect(daemon.stop() == 0)
  }

  @Test("What a person lets be tried again, the daemon tries at once: parked retry")
  func parkedRetry() throws {
    let world = try FaultWorld()
    let (ahead, behind) = (try world.replicaAhead(), try world.replica("behind"))
    try ahead.importLines([
      #"{"op":"insert","entity":"Extra","id":"extra","set":{"name":"extra"}}"#
    ])
    try ahead.sync()
    let daemon = try DaemonProcess(stores: [behind.store], in: world.directory.url)
    var before: String?
    try eventually("it is parked, and the daemon listens, in a later second than that of its sync")
    {
      before = try lastSyncOfListener(behind)
      let second = before.map { $0.prefix(19) + "Z" }
      guard let last = second.flatMap({ ISO8601DateFormatter().date(from: String($0)) }) else {
        return false
      }
      return try Date() >= last + 1 && behind.status()["parked"] as? Int == 1
    }
    try behind.run(["parked", "retry", "--store", behind.store.path])
    try eventually(within: 20, "the daemon has synced") {
      let now = try lastSyncOfListener(behind)
      return now != nil && now != before
    }
    #expect(daemon.stop() == 0)
  }

  @Test("A socket that is removed while the daemon runs is made again, and both ends go on")
  func removedSocket() throws {
    let world = try FaultWorld()
    let replica = try world.replica("first")
    let daemon = try DaemonProcess(stores: [replica.store], in: world.directory.url)
    let socket = world.directory.file("syncd.sock").path
    func inode() -> String? {
      (try? FileManager.default.attributesOfItem(atPath: socket))?[.systemFileNumber].map {
        "\($0)"
      }
    }
    try eventually("it listens") { try self.daemon(of: replica) != nil }
    for _ in 0..<2 {
      #expect(unlink(socket) == 0)
      try eventually("the socket is there again") { inode() != nil }
      try eventually("it answers") {
        try Programs.run("syncctl", ["status", "--socket", socket]).status == 0
      }
      try replica.sync()
    }
    #expect(daemon.stop() == 0)
    #expect(inode() == nil)
  }
}
