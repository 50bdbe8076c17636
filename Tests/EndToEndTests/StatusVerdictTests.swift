import Foundation
import TestSupport
import Testing

/// What the first line of `status`, its word in JSON and its exit code say is true, whatever has befallen the store.
@Suite(.serialized) struct StatusVerdictTests {
  private func id(_ number: Int) -> String { "00000000-0000-4000-8000-00000000000\(number)" }

  /// The first line, after checking that word and exit code agree.
  @discardableResult
  private func verdict(
    of replica: Replica, _ word: String, _ exit: Int32,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> String {
    let text = try replica.attempt("status", ["--check"])
    #expect(text.status == exit, "\(text.output)\(text.errors)", sourceLocation: sourceLocation)
    let plain = try replica.attempt("status")
    #expect(plain.status == 0, "without --check it ends with 0", sourceLocation: sourceLocation)
    #expect(
      try replica.status()["state"] as? String == word, "\(text.output)",
      sourceLocation: sourceLocation)
    let first = text.output.split(separator: "\n").first.map(String.init) ?? ""
    #expect(first.hasPrefix("state: "), "\(text.output)", sourceLocation: sourceLocation)
    return first
  }

  @Test("Never enrolled, never synced, in step, not sent, offline since, and in step again")
  func life() throws {
    let world = try FaultWorld()
    let loose = try Replica(bare: "loose", in: world.directory, model: world.model)
    #expect(try verdict(of: loose, "not-enrolled", 15).contains("not enrolled"))
    let first = try world.replica("first")
    #expect(try verdict(of: first, "behind", 11).contains("nothing was pulled so far"))
    try first.sync()
    #expect(try verdict(of: first, "in-step", 0).contains("in step with the zone, as of"))
    try first.importLines([FaultWorld.insertion(id(1)), FaultWorld.insertion(id(2))])
    #expect(try verdict(of: first, "pending", 10).contains("2 objects wait to be sent"))
    // One who joins a zone that has something is behind before it asks.
    try first.sync()
    let late = try world.replica("late")
    #expect(try verdict(of: late, "behind", 11).contains("1 change set behind the zone"))

    try first.importLines([FaultWorld.insertion(id(3))])
    world.server.kill()
    // What nobody has tried has not failed.
    #expect(try verdict(of: first, "pending", 10).contains("1 object waits to be sent"))
    #expect(try first.attempt("sync").status == 69)
    let offline = try verdict(of: first, "offline", 12)
    #expect(offline.contains("offline since 20"), "\(offline)")
    #expect(offline.contains("cannot be reached"), "\(offline)")
    #expect(offline.contains("1 object waits to be sent"), "\(offline)")
    let since = try failure(of: first)["since"] as? String
    #expect(since != nil)
    #expect(try first.attempt("sync").status == 69)
    #expect(try failure(of: first)["since"] as? String == since, "the first failure counts")
    #expect(try failure(of: first)["kind"] as? String == "offline")
    #expect(try first.status()["syncing"] as? Bool == false)

    try world.server.start()
    try first.sync()
    try verdict(of: first, "in-step", 0)
    #expect(try first.status()["failure"] is NSNull)
    world.server.kill()
    #expect(try first.attempt("sync").status == 69)
    #expect(try failure(of: first)["since"] as? String != since, "a success ends a row of failures")
  }

  private func failure(of replica: Replica) throws -> [String: Any] {
    try #require(try replica.status()["failure"] as? [String: Any])
  }

  @Test("The help tells each exit code of --check with its word")
  func help() throws {
    let help = try Programs.run("syncctl", ["help", "status"]).output
    for line in [
      "0  in-step: ", "10  pending: ", "11  behind: ", "12  offline: ", "13  waiting: ",
      "14  refused: ", "15  not-enrolled: ",
    ] {
      #expect(help.contains("\n\(line)"), "\(help)")
    }
  }

  @Test("A mass delete waits for a person, and so does a store whose token was revoked")
  func asked() throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    try replica.importLines((0..<60).map { FaultWorld.insertion("part \($0)") })
    try replica.sync()
    try replica.importLines(
      (0..<60).map { #"{"op":"delete","entity":"Item","id":"part \#($0)"}"# })
    #expect(try replica.attempt("sync").status == 1)
    let asking = try verdict(of: replica, "waiting", 13)
    #expect(asking.contains("waiting for a person since"), "\(asking)")
    #expect(asking.contains("60 of 60 objects were deleted"), "\(asking)")
    let token = try #require(world.token.split(separator: "_").dropFirst().first)
    let revoked = try Programs.run(
      "driftless-server", ["token", "revoke", String(token), "--data", world.server.data.path])
    #expect(revoked.status == 0, "\(revoked.errors)")
    #expect(try replica.attempt("sync").status == 77)
    let revocation = try verdict(of: replica, "waiting", 13)
    #expect(revocation.contains("the token is missing, wrong, revoked"), "\(revocation)")
    #expect(revocation.contains("60 objects wait to be sent"), "\(revocation)")
  }

  @Test("What the server refuses for good, and what could not be taken in, wait for a person")
  func setAside() throws {
    let world = try FaultWorld()
    let limits = world.directory.file("limits.json")
    try Data(#"{"bodyBytesMax": 20000}"#.utf8).write(to: limits)
    world.server.kill()
    world.server.limits = limits
    try world.server.start()
    let replica = try world.replica("a")
    var random = SeededGenerator(seed: 7)
    let payload = String(
      (0..<60_000).map { _ in
        "abcdefghijklmnopqrstuvwxyz0123456789".randomElement(using: &random) ?? "a"
      })
    try replica.importLines([
      #"{"op":"insert","entity":"Item","id":"\#(id(1))","set":{"payload":"\#(payload)"}}"#,
      FaultWorld.insertion(id(2)),
    ])
    _ = try replica.attempt("sync")
    let refused = try verdict(of: replica, "waiting", 13)
    #expect(refused.contains("1 object that the server refuses"), "\(refused)")
    // It is not counted twice, as what would go out by itself.
    #expect(refused.contains("otherwise in step with the zone"), "\(refused)")

    let ahead = try world.replicaAhead()
    let behind = try world.replica("behind")
    try ahead.importLines([
      #"{"op":"insert","entity":"Extra","id":"\#(id(3))","set":{"name":"extra"}}"#
    ])
    try ahead.sync()
    try behind.sync()
    let parked = try verdict(of: behind, "waiting", 13)
    #expect(parked.contains("1 entry of the zone could not be taken in"), "\(parked)")
    #expect(parked.contains("otherwise in step with the zone, as of"), "\(parked)")
  }

  @Test(
    "A zone that began anew is told when it was heard of, and the store is in step after coming back"
  )
  func renewed() throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    try replica.importLines([FaultWorld.insertion(id(1))])
    try replica.sync()
    try world.renew(["--replace"])
    // Nothing here knows of it, and the line says as of when.
    #expect(try verdict(of: replica, "in-step", 0).contains("as of"))
    let again = try Programs.run(
      "syncctl",
      [
        "enroll", "--store", replica.store.path, "--server", world.server.address, "--zone",
        world.zone,
      ], environment: ["SYNCCTL_TOKEN": world.token])
    #expect(again.status == 0, "\(again.errors)")
    #expect(try verdict(of: replica, "behind", 11).contains("the zone was replaced on purpose"))
    try replica.sync()
    try verdict(of: replica, "in-step", 0)
    #expect(try replica.attempt("status").output.contains("came back:"))
  }
}
