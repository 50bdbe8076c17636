import Foundation
import TestSupport
import Testing

/// What the server's commands print as JSON, all of them while it serves: one shape.
@Suite(.serialized) struct OperatorJSONTests {
  private let world: FaultWorld
  private var place: [String] { world.server.place }

  init() throws { world = try FaultWorld() }

  /// Runs a command with `--json`, and checks what it prints.
  @discardableResult
  private func lines(
    _ words: [String], _ location: SourceLocation = #_sourceLocation
  ) throws -> [[String: Any]] {
    let outcome = try Programs.run(
      "driftless-server", words + ["--json"] + (words[0] == "certificate" ? [] : place))
    #expect(outcome.status == 0, "\(words): \(outcome)", sourceLocation: location)
    #expect(outcome.errors.isEmpty, "\(words): \(outcome)", sourceLocation: location)
    var found: [[String: Any]] = []
    for line in outcome.output.split(separator: "\n") {
      let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
      let object = try #require(value as? [String: Any], "\(words): \(line)")
      let sorted = try JSONSerialization.data(
        withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
      #expect(String(decoding: sorted, as: UTF8.self) == line, "\(words)", sourceLocation: location)
      check(object, words, location)
      found.append(object)
    }
    let shapes = Set(found.map { Set($0.keys) })
    #expect(shapes.count <= 1, "\(words): the keys of a line differ", sourceLocation: location)
    return found
  }

  private func check(_ value: Any, _ words: [String], _ location: SourceLocation) {
    switch value {
    case let object as [String: Any]:
      for (key, value) in object {
        // A span of time may be a number. A time is none.
        #expect(
          !key.hasSuffix("Milliseconds") || key == "aheadMilliseconds", "\(words): \(key)",
          sourceLocation: location)
        check(value, words, location)
      }
    case let list as [Any]: for value in list { check(value, words, location) }
    case let text as String:
      if text.wholeMatch(of: /\d{4}-\d\d-\d\d.*/) != nil {
        #expect(
          text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil, "\(words): \(text)",
          sourceLocation: location)
      }
      if UUID(uuidString: text) != nil {
        #expect(text == text.lowercased(), "\(words): \(text)", sourceLocation: location)
      }
    default: break
    }
  }

  @Test("Each command prints a line a thing, with sorted keys, times, identities and null alike")
  func shapes() throws {
    var said: Set<[String]> = []
    @discardableResult
    func run(
      _ words: [String], _ more: String..., location: SourceLocation = #_sourceLocation
    ) throws -> [[String: Any]] {
      said.insert(words)
      return try lines(words + more, location)
    }
    let zone = world.zone
    let replica = try world.replica("a")
    try replica.importLines([FaultWorld.insertion("1"), FaultWorld.insertion("2")])
    try replica.sync()
    let name = try #require(try replica.status()["replica"] as? String).lowercased()

    #expect(try run(["zone", "create"], "shop").first?["snapshotSequence"] is NSNull)
    try run(["zone", "fold"], zone)
    #expect(try run(["zone", "list"]).count == 2)
    try run(["zone", "inspect"], zone)
    try run(["zone", "inspect"], "shop")
    try run(["zone", "limits"], zone, "--set", "replicasMax=9")
    try run(["zone", "format"], zone)
    let renamed = try run(["zone", "rename"], zone, "items2")
    #expect(renamed.first?["snapshotSequence"] as? Int == 1, "a zone keeps what it has: \(renamed)")
    try run(["zone", "rename"], "items2", zone)
    try run(["zone", "purge"], zone, "--dry-run", "--keep-days", "0", "--replica-days", "0")

    let token = try run(["token", "create"], "--zone", zone, "--name", "till", "--expires", "90d")
    let id = try #require(token.first?["id"] as? String)
    #expect(try run(["token", "list"]).count == 2)
    let rotated = try run(["token", "rotate"], id).first?["id"] as? String
    try run(["token", "revoke"], try #require(rotated))
    let code = try run(["code", "create"], zone)
    try run(["code", "create"], zone, "--name", "till")
    #expect(try run(["code", "list"]).count == 2)
    try run(["code", "revoke"], try #require(code.first?["id"] as? String))
    try run(["code", "revoke"], "--all")
    let ada = try run(["operator", "create"], "--name", "ada")
    try run(["operator", "create"], "--name", "bo", "--expires", "9d")
    #expect(try run(["operator", "list"]).count == 2)
    try run(["operator", "revoke"], try #require(ada.first?["id"] as? String))

    try run(["replica", "list"])
    #expect(try run(["log", "show"], zone).count == 1)
    #expect(try run(["replica", "forget"], zone, name).first?["wasForgotten"] as? Bool == false)
    #expect(try run(["replica", "forget"], zone, name).first?["wasForgotten"] as? Bool == true)
    #expect(try run(["clock", "show"]).first?["aheadMilliseconds"] != nil)
    try run(["verify"])
    let backup = world.directory.file("backup.sqlite").path
    try run(["backup"], backup)
    #expect(try run(["audit"]).count > 5)
    try run(["zone", "put-back"], "--all")
    #expect(try run(["values", "take-from"], backup).count == 2)
    try run(["zone", "renew"], "shop", "--yes")
    try run(["zone", "delete"], "shop", "--yes")
    let folder = world.directory.file("tls").path
    let made = try run(["certificate", "create"], "--name", "localhost", "--out", folder)
    #expect(made.first?["replaced"] is NSNull)
    try run(["certificate", "create"], "--client", "till", "--out", folder)
    try run(["certificate", "show"], "--out", folder)

    #expect(world.server.stop() == 0)
    try run(["restore"], backup, "--yes", "--deleted-zones", "restore")
    let checked = try Programs.run("driftless-server", ["serve", "--check", "--json"] + place)
    #expect(checked.status == 0 && checked.errors.isEmpty, "\(checked)")
    // It is refused where there is nothing to do, which is tried with what all refuse.
    said.insert(["clock", "set-back"])
    said.insert(["serve"])
    let all = Set(try CommandTree.leaves(of: "driftless-server").map(\.words))
    #expect(all.subtracting(said) == [], "each command is looked at")
  }

  @Test("serve --check --json tells times as all do")
  func check() throws {
    let folder = world.directory.file("tls").path
    try lines(["certificate", "create", "--name", "localhost", "--out", folder])
    let file = "\(folder)/server.pem"
    let checked = try Programs.run(
      "driftless-server",
      [
        "serve", "--check", "--json", "--data", world.server.data.path, "--tls-certificate", file,
        "--tls-key", file,
      ])
    #expect(checked.status == 0, "\(checked)")
    let value = try JSONSerialization.jsonObject(with: Data(checked.output.utf8))
    check(value, ["serve", "--check"], #_sourceLocation)
    #expect(checked.output.contains("tlsCertificateEnds"), "\(checked)")
  }

  @Test("serve --check tells all that is wrong, whatever else is wrong")
  func allWrong() throws {
    let authorities = world.directory.file("authorities.pem")
    try Data("none".utf8).write(to: authorities)
    let file = world.directory.file("server.json")
    try Data(
      """
      { "data": "nowhere", "listen": "0.0.0.0:1", "logLevel": "loud", "limits": { "readers": 0 },
        "tlsCertificate": "no.pem", "tlsKey": "no.pem", "tlsClientCA": "authorities.pem" }
      """.utf8
    ).write(to: file)
    let checked = try Programs.run(
      "driftless-server", ["serve", "--check", "--config", file.path])
    #expect(checked.status == 65, "\(checked)")
    for words in ["logLevel", "readers", "no.pem", "authorities.pem", "nowhere"] {
      #expect(checked.errors.contains(words), "\(words): \(checked.errors)")
    }
    let daemon = world.directory.file("syncd.json")
    try Data(
      """
      { "logLevel": "loud", "retrySecondsMax": 0, "stokes": 1,
        "stores": [ { "path": "a.sqlite", "tokenFile": "no-token" }, { "pat": "b" } ] }
      """.utf8
    ).write(to: daemon)
    let told = try Programs.run("syncd", ["--check", "--config", daemon.path])
    #expect(told.status == 65, "\(told)")
    for words in ["logLevel", "retrySecondsMax", "stokes", "no-token", "pat"] {
      #expect(told.errors.contains(words), "\(words): \(told.errors)")
    }
  }

  @Test("A request's ID stands once in a line of the log")
  func requestOnce() throws {
    world.server.logFile = world.directory.file("log")
    world.server.kill()
    try world.server.start()
    let replica = try world.replica("a")
    try replica.importLines([FaultWorld.insertion("1")])
    try replica.sync()
    let lines = world.server.log.split(separator: "\n").filter { $0.contains("msg=request") }
    #expect(lines.count >= 2)
    for line in lines {
      let id = try #require(line.firstMatch(of: /request=(\S+)/)).output.1
      #expect(line.ranges(of: id).count == 1, "\(line)")
    }
  }
}
