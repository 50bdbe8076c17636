import Foundation
import TestSupport
import Testing

/// Two stores of a zone, compared; a store that leaves its zone; a zone that gets another name.
@Suite(.serialized) struct ZoneMembershipTests {
  private let world: FaultWorld
  private let first: Replica
  private let second: Replica

  init() throws {
    world = try FaultWorld()
    first = try world.replica("first")
    second = try world.replica("second")
  }

  private func name(_ id: String, _ name: String, _ operation: String = "update") -> String {
    #"{"op":"\#(operation)","entity":"Item","id":"\#(id)","set":{"name":"\#(name)"}}"#
  }

  @Test("diff names what two stores hold differently, and ends with 0 where they hold the same")
  func differences() throws {
    try first.importLines([name("1", "one", "insert"), name("2", "two", "insert")])
    try [first, second].settle()
    func diff(_ arguments: [String] = []) throws -> Outcome {
      try Programs.run("syncctl", ["diff", first.store.path, second.store.path] + arguments)
    }
    let same = try diff()
    #expect(same.status == 0 && same.output.isEmpty, "\(same)")
    try first.importLines([name("1", "changed"), name("3", "three", "insert")])
    try second.importLines([#"{"op":"delete","entity":"Item","id":"2"}"#])
    let other = try diff()
    #expect(other.status == 20)
    let lines = other.output.split(separator: "\n")
    #expect(lines.count == 3, "\(other.output)")
    #expect(lines.contains { $0.hasSuffix(#".name: "changed" | "one""#) })
    #expect(lines.count { $0.hasSuffix(" is in \(first.store.path) alone") } == 2)
    let told = try diff(["--json"]).output.split(separator: "\n").map {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
    }
    let changed = try #require(told.first { $0?["only"] is NSNull } ?? nil)
    let values = changed["properties"] as? [String: [String: String]]
    #expect(values?["name"] == ["first": "changed", "second": "one"])
    #expect(try diff(["--entity", "Item"]).status == 20)
    #expect(try diff(["--entity", "Boks"]).status == 65)
    #expect(
      try Programs.run("syncctl", ["diff", first.store.path, "/nowhere.sqlite"]).status == 65)
  }

  @Test("unenroll takes a store out of its zone with its token, and enroll brings it back")
  func leavesZone() throws {
    try first.importLines([name("1", "one", "insert")])
    try [first, second].settle()
    try first.importLines([name("1", "unsent")])
    let refused = try first.attempt("unenroll")
    #expect(refused.status == 1)
    #expect(refused.errors.contains("syncctl sync"))
    let left = try first.attempt("unenroll", ["--leave-unsent", "--json"])
    #expect(left.status == 0)
    #expect(left.output.contains(#""zone":"items""#))
    #expect(try first.status()["state"] as? String == "not-enrolled")
    let token = first.store.path + "-driftless-token"
    #expect(!FileManager.default.fileExists(atPath: token))
    #expect(try first.attempt("unenroll").status == 1, "there is no zone to leave")
    let back = try Programs.run(
      "syncctl",
      ["enroll", "--store", first.store.path, "--server", world.server.address, "--zone", "items"],
      environment: ["SYNCCTL_TOKEN": try world.server.token(zone: "items")])
    #expect(back.status == 0, "\(back.errors)")
    try [first, second].settle()
    #expect(try second.export().contains("unsent"))
    #expect(try first.digest() == second.digest())
  }

  @Test(
    "What unenroll says to try leads out: where a sync would fail as the last one did, that is not it"
  )
  func leavingWithoutServer() throws {
    try first.importLines([name("1", "one", "insert")])
    try first.sync()
    try first.importLines([name("1", "unsent")])
    let leave = "syncctl unenroll --store \(first.store.path) --leave-unsent"
    func refused() throws -> String {
      let outcome = try first.attempt("unenroll")
      #expect(outcome.status == 1 && outcome.errors.contains(leave), "\(outcome)")
      return outcome.errors
    }
    #expect(try refused().contains("Try: syncctl sync --store "))
    // A token that the server does not take.
    let token = URL(fileURLWithPath: first.store.path + "-driftless-token")
    let right = try Data(contentsOf: token)
    try Data(Array(right.dropLast(4)) + Array("AAAA".utf8)).write(to: token)
    #expect(try first.attempt("sync").status == 77)
    let wrong = try refused()
    #expect(wrong.contains("the last sync failed: ") && wrong.contains("token"), "\(wrong)")
    #expect(!wrong.contains("Try: syncctl sync"), "\(wrong)")
    try right.write(to: token)
    // No server.
    world.server.kill()
    #expect(try first.attempt("sync").status == 69)
    let alone = try refused()
    #expect(alone.contains("cannot be reached") && !alone.contains("Try: syncctl sync"), "\(alone)")
    #expect(try first.attempt("unenroll", ["--leave-unsent"]).status == 0)
    #expect(try first.export().contains("unsent"))
  }

  @Test(
    "A zone that was renamed goes on with its replicas, under the name that they know and under its new one"
  )
  func renamedZone() throws {
    try first.importLines([name("1", "one", "insert")])
    try [first, second].settle()
    let replica = try first.status()["replica"] as? String
    try first.importLines([name("1", "unsent")])
    let rename = try Programs.run(
      "driftless-server",
      ["zone", "rename", "items", "goods", "--data", world.server.data.path])
    #expect(rename.status == 0, "\(rename.errors)")
    let create = try Programs.run(
      "driftless-server", ["zone", "create", "items", "--data", world.server.data.path])
    #expect(create.status == 0, "another zone may have the former name: \(create.errors)")
    try [first, second].settle()
    #expect(try second.export().contains("unsent"), "it is found by itself")
    #expect(try first.status()["lastError"] is NSNull)
    try first.importLines([name("1", "later")])
    let token = try world.server.token(zone: "goods")
    for replica in [first, second] {
      try replica.run(
        [
          "enroll", "--store", replica.store.path, "--server", world.server.address, "--zone",
          "goods",
        ],
        environment: ["SYNCCTL_TOKEN": token])
      #expect(try replica.status()["zone"] as? String == "goods")
      #expect(try replica.status()["lastError"] is NSNull, "the zone has answered")
    }
    try [first, second].settle()
    #expect(try first.status()["replica"] as? String == replica, "nothing began anew")
    #expect(try second.export().contains("later"))
    // Another zone is none that was renamed.
    let other = try Programs.run(
      "driftless-server", ["zone", "create", "other", "--data", world.server.data.path])
    #expect(other.status == 0, "\(other.errors)")
    // Who has never heard of the zone's own identity is told its name.
    let stranger = try Programs.run(
      "syncctl",
      [
        "enroll", "--store", second.store.path, "--server", world.server.address, "--zone",
        "nobody",
      ],
      environment: ["SYNCCTL_TOKEN": token])
    #expect(stranger.status == 77, "\(stranger)")
    #expect(stranger.errors.contains("it is for goods"), "\(stranger.errors)")
    #expect(stranger.errors.contains("--zone goods"), "\(stranger.errors)")
    let refused = try Programs.run(
      "syncctl",
      ["enroll", "--store", first.store.path, "--server", world.server.address, "--zone", "other"],
      environment: ["SYNCCTL_TOKEN": try world.server.token(zone: "other")])
    #expect(refused.status == 1)
    #expect(refused.errors.contains("syncctl unenroll"), "\(refused.errors)")
    try [first, second].settle()
  }

  @Test("doctor finds a zone that was renamed, as a sync does, also where another one has its name")
  func renamedZoneForDoctor() throws {
    try first.sync()
    for arguments in [["rename", world.zone, "other"], ["create", world.zone]] {
      let outcome = try Programs.run(
        "driftless-server", ["zone"] + arguments + ["--data", world.server.data.path])
      try #require(outcome.status == 0, "\(outcome)")
      let doctor = try first.attempt("doctor")
      #expect(doctor.status == 0, "\(doctor)")
      #expect(doctor.output.contains("zone other reached"), "\(doctor.output)")
      try first.sync()
    }
  }

  @Test("status tells that a sync could not begin for want of a token, until one is there")
  func missingToken() throws {
    try [first, second].settle()
    let token = URL(fileURLWithPath: first.store.path + "-driftless-token")
    let kept = try Data(contentsOf: token)
    try FileManager.default.removeItem(at: token)
    #expect(try first.attempt("sync").status == 1)
    #expect(try first.attempt("status", ["--check"]).status == 13)
    #expect(try first.status()["state"] as? String == "waiting")
    let secret = String(decoding: kept, as: UTF8.self).trimmingCharacters(in: .newlines)
    try first.run(
      ["enroll", "--store", first.store.path, "--server", world.server.address, "--zone", "items"],
      environment: ["SYNCCTL_TOKEN": secret])
    #expect(try first.attempt("status", ["--check"]).status == 0)
  }

  @Test(
    "A store whose application has rules of its own is refused, and synced without them where that is said"
  )
  func applicationsRules() throws {
    let xml = ModelText(entities: [
      .init(name: "Item", attributes: [("name", "String", "custom:longest")])
    ]).xml
    let model = try writeModel(xml, named: "ruled", in: world.directory)
    let replica = try Replica(bare: "with rules", in: world.directory, model: model)
    let token = world.directory.file("token of the ruled")
    try Data(world.token.utf8).write(to: token)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: token.path)
    let home = [
      "--server", world.server.address, "--zone", world.zone, "--token-file", token.path,
    ]
    let refused = try replica.attempt("enroll", home)
    #expect(refused.status == 1 && refused.errors.contains("Item.name"), "\(refused)")
    #expect(refused.errors.contains("the rule longest"), "\(refused)")
    #expect(refused.errors.contains("--without-rules"), "\(refused)")
    #expect(refused.errors.contains("'\(replica.store.path)'"), "a path with a space is one word")
    let enrolled = try replica.attempt("enroll", home + ["--without-rules"])
    #expect(enrolled.status == 0, "\(enrolled)")
    try replica.importLines([name("1", "one", "insert")])
    try replica.sync()
    #expect(try replica.attempt("status", ["--check"]).status == 0)
    // Taken back, the store is its application's again; what was synced stays.
    let both = try replica.attempt("enroll", home + ["--without-rules", "--with-rules"])
    #expect(both.status == 64, "\(both)")
    let back = try replica.attempt("enroll", home + ["--with-rules"])
    #expect(back.status == 0, "\(back)")
    let left = try replica.attempt("sync", ["--json"])
    #expect(left.status == 1 && left.errors.contains(#""code":"unknown-rule""#), "\(left)")
    #expect(left.errors.contains("the rule longest"), "\(left)")
  }
}
