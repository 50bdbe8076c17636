import DriftlessSync
import Foundation
import TestSupport
import Testing

/// The server's commands for its operator, as scripts use them.
struct OperatorCommandTests {
  private static func run(
    _ arguments: [String], data: URL, faults: [String: String] = [:]
  ) throws -> Outcome {
    try Programs.run(
      "driftless-server", arguments + ["--data", data.path], environment: faults)
  }

  /// The values that a command with `--json` prints, one a line.
  private static func json(_ arguments: [String], data: URL) throws -> [[String: Any]] {
    let outcome = try run(arguments + ["--json"], data: data)
    #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
    return try outcome.output.split(separator: "\n").map { line in
      let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
      return try #require(value as? [String: Any])
    }
  }

  private static func sql(_ statement: String, _ data: URL) throws {
    try SQLiteFile.damage(data.appendingPathComponent("driftless.sqlite"), statement)
  }

  @Test(
    "JSON of all commands has one shape: ISO times, lower-case UUIDs, null for what is not known")
  func shape() throws {
    let directory = try TemporaryDirectory()
    let data = directory.file("data")
    let created = try Self.json(["zone", "create", "shop"], data: data)
    let made = try Self.json(
      ["token", "create", "--zone", "shop", "--name", "till", "--expires", "90d"], data: data)
    let plain = try Self.json(["token", "create", "--zone", "shop"], data: data)
    #expect(plain[0]["expires"] is NSNull)
    let id = try #require(made[0]["id"] as? String)
    var values = created + made + plain
    values += try Self.json(["token", "list"], data: data)
    values += try Self.json(["token", "rotate", id, "--grace", "1d"], data: data)
    values += try Self.json(["zone", "list"], data: data)
    values += try Self.json(["zone", "inspect", "shop"], data: data)
    values += try Self.json(["zone", "rename", "shop", "store"], data: data)
    values += try Self.json(["zone", "renew", "store"], data: data)
    values += try Self.json(["replica", "list"], data: data)
    values += try Self.json(["clock", "show"], data: data)
    values += try Self.json(["verify"], data: data)
    values += try Self.json(["backup", directory.file("b.sqlite").path], data: data)
    values += try Self.json(["restore", directory.file("b.sqlite").path, "--yes"], data: data)
    values += try Self.json(["zone", "delete", "store", "--yes"], data: data)
    let time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/
    for value in values {
      for key in ["created", "expires", "revoked", "lastPush", "lastSeen", "given", "host"] {
        guard let field = value[key] else { continue }
        if let text = field as? String {
          #expect(text.wholeMatch(of: time) != nil, "\(value)")
        } else {
          #expect(field is NSNull, "\(key) of \(value)")
        }
      }
      for key in ["generation", "zoneID", "replica"] {
        guard let text = value[key] as? String else { continue }
        #expect(UUID(uuidString: text) != nil && text == text.lowercased(), "\(value)")
      }
    }
    #expect(values.contains { $0["lastPush"] is NSNull })
    #expect(values.contains { $0["name"] as? String == "till" })
  }

  /// A command as the program itself describes it.
  private struct Described: Decodable {
    var commandName: String
    var discussion: String?
    var subcommands: [Described]?

    /// Commands below this one that do something.
    var leaves: [Described] {
      guard let subcommands, !subcommands.isEmpty else { return [self] }
      return subcommands.filter { $0.commandName != "help" }.flatMap(\.leaves)
    }
  }

  private struct Description: Decodable { var command: Described }

  @Test("Every command has an example in its help, of itself")
  func examples() throws {
    let dumped = try Programs.run("driftless-server", ["--experimental-dump-help"])
    let description = try JSONDecoder().decode(Description.self, from: Data(dumped.output.utf8))
    let leaves = description.command.leaves
    #expect(leaves.count > 15)
    for command in leaves {
      let example = command.discussion?.components(separatedBy: "Example: driftless-server ")
      #expect(example?.last?.contains(command.commandName) == true, "\(command.commandName)")
      #expect(example?.count == 2, "\(command.commandName)")
    }
  }

  @Test("What cannot be taken back asks, and does nothing where nobody is there to answer")
  func asks() throws {
    let directory = try TemporaryDirectory()
    let data = directory.file("data")
    _ = try Self.json(["zone", "create", "shop"], data: data)
    let backup = directory.file("b.sqlite").path
    _ = try Self.json(["backup", backup], data: data)
    for command in [["zone", "delete", "shop"], ["restore", backup]] {
      let outcome = try Self.run(command, data: data)
      #expect(outcome.status == 64, "\(command): \(outcome.errors)")
      #expect(outcome.errors.contains("--yes"), "\(outcome.errors)")
    }
    #expect(try Self.json(["zone", "list"], data: data).count == 1)
  }

  @Test("A damaged entry is a line of verify, which ends with 65, and its backup is refused")
  func damaged() async throws {
    let world = try FaultWorld()
    let replica = try await world.embedded("replica")
    try replica.count("1")
    _ = try await replica.engine.sync()
    let data = world.server.data
    let backup = world.directory.file("good.sqlite").path
    #expect(try Self.run(["backup", backup], data: data).status == 0)
    #expect(try Self.run(["verify"], data: data).output.hasPrefix("whole: 1 zone, "))
    world.server.kill()
    try Self.sql("UPDATE log SET body = zeroblob(length(body))", data)
    let verified = try Self.run(["verify"], data: data)
    #expect(verified.status == 65)
    #expect(verified.output.hasPrefix("log\titems\tentry 1\t"), "\(verified.output)")
    #expect(verified.errors.contains("restore"), "\(verified.errors)")
    let bad = world.directory.file("bad.sqlite")
    #expect(try Self.run(["backup", bad.path], data: data).status == 65)
    #expect(!FileManager.default.fileExists(atPath: bad.path))
    #expect(try Self.run(["restore", backup, "--yes"], data: data).status == 0)
    #expect(try Self.run(["verify"], data: data).status == 0)
  }

  @Test("A server that serves is asked to stop before its time is set back or a backup put back")
  func serving() async throws {
    let world = try FaultWorld()
    let data = world.server.data
    let backup = world.directory.file("b.sqlite").path
    #expect(try Self.run(["backup", backup], data: data).status == 0)
    for command in [["clock", "set-back", "--yes"], ["restore", backup, "--yes"]] {
      let outcome = try Self.run(command, data: data)
      #expect(outcome.status == 75, "\(command): \(outcome.errors)")
      #expect(outcome.errors.contains("process \(world.server.pid)"), "\(outcome.errors)")
    }
    let shown = try Self.json(["clock", "show"], data: data)
    #expect(shown[0]["serverProcess"] as? Int32 == world.server.pid)
    #expect(shown[0]["state"] as? String == "right")
    #expect(world.server.stop() == 0)
    try Self.sql("INSERT OR REPLACE INTO clock VALUES(1, 4102444800000)", data)
    #expect(try Self.json(["clock", "show"], data: data)[0]["state"] as? String == "behind")
    let unasked = try Self.run(["clock", "set-back"], data: data)
    #expect(unasked.status == 64)
    #expect(try Self.run(["clock", "set-back", "--yes"], data: data).status == 0)
    #expect(try Self.json(["clock", "show"], data: data)[0]["state"] as? String == "right")
    #expect(try Self.run(["clock", "set-back", "--yes"], data: data).status == 1)
  }

  @Test("Replicas of a server that was put back from a backup bring back what it lost")
  func putBack() async throws {
    let world = try FaultWorld()
    let first = try await world.embedded("first")
    let second = try await world.embedded("second")
    try first.count("1")
    _ = try await first.engine.sync()
    _ = try await second.engine.sync()
    let backup = world.directory.file("b.sqlite").path
    #expect(try Self.run(["backup", backup], data: world.server.data).status == 0)
    try second.count("2")
    _ = try await second.engine.sync()
    try first.count("pending")
    world.server.kill()
    let restored = try Self.run(["restore", backup, "--yes"], data: world.server.data)
    #expect(restored.status == 0, "\(restored.errors)")
    try world.server.start()
    for _ in 0..<3 {
      for replica in [first, second] { _ = try await replica.engine.sync() }
    }
    #expect(try first.export == second.export)
    #expect(try first.shared == 3)
    #expect(try first.pendingObjects == 0)
  }

  @Test("A disk that is full while a backup is made or put back leaves what was there")
  func fullDisk() throws {
    let directory = try TemporaryDirectory()
    let data = directory.file("data")
    _ = try Self.json(["zone", "create", "shop"], data: data)
    let backup = directory.file("good.sqlite").path
    #expect(try Self.run(["backup", backup], data: data).status == 0)
    _ = try Self.json(["zone", "create", "later"], data: data)
    for command in ["backup", "restore"] {
      var number = 1
      while true {
        let file = command == "restore" ? backup : directory.file("\(number).sqlite").path
        let faults = try FileFault(.full, at: number, below: directory.url).environment()
        let outcome = try Self.run(
          [command, file] + (command == "restore" ? ["--yes"] : []), data: data, faults: faults)
        if outcome.status == 0 { break }
        #expect(outcome.status == 74, "\(command) \(number): \(outcome.errors)")
        #expect(try Self.json(["zone", "list"], data: data).count == 2, "\(command) \(number)")
        #expect(try Self.run(["verify"], data: data).status == 0, "\(command) \(number)")
        number += 1
      }
      #expect(number > 3, "\(command)")
    }
    #expect(try Self.json(["zone", "list"], data: data).count == 1)
  }
}
