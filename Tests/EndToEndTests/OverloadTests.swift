import DriftlessHTTP
import DriftlessSync
import Foundation
import Glibc
import TestSupport
import Testing

/// More clients than a server can please at once, and clients that do not read what they asked for.
@Suite(.serialized) struct OverloadTests {
  @Test(
    "F27 Clients that do not read their pages take a page each of a server's memory, and no more")
  func slowReaders() async throws {
    let world = try FaultWorld()
    let server = world.server
    let writer = try await world.embedded("writer")
    var generator = SeededGenerator(seed: 27)
    for index in 0..<24 {
      let payload = (0..<20_000).map { _ in String(generator.next(), radix: 36) }.joined()
      try writer.count("item\(index)", payload: payload)
      _ = try await writer.engine.push()
    }
    let before = try Self.kibibytes(of: server.pid)
    let port = try #require(server.address.split(separator: ":").last.flatMap { UInt16($0) })
    let request = try await Self.pullRequest(world)
    var connections: [Int32] = []
    defer { for connection in connections { close(connection) } }
    for _ in 0..<40 { connections.append(try Self.connect(port, request)) }
    // Every one of them has its answer begun: a head can be seen, without it being taken.
    for connection in connections {
      var byte: UInt8 = 0
      #expect(recv(connection, &byte, 1, Int32(MSG_PEEK)) == 1)
    }
    let after = try Self.kibibytes(of: server.pid)
    // Each of them holds the page that it asked for, of four megabytes and a change set, and nothing else.
    #expect(after - before < 40 * 6_500, "\(after - before) KiB more")
    // And others are served meanwhile.
    let reader = try await world.embedded("reader")
    _ = try await reader.engine.sync()
    #expect(try reader.export == writer.export)
  }

  @Test("F28 Many replicas that come back at once are all served in the end, each change once")
  func returningAtOnce() async throws {
    let world = try FaultWorld()
    let limits = world.directory.file("limits.json")
    try Data(
      #"{"connectionsMax": 8, "idleSeconds": 1, "queuedPushesMax": 2, "groupPushesMax": 1}"#.utf8
    )
    .write(to: limits)
    world.server.limits = limits
    world.server.kill()
    try world.server.start()
    var replicas: [EmbeddedReplica] = []
    for index in 0..<40 {
      let replica = try await world.embedded("r\(index)") {
        $0.retry.attemptsMax = 100
        $0.retry.delaySecondsMax = 2
      }
      try replica.addItem("item\(index)")
      replicas.append(replica)
    }
    world.server.kill()
    try world.server.start()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for engine in replicas.map(\.engine) { group.addTask { _ = try await engine.push() } }
      try await group.waitForAll()
    }
    _ = try await replicas[0].engine.sync()
    #expect(try replicas[0].export.split(separator: "\n").count == 40)
    for replica in replicas { #expect(try replica.pendingObjects == 0) }
  }

  private static func kibibytes(of pid: Int32) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    return line.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0
  }

  /// The bytes by which a new replica asks for the log: they are caught on their way.
  private static func pullRequest(_ world: FaultWorld) async throws -> Data {
    let relay = try FaultyRelay(to: world.server.address)
    defer { relay.stop() }
    let replica = try await world.embedded("asking", route: relay.address) {
      $0.stallTimeoutSeconds = 1
    }
    relay.set(.blackHole)
    _ = try? await replica.engine.pull()
    guard let request = relay.passed.map(\.request).first(where: { !$0.isEmpty }) else {
      throw HarnessError(description: "nothing was asked")
    }
    return request
  }

  /// A connection that has sent its request, with little room for an answer.
  private static func connect(_ port: UInt16, _ request: Data) throws -> Int32 {
    let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var room: Int32 = 8_192
    setsockopt(connection, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    var patience = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(
      connection, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(UInt32(0x7f00_0001).bigEndian)
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    let sent = request.withUnsafeBytes {
      send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
    guard isConnected, sent == request.count else {
      throw HarnessError(description: "the server takes no connection")
    }
    return connection
  }
}
