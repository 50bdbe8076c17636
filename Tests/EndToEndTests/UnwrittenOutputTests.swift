import Foundation
import TestSupport
import Testing

/// Output that does not reach its place, and errors as scripts read them.
@Suite(.serialized) struct UnwrittenOutputTests {
  private static let toFullDisk = #"exec "$0" "$@" > /dev/full"#

  @Test("Output that cannot be written fails a command, which says so")
  func full() throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    try replica.importLines([FaultWorld.insertion("1")])
    let configuration = world.directory.file("syncd.json")
    try Data(#"{"stores": [{"path": "a/a.sqlite"}]}"#.utf8).write(to: configuration)
    let store = ["--store", replica.store.path]
    let data = ["--data", world.server.data.path]
    let commands =
      ["status", "digest", "export", "log", "conflicts", "parked", "doctor", "sync"].flatMap {
        [["syncctl", $0] + store, ["syncctl", $0, "--json"] + store]
      }
      + [
        ["syncctl", "store", "info", replica.store.path],
        ["syncctl", "store", "export", replica.store.path],
        ["syncctl", "watch", "--for", "1"] + store,
        ["syncctl", "--help"], ["syncctl", "--version"],
        ["syncd", "--check", "--config", configuration.path], ["syncd", "--help"],
        ["driftless-server", "zone", "list"] + data,
        ["driftless-server", "token", "list", "--json"] + data,
        ["driftless-server", "--help"], ["driftless-server", "serve", "--help"],
      ]
    for command in commands {
      let outcome = try Programs.run(
        command[0], Array(command.dropFirst()), script: Self.toFullDisk)
      #expect(outcome.status == 74, "\(command): \(outcome)")
      #expect(
        outcome.errors.contains("The output cannot be written: No space left on device"),
        "\(command): \(outcome)")
    }
  }

  @Test("A token, or a code, that could not be printed is none")
  func token() throws {
    let world = try FaultWorld()
    func tokens() throws -> String {
      try Programs.run("driftless-server", ["token", "list", "--data", world.server.data.path])
        .output
    }
    let before = try tokens()
    #expect(before.split(separator: "\n").count == 1)
    for json in [[], ["--json"]] {
      let outcome = try Programs.run(
        "driftless-server",
        ["token", "create", "--zone", world.zone, "--data", world.server.data.path] + json,
        script: Self.toFullDisk)
      #expect(outcome.status == 74, "\(outcome)")
      #expect(outcome.errors.contains("was not made"), "\(outcome)")
      #expect(try tokens() == before)
    }
    let code = try Programs.run(
      "driftless-server", ["code", "create", world.zone, "--data", world.server.data.path],
      script: Self.toFullDisk)
    #expect(code.status == 74 && code.errors.contains("was not made"), "\(code)")
    let codes = try Programs.run(
      "driftless-server", ["code", "list", "--data", world.server.data.path])
    #expect(codes.status == 0 && codes.output == "", "\(codes)")
    _ = try world.server.token(zone: world.zone)
    #expect(try tokens().split(separator: "\n").count == 2)
  }

  @Test("With --json every error is JSON, also that of a wrong command line")
  func json() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.file("data").path
    for (command, status) in [
      (["syncctl", "log", "--json"], 64),
      (["syncctl", "no-such-command", "--json"], 64),
      (["syncctl", "conflicts", "--limit", "0", "--store", "x", "--json"], 64),
      (["driftless-server", "token", "create", "--json"], 64),
      (["driftless-server", "zone", "list", "--data", folder, "--json"], 65),
    ] {
      let outcome = try Programs.run(command[0], Array(command.dropFirst()))
      #expect(Int(outcome.status) == status, "\(command): \(outcome)")
      let object = try JSONSerialization.jsonObject(with: Data(outcome.errors.utf8))
      let error = try #require((object as? [String: Any])?["error"] as? [String: Any])
      #expect(error["status"] as? Int == status)
      for name in ["code", "message", "suggestion"] {
        #expect((error[name] as? String)?.isEmpty == false, "\(command): \(outcome.errors)")
      }
    }
  }

  @Test("A store that cannot be made leaves nothing behind", arguments: [false, true])
  func initLeavesNothing(isNameLong: Bool) throws {
    let directory = try TemporaryDirectory()
    let model = try writeModel(EmbeddedReplica.model.xml, named: "Items", in: directory)
    let folder = directory.file("stores")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    if isNameLong {
      let store = folder.appendingPathComponent(String(repeating: "a", count: 245))
      let outcome = try Programs.run(
        "syncctl", ["init", "--store", store.path, "--model", model.path])
      #expect(outcome.status == 65, "\(outcome)")
      #expect(outcome.errors.contains("at most 231"), "\(outcome)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
      return
    }
    let store = folder.appendingPathComponent("a.sqlite")
    let rounds = try FileFault.atEachChange { number, _ in
      let outcome = try Programs.run(
        "syncctl", ["init", "--store", store.path, "--model", model.path],
        environment: try FileFault(.full, at: number, below: folder).environment())
      if outcome.status == 0 { return true }
      #expect(outcome.errors.contains("no space left"), "change \(number): \(outcome)")
      let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      #expect(left == [], "change \(number): \(outcome)")
      return false
    }
    #expect(rounds > 2)
  }
}
