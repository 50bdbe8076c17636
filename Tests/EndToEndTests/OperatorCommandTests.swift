import DriftlessSync
import Foundation
import TestSupport
import Testing

/// The server's commands for its operator, as scripts use them.
struct OperatorCommandTests {
  @Test(
    "JSON of all commands has one shape: ISO times, lower-case UUIDs, null for what is not known")
  func shape() throws {
    let folder = try OperatorFolder()
    let created = try folder.json(["zone", "create", "shop"])
    let made = try folder.json(
      ["token", "create", "--zone", "shop", "--name", "till", "--expires", "90d"])
    let plain = try folder.json(["token", "create", "--zone", "shop"])
    #expect(plain[0]["expires"] is NSNull)
    let id = try #require(made[0]["id"] as? String)
    var values = created + made + plain
    values += try folder.json(["token", "list"])
    // It lives as long as the old one was made to, unless another end is said.
    let rotated = try folder.json(["token", "rotate", id, "--grace", "1d"])
    let end = try Date(
      try #require(rotated[0]["expires"] as? String),
      strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    #expect(abs(end.timeIntervalSinceNow - 90 * 86_400) < 3600)
    let other = try #require(rotated[0]["id"] as? String)
    let endless = try folder.json(
      ["token", "rotate", other, "--grace", "5s", "--expires", "never"])
    #expect(endless[0]["expires"] is NSNull)
    values += rotated + endless
    values += try folder.json(["zone", "list"])
    values += try folder.json(["zone", "inspect", "shop"])
    let limits = try folder.json(["zone", "limits", "shop", "--set", "logBytesMax=1000"])
    #expect(limits[0]["logBytesMax"] as? Int == 1000 && limits[0]["replicasMax"] is NSNull)
    let inspected = try folder.json(["zone", "inspect", "shop"])
    #expect((inspected[0]["limits"] as? [String: Any])?["logBytesMax"] as? Int == 1000)
    values += try folder.json(["zone", "limits", "shop", "--unset", "logBytesMax"])
    values += try folder.json(["zone", "rename", "shop", "store"])
    values += try folder.json(["zone", "renew", "store", "--yes"])
    values += try folder.json(["replica", "list"])
    values += try folder.json(["clock", "show"])
    values += try folder.json(["verify"])
    values += try folder.json(["backup", folder.path("b.sqlite")])
    values += try folder.json(["restore", folder.path("b.sqlite"), "--yes"])
    values += try folder.json(["zone", "delete", "store", "--yes"])
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

  @Test(
    "Every command has an example in its help, of itself",
    arguments: ["driftless-server", "syncctl"])
  func examples(program: String) throws {
    let dumped = try Programs.run(program, ["--experimental-dump-help"])
    let description = try JSONDecoder().decode(Description.self, from: Data(dumped.output.utf8))
    let leaves = description.command.leaves
    #expect(leaves.count > 15)
    for command in leaves {
      let example = command.discussion?.components(separatedBy: "Example: \(program) ")
      #expect(example?.last?.contains(command.commandName) == true, "\(command.commandName)")
      #expect(example?.count == 2, "\(command.commandName)")
    }
  }

  @Test("What cannot be taken back asks, and does nothing where nobody is there to answer")
  func asks() throws {
    let folder = try OperatorFolder(zones: ["shop"])
    let backup = folder.path("b.sqlite")
    _ = try folder.json(["backup", backup])
    let generation = try folder.json(["zone", "list"])[0]["generation"] as? String
    for command in [
      ["zone", "delete", "shop"], ["restore", backup], ["zone", "renew", "shop"],
      ["zone", "renew", "shop", "--replace"],
    ] {
      let outcome = try folder.run(command)
      #expect(outcome.status == 64, "\(command): \(outcome.errors)")
      #expect(outcome.errors.contains("--yes"), "\(outcome.errors)")
    }
    let zones = try folder.json(["zone", "list"])
    #expect(zones.count == 1)
    #expect(zones[0]["generation"] as? String == generation)
  }

  @Test("A damaged entry is a line of verify, which ends with 65, and its backup is refused")
  func damaged() async throws {
    let world = try FaultWorld()
    let replica = try await world.embedded("replica")
    try replica.count("1")
    _ = try await replica.engine.sync()
    let folder = OperatorFolder(world)
    let backup = folder.path("good.sqlite")
    #expect(try folder.run(["backup", backup]).status == 0)
    #expect(try folder.run(["verify"]).output.hasPrefix("whole: 1 zone, "))
    world.server.kill()
    try folder.damage("UPDATE log SET body = zeroblob(length(body))")
    let verified = try folder.run(["verify"])
    #expect(verified.status == 65)
    #expect(verified.output.hasPrefix("log\titems\tentry 1\t"), "\(verified.output)")
    #expect(verified.errors.contains("restore"), "\(verified.errors)")
    let bad = folder.directory.file("bad.sqlite")
    #expect(try folder.run(["backup", bad.path]).status == 65)
    #expect(!FileManager.default.fileExists(atPath: bad.path))
    #expect(try folder.run(["restore", backup, "--yes"]).status == 0)
    #expect(try folder.run(["verify"]).status == 0)
  }

  @Test("A server that serves is asked to stop before its time is set back or a backup put back")
  func serving() async throws {
    let world = try FaultWorld()
    let folder = OperatorFolder(world)
    let backup = folder.path("b.sqlite")
    #expect(try folder.run(["backup", backup]).status == 0)
    for command in [["clock", "set-back", "--yes"], ["restore", backup, "--yes"]] {
      let outcome = try folder.run(command)
      #expect(outcome.status == 75, "\(command): \(outcome.errors)")
      #expect(outcome.errors.contains("process \(world.server.pid)"), "\(outcome.errors)")
    }
    let shown = try folder.json(["clock", "show"])
    #expect(shown[0]["serverProcess"] as? Int32 == world.server.pid)
    #expect(shown[0]["state"] as? String == "right")
    #expect(world.server.stop() == 0)
    try folder.damage("INSERT OR REPLACE INTO clock VALUES(1, 4102444800000)")
    #expect(try folder.json(["clock", "show"])[0]["state"] as? String == "behind")
    let unasked = try folder.run(["clock", "set-back"])
    #expect(unasked.status == 64)
    #expect(try folder.run(["clock", "set-back", "--yes"]).status == 0)
    #expect(try folder.json(["clock", "show"])[0]["state"] as? String == "right")
    #expect(try folder.run(["clock", "set-back", "--yes"]).status == 1)
  }

  @Test("Replicas of a server that was put back from a backup bring back what it lost")
  func putBack() async throws {
    let world = try FaultWorld()
    let first = try await world.embedded("first")
    let second = try await world.embedded("second")
    try first.count("1")
    _ = try await first.engine.sync()
    _ = try await second.engine.sync()
    let folder = OperatorFolder(world)
    let backup = folder.path("b.sqlite")
    #expect(try folder.run(["backup", backup]).status == 0)
    try second.count("2")
    _ = try await second.engine.sync()
    try first.count("pending")
    world.server.kill()
    let restored = try folder.run(["restore", backup, "--yes"])
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
    let folder = try OperatorFolder(zones: ["shop"])
    let backup = folder.path("good.sqlite")
    try folder.done(["backup", backup])
    try folder.done(["zone", "create", "later"])
    for command in ["backup", "restore"] {
      try FileFault.atEachChange(every: 3) { number, _ in
        let file = command == "restore" ? backup : folder.path("\(number).sqlite")
        let faults = try FileFault(.full, at: number, below: folder.directory.url).environment()
        let outcome = try folder.run(
          [command, file] + (command == "restore" ? ["--yes"] : []), faults: faults)
        if outcome.status == 0 { return true }
        #expect(outcome.status == 74, "\(command) \(number): \(outcome.errors)")
        #expect(try folder.json(["zone", "list"]).count == 2, "\(command) \(number)")
        #expect(try folder.run(["verify"]).status == 0, "\(command) \(number)")
        return false
      }
    }
    #expect(try folder.json(["zone", "list"]).count == 2)
  }

  @Test("The folder may come from the environment; an empty name is none")
  func folderOfTheEnvironment() throws {
    let folder = try OperatorFolder(zones: ["shop"])
    let environment = ["DRIFTLESS_SERVER_DATA": folder.data.path]
    let listed = try Programs.run("driftless-server", ["zone", "list"], environment: environment)
    #expect(listed.status == 0 && listed.output.hasPrefix("shop\t"), "\(listed)")
    let other = try Programs.run(
      "driftless-server", ["zone", "list", "--data", folder.path("other")],
      environment: environment)
    #expect(other.status == 65, "what is said goes before it: \(other)")
    for command in [["zone", "create", "x"], ["serve", "--check"], ["token", "list"]] {
      let empty = try Programs.run(
        "driftless-server", command + ["--data", ""], environment: environment)
      #expect(empty.status == 64, "\(empty)")
      #expect(empty.errors.contains("names no folder"), "\(empty)")
    }
  }

  @Test("A token that leaked is revoked by itself, and not said again")
  func wholeToken() throws {
    let folder = try OperatorFolder(zones: ["shop"])
    let token = try folder.done(["token", "create", "--zone", "shop"]).output
      .trimmingCharacters(in: .whitespacesAndNewlines)
    let revoked = try folder.done(["token", "revoke", token])
    #expect(!revoked.output.contains(token.suffix(64)))
    #expect(try folder.json(["token", "list"])[0]["state"] as? String == "revoked")
    try folder.done(["zone", "delete", "shop", "--yes"])
    let unknown = try folder.run(["token", "revoke", token])
    #expect(unknown.status == 1)
    #expect(!unknown.errors.contains(token.suffix(64)), "\(unknown.errors)")
  }

  @Test(
    "A command that there is not is named, with the one that was probably meant",
    arguments: [
      ("driftless-server", ["zone", "lst", "--data", "d"], "driftless-server zone list --help"),
      ("driftless-server", ["tokn", "list"], "driftless-server token --help"),
      ("driftless-server", ["help", "zone", "lst"], "driftless-server zone list --help"),
      ("syncctl", ["imprt", "--store", "x"], "syncctl import --help"),
      ("syncctl", ["help", "statsu"], "syncctl status --help"),
      ("syncctl", ["model", "lnt", "x", "--json"], "syncctl model lint --help"),
    ])
  func unknownCommand(program: String, arguments: [String], suggestion: String) throws {
    let outcome = try Programs.run(program, arguments)
    #expect(outcome.status == 64)
    #expect(outcome.errors.contains("did you mean"), "\(outcome.errors)")
    #expect(outcome.errors.contains(suggestion), "\(outcome.errors)")
    #expect(outcome.output.isEmpty)
  }
}
