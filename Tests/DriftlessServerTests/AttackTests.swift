import DriftlessProtocol
import DriftlessServer
import Foundation
import Synchronization
import TestSupport
import Testing

/// What one client can do to a server, at the sizes at which it once stopped all others. During each an honest push to another zone
/// is taken, `/healthz` answers, and the process stays below a bound of memory. What is counted is who is answered before whom:
/// times are those of a build that is not optimised, on whatever else the host is at.
@Suite("Attacks", .serialized) struct AttackTests {
  @Test(
    "V1 Thousands of made-up properties of a few objects hold nobody up",
    .enabled(if: ServedProgram.isHere))
  func madeUpProperties() async throws {
    let server = try await ServedProgram(zones: ["attacked", "honest"])
    var attacker = FrameMaker(try server.zone("attacked"))
    let made = try await server.push(attacker.insert(10), to: "attacked")
    #expect(made.status == 200)
    for (count, status) in [(2_000, 200), (4_000, 200), (8_000, 413)] {
      let names = (0..<count).map { "p\($0)" }
      attacker.cursor = try server.zone("attacked").end
      let frame = try attacker.update(Array(1...10), properties: names, of: "Box")
      let attack = server.later { try await server.push(frame, to: "attacked") }
      try await server.expectHonest("\(count) properties")
      #expect(try await attack.value.status == status, "\(count)")
    }
    #expect(try server.residentMegabytes < 500)
    try server.stop()
  }

  @Test(
    "V1 Small pushes that inflate to 29 MB each do not keep the threads that answer",
    .enabled(if: ServedProgram.isHere))
  func inflatingIndexes() async throws {
    let server = try await ServedProgram(zones: ["attacked", "honest"])
    var attacker = FrameMaker(try server.zone("attacked"))
    #expect(try await server.push(attacker.insert(10), to: "attacked").status == 200)
    attacker.cursor = try server.zone("attacked").end
    let tail = String(repeating: "x", count: 980)
    let names = (0..<30_000).map { "\(UInt32(truncatingIfNeeded: $0 &* 2_654_435_761))" + tail }
    // Each is read before anybody can know that it is one push twelve times.
    let frame = try attacker.update([1], properties: names, of: "Box")
    let before = try server.residentMegabytes
    let answered = Counter()
    let attacks = (0..<12).map { _ in
      server.later {
        let response = try await server.push(frame, to: "attacked")
        if response.status == 413 { answered.add() }
        return response
      }
    }
    try await server.expectHonest("inflating indexes")
    #expect(answered.count < 6, "all were answered before the honest push")
    var peak = 0
    for attack in attacks {
      let response = try await attack.value
      #expect(response.status == 413 || response.status == 503, "\(response.status)")
      peak = max(peak, try server.residentMegabytes)
    }
    #expect(peak - before < 1_200, "\(before) to \(peak) MB")
    try server.stop()
  }

  @Test(
    "V2 More silent connections than there may be keep nobody out",
    .enabled(if: ServedProgram.isHere))
  func silentConnections() async throws {
    let server = try await ServedProgram(zones: ["honest"])
    let port = server.port
    let before = try server.residentMegabytes
    let silent = try await blocking { try (0..<1_050).map { _ in try RawConnection(port: port) } }
    try await server.expectHonest("silent connections")
    #expect(try server.residentMegabytes - before < 300)
    withExtendedLifetime(silent) {}
    try server.stop()
  }
}

/// Counted from several tasks.
private final class Counter: Sendable {
  private let value = Mutex(0)

  var count: Int { value.withLock { $0 } }

  func add() { value.withLock { $0 += 1 } }
}

extension FrameMaker {
  /// A push that sets each of some properties of some objects to 1.
  mutating func update(
    _ numbers: [UInt64], properties: [String], of entity: String
  ) throws -> Data {
    number += 1
    var index = ChangeSetIndex()
    index.knownNumbers = numbers
    index.entities = [.init(name: entity, properties: properties)]
    index.transactions = [.init(hybridTime: milliseconds << 16)]
    index.groups = [
      .init(
        kind: .update, entity: 0, properties: Array(properties.indices),
        objects: ObjectIndexes(0..<numbers.count),
        transactionRuns: [.init(transaction: 0, count: numbers.count)])
    ]
    let column = Column(.integers([Int64](repeating: 1, count: numbers.count)))
    return try ChangeSetEncoder().encode(
      ChangeSet(
        header: ChangeSetHeader(replica: replica, pushNumber: number, cursor: cursor),
        index: index, columns: properties.map { _ in column }))
  }
}

extension ZoneRecord {
  fileprivate var end: Cursor { Cursor(generation: generation, sequence: head, chain: chain) }
}

/// The program in a process of its own, so that its memory can be told.
private final class ServedProgram: Sendable {
  static let url: URL? = ProgramFile.built("driftless-server")
  static var isHere: Bool { url != nil }

  private let directory: TemporaryDirectory
  private let data: URL
  private let process: Process
  let tokens: [String: String]
  let port: UInt16

  init(zones: [String]) async throws {
    directory = try TemporaryDirectory()
    data = directory.file("data")
    let administration = try Administration(folder: DataFolder(data))
    var tokens: [String: String] = [:]
    for zone in zones {
      _ = try administration.createZone(zone)
      tokens[zone] = try administration.createToken(zone: zone, verbs: [.read, .write]).text
    }
    administration.close()
    self.tokens = tokens
    let process = Process()
    process.executableURL = Self.url
    process.arguments = ["serve", "--listen", "127.0.0.1:0", "--data", data.path]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    self.process = process
    port = try await blocking {
      var text = ""
      while !text.contains("\n"), case let piece = output.fileHandleForReading.availableData,
        !piece.isEmpty
      { text += String(decoding: piece, as: UTF8.self) }
      let digits = text.split(separator: ":").last?.filter(\.isNumber) ?? ""
      return try #require(UInt16(String(digits)))
    }
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  func stop() throws {
    process.terminate()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  func zone(_ name: String) throws -> ZoneRecord {
    let administration = try Administration(folder: DataFolder(data))
    defer { administration.close() }
    return try #require(try administration.zones().first { $0.name == name })
  }

  var residentMegabytes: Int {
    get throws {
      let status = try String(
        contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
      let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
      return (line.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0) / 1024
    }
  }

  func push(_ frame: Data, to zone: String) async throws -> RawConnection.Response {
    let head = LiveServer.head(
      "POST", "/v1/zones/\(zone)/changes", token: tokens[zone],
      headers: ["Content-Type: \(WirePath.changeSetType)"], length: frame.count)
    let port = port
    return try await blocking {
      let connection = try RawConnection(port: port, patience: 300)
      connection.send(head + frame)
      return try connection.response()
    }
  }

  func later(
    _ body: @escaping @Sendable () async throws -> RawConnection.Response
  ) -> Task<RawConnection.Response, any Error> { Task { try await body() } }

  /// A push to the zone `honest`, and health.
  func expectHonest(_ what: String) async throws {
    var maker = FrameMaker(try zone("honest"))
    let pushed = try await push(maker.insert(1), to: "honest")
    #expect(pushed.status == 200, "an honest push during \(what)")
    let port = port
    let health = try await blocking {
      let connection = try RawConnection(port: port)
      connection.send(LiveServer.head("GET", "/healthz"))
      return try connection.response().status
    }
    #expect(health == 200, "health during \(what)")
  }
}
