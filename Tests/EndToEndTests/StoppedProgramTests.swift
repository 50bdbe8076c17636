import Foundation
import TestSupport
import Testing

/// Programs that are told to end or to stop in the midst of their work, and addresses that change under them.
@Suite(.serialized) struct StoppedProgramTests {
  private struct World {
    let shared: FaultWorld
    let relay: FaultyRelay
    var server: ServerProcess { shared.server }

    init() throws {
      shared = try FaultWorld()
      relay = try FaultyRelay(to: shared.server.address)
    }

    /// A replica that goes through the relay.
    func replica(_ name: String, isFar: Bool = true) throws -> Replica {
      let replica = try shared.replica(name)
      if isFar { try enrol(replica, at: relay.address) }
      return replica
    }

    func enrol(_ replica: Replica, at address: String) throws {
      try replica.run(
        ["enroll", "--store", replica.store.path, "--server", address, "--zone", shared.zone],
        environment: ["SYNCCTL_TOKEN": shared.token])
    }
  }

  /// So many objects whose values do not compress.
  private func lines(_ prefix: String, _ count: Int) -> [String] {
    var generator = SeededGenerator(seed: 14)
    return (0..<count).map { index in
      let payload = (0..<200).map { _ in String(generator.next(), radix: 36) }.joined()
      return
        #"{"op":"insert","entity":"Item","id":"\#(prefix)\#(index)","set":{"name":"\#(prefix)\#(index)","payload":"\#(payload)"}}"#
    }
  }

  private func start(_ arguments: [String]) throws -> Process {
    let process = Process()
    process.executableURL = Programs.url("syncctl")
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  @Test("F14 A push that is told to end ends at once, and the next one sends what is left of it")
  func endedPush() throws {
    let world = try World()
    let (replica, other) = (try world.replica("a"), try world.replica("b", isFar: false))
    try replica.importLines(lines("item", 200))
    // At this speed the whole would take minutes.
    world.relay.set(.slow(bytesPerSecond: 2_000, piece: 200))
    let process = try start(["push", "--store", replica.store.path])
    try eventually("the push is on its way") {
      world.relay.passed.contains { $0.requestBytes > 1_000 }
    }
    process.terminate()
    try eventually(within: 20, "it has ended") { !process.isRunning }
    #expect(try replica.pendingObjects == 200)
    #expect(try Programs.run("syncctl", ["store", "check", replica.store.path]).status == 0)
    world.relay.set(.none)
    for one in [replica, other] { try one.sync() }
    #expect(try replica.export() == other.export())
    #expect(try other.export().split(separator: "\n").count == 200)
    world.relay.stop()
  }

  @Test("F14 A daemon that is told to end in a long push ends well, and the next one sends it")
  func endedDaemon() throws {
    let world = try World()
    let (replica, other) = (try world.replica("a"), try world.replica("b", isFar: false))
    world.relay.set(.slow(bytesPerSecond: 2_000, piece: 200))
    try replica.importLines(lines("item", 200))
    let daemon = try DaemonProcess(stores: [replica.store], in: world.shared.directory.url)
    try eventually("the push is on its way") {
      world.relay.passed.contains { $0.requestBytes > 1_000 }
    }
    let start = ContinuousClock.now
    #expect(daemon.stop() == 0)
    #expect(ContinuousClock.now - start < .seconds(30))
    #expect(try replica.pendingObjects == 200)
    world.relay.set(.none)
    for one in [replica, other] { try one.sync() }
    #expect(try replica.export() == other.export())
    world.relay.stop()
  }

  @Test("F15 A daemon and a server that stood still go on by themselves, and lose nothing")
  func stoodStill() throws {
    let world = try World()
    let (replica, other) = (try world.replica("a"), try world.replica("b", isFar: false))
    let daemon = try DaemonProcess(stores: [replica.store], in: world.shared.directory.url)
    try eventually("the daemon keeps the store") {
      try replica.status()["daemon"] is [String: Any]
    }
    kill(daemon.pid, SIGSTOP)
    try other.importLines(lines("meanwhile", 5))
    try other.sync()
    // Who writes into the store does not wait for the daemon that stands still.
    try replica.importLines(lines("here", 5))
    kill(daemon.pid, SIGCONT)
    try eventually("both sides' changes are there") {
      try other.sync()
      return try replica.export() == other.export()
        && other.export().split(separator: "\n").count == 10
    }
    try world.server.pause()
    try replica.importLines(lines("later", 5))
    world.server.resume()
    try eventually("what came while the server stood still is sent") {
      try other.sync()
      return try other.export().split(separator: "\n").count == 15
    }
    #expect(try replica.status()["lastError"] as? String == nil)
    #expect(daemon.stop() == 0)
    world.relay.stop()
  }

  @Test("F26 A server that moved to another port, and to IPv6, is found once its address is told")
  func moved() throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    try replica.importLines(lines("first", 2))
    try replica.sync()
    world.server.kill()
    try replica.importLines(lines("second", 2))
    let offline = try replica.attempt("sync")
    #expect(offline.status == 69)
    #expect(offline.errors.contains("Try:"))
    let next = ServerProcess(data: world.server.data, listen: "[::1]:0")
    try next.start()
    #expect(next.address.hasPrefix("http://[::1]:"))
    try replica.run(
      ["enroll", "--store", replica.store.path, "--server", next.address, "--zone", world.zone],
      environment: ["SYNCCTL_TOKEN": world.token])
    #expect(try replica.pendingObjects == 2)
    try replica.sync()
    #expect(try replica.pendingObjects == 0)
    #expect(try replica.status()["head"] as? Int == 2)
  }
}
