import Foundation
import TestSupport
import Testing

/// What an operator can do where the disk of the data folder is full: a real one of a few megabytes.
@Suite(
  .serialized,
  .enabled(if: SmallDisk.isPossible, "This user may not mount a file system, not even for itself."))
struct OperatorReserveTests {
  private let directory: TemporaryDirectory
  private let disk: SmallDisk
  private let data: URL
  private let model: URL

  init() throws {
    directory = try TemporaryDirectory()
    disk = try SmallDisk(mebibytes: 40, at: directory.file("disk"))
    data = disk.folder.appendingPathComponent("data")
    model = try writeModel(EmbeddedReplica.model.xml, named: "Items", in: directory)
  }

  private func operate(_ arguments: [String]) throws -> Outcome {
    try Programs.run(
      "driftless-server", arguments + ["--data", data.path], script: disk.script)
  }

  @discardableResult
  private func done(
    _ arguments: [String], _ location: SourceLocation = #_sourceLocation
  ) throws -> String {
    let outcome = try operate(arguments)
    #expect(outcome.status == 0, "\(arguments): \(outcome.errors)", sourceLocation: location)
    return outcome.output.trimmingCharacters(in: .newlines)
  }

  private func server(_ limits: String = #"{"watchSeconds": 1}"#) throws -> ServerProcess {
    let file = directory.file("limits.json")
    try Data(limits.utf8).write(to: file)
    let server = ServerProcess(data: data, listen: "127.0.0.1:0")
    server.script = disk.script
    server.limits = file
    try server.start()
    return server
  }

  private func replica(_ name: String, _ server: ServerProcess, zone: String) throws -> Replica {
    try Replica(
      name, in: directory, model: model, server: server, zone: zone,
      token: done(["token", "create", "--zone", zone, "--name", name]))
  }

  /// Has an object with a long text that does not compress.
  private func write(
    _ replica: Replica, _ id: String, bytes: Int = 300_000, as operation: String = "insert"
  ) throws {
    var numbers = SystemRandomNumberGenerator()
    let text = String(
      (0..<bytes / 16).map { _ in numbers.next() }.map { String($0, radix: 36) }
        .joined().prefix(bytes))
    try replica.importLines([
      #"{"op":"\#(operation)","entity":"Item","id":"\#(id)","set":{"name":"\#(text)"}}"#
    ])
  }

  private func reserve() throws -> (wanted: Int, held: Int) {
    let text = try done(["verify", "--json"])
    let line = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    return (
      try #require(line?["reserveBytes"] as? Int), try #require(line?["reserveHeldBytes"] as? Int)
    )
  }

  private func id(of name: String) throws -> String {
    let lines = try done(["token", "list", "--json"]).split(separator: "\n")
    let tokens = try lines.compactMap {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
    }
    return try #require(tokens.first { $0["name"] as? String == name }?["id"] as? String)
  }

  @Test(
    "F10 On a full disk pushes are refused, and an operator makes room and shuts out, while the server runs"
  )
  func serving() throws {
    for zone in ["big", "small"] { try done(["zone", "create", zone]) }
    let server = try server()
    let first = try reserve()
    #expect(first.wanted == 5 << 20 && first.held == first.wanted, "an eighth of the disk")
    let (big, small) = (
      try replica("big", server, zone: "big"), try replica("small", server, zone: "small")
    )
    for number in 0..<3 {
      try write(small, "s\(number)", bytes: 1000)
      try small.sync()
    }
    let revoked = try id(of: "small")
    let name = try #require(try big.status()["replica"] as? String).lowercased()
    var count = 0
    var refused = Outcome(status: 0, output: "", errors: "")
    while refused.status == 0, count < 200 {
      count += 1
      for part in 0..<8 { try write(big, "b\(count)-\(part)") }
      refused = try big.attempt("sync")
    }
    #expect(refused.status == 75 && refused.errors.contains("full"), "\(refused)")
    try disk.fill()
    #expect(try reserve().held == first.wanted, "pushes have not touched it")

    try write(small, "waits", bytes: 1000)
    #expect(try small.attempt("sync").status == 75)
    let spare = try operate(["zone", "create", "other"])
    #expect(spare.status == 74 && spare.errors.contains("no space left"), "\(spare)")
    try done(["zone", "limits", "big", "--set", "replicasMax=7"])
    try done(["code", "revoke", "--all"])
    try done(["zone", "purge", "small", "--tried", "--keep-days", "0", "--replica-days", "0"])
    try done(["replica", "forget", "big", name])
    let extra = try operate(["token", "rotate", revoked])
    #expect(extra.status == 0, "\(extra)")
    #expect(try small.attempt("sync").status == 77)
    try done(["zone", "delete", "big", "--yes"])
    // Its room in the database is that of all others, though the disk is as full as before.
    let token = directory.file("token")
    try Data(extra.output.utf8).write(to: token)
    try #require(chmod(token.path, 0o600) == 0)
    try small.run([
      "enroll", "--store", small.store.path, "--server", server.address, "--zone", "small",
      "--token-file", token.path,
    ])
    try eventually("the room is there again") {
      try small.attempt("sync").status == 0 && reserve().held > first.wanted / 10 * 9
    }
    try done(["token", "revoke", try id(of: "small")])
    try done(["verify"])
    try disk.empty()
    try eventually("all of it is back") { try reserve().held == first.wanted }
    try done(["zone", "create", "other"])
    #expect(server.stop() == 0)
  }

  @Test("F10 The same where no server runs, and what was lent is there again afterwards")
  func alone() throws {
    for zone in ["big", "small"] { try done(["zone", "create", zone]) }
    let server = try server()
    let big = try replica("big", server, zone: "big")
    for number in 0..<8 { try write(big, "b\(number)") }
    try big.sync()
    let (wanted, _) = try reserve()
    let token = try id(of: "big")
    #expect(server.stop() == 0)
    try disk.fill()
    let spare = try operate(["token", "create", "--zone", "small"])
    #expect(spare.status == 74, "\(spare)")
    for command in [
      ["token", "revoke", token], ["zone", "limits", "big", "--set", "replicasMax=7"],
      ["zone", "renew", "small", "--yes"], ["zone", "delete", "big", "--yes"],
      ["zone", "delete", "small", "--yes"],
    ] {
      try done(command)
      // What a command adds to the database's file, a page or two, is the file's.
      #expect(try reserve().held > wanted / 10 * 9, "\(command)")
    }
    #expect(try done(["zone", "list"]).isEmpty)
  }

  @Test(
    "F10 A log that is many times the reserve is purged on a full disk, a part after the other",
    arguments: zip([true, false], ["", #", "checkpointPages": 100"#]))
  func portions(isServed: Bool, limits: String) throws {
    try done(["zone", "create", "shop"])
    let server = try server(#"{"watchSeconds": 1\#(limits)}"#)
    let replica = try replica("writer", server, zone: "shop")
    var pushes = 0
    // The same objects again and again: the log is long, and what it comes to is small.
    func edit() throws -> Outcome {
      pushes += 1
      try write(replica, "b\(pushes % 4)", bytes: 300_000, as: pushes > 4 ? "update" : "insert")
      return try replica.attempt("sync")
    }
    while pushes < 70 { try #require(try edit().status == 0) }
    let report = try done(["zone", "inspect", "shop", "--json"])
    let log = try JSONSerialization.jsonObject(with: Data(report.utf8)) as? [String: Any]
    let bytes = try #require(log?["bytes"] as? Int)
    #expect(bytes > 2 * (try reserve().wanted), "it is no test else: \(bytes)")
    try disk.fill()
    if !isServed { #expect(server.stop() == 0) }
    let purge = try done([
      "zone", "purge", "shop", "--tried", "--keep-days", "0", "--replica-days", "0",
    ])
    #expect(purge.hasPrefix("purged zone shop up to "), "\(purge)")
    try done(["verify"])
    if !isServed { try server.start() }
    // Some of the reserve is in the database now, and pushes leave it room.
    try disk.empty()
    try eventually("pushes are taken again") { try edit().status == 0 }
    let newcomer = try self.replica("newcomer", server, zone: "shop")
    try newcomer.sync()
    #expect(try newcomer.export() == replica.export())
    #expect(server.stop() == 0)
  }

  @Test(
    "Without a reserve a zone is deleted or is there, and what of it has no room to go goes later",
    arguments: [false, true])
  func deletedWithoutReserve(hasManyZones: Bool) throws {
    let names = hasManyZones ? (0..<6).map { "zone\($0)" } : ["zone0"]
    for zone in names { try done(["zone", "create", zone]) }
    let server = try server(#"{"reserveBytes": 0}"#)
    for name in names {
      let replica = try replica(name, server, zone: name)
      for number in 0..<6 { try write(replica, "b\(number)", bytes: 200_000) }
      try replica.sync()
    }
    #expect(server.stop() == 0)
    var deleted = 0
    for (index, name) in names.enumerated() {
      // Nothing has room, a page or two, the deletion alone, some of what goes, and all of it.
      let free = try disk.shell("df -B1 --output=avail '\(disk.folder.path)' | tail -1")
      let bytes = try #require(Int(free.trimmingCharacters(in: .whitespacesAndNewlines)))
      let left = [0, 40_000, 70_000, 100_000, 200_000, 400_000][hasManyZones ? index : 2]
      try disk.shell("head -c \(bytes - left) /dev/zero > '\(disk.folder.path)/fill'")
      let outcome = try operate(["zone", "delete", name, "--yes"])
      try disk.empty()
      let isThere = try done(["zone", "list"]).contains(name)
      if outcome.status == 0 {
        deleted += 1
        #expect(!isThere, "\(outcome)")
        if !outcome.errors.isEmpty {
          #expect(outcome.errors.contains("zone \(name) is deleted"), "\(outcome)")
          #expect(outcome.errors.contains("no space left"), "\(outcome)")
        }
      } else {
        #expect(outcome.status == 74 && isThere, "\(outcome)")
        #expect(outcome.errors.contains("no space left"), "\(outcome)")
      }
      try done(["verify"])
    }
    if hasManyZones { #expect(deleted > 0) }
    try server.start()
    for name in try done(["zone", "list"]).split(separator: "\n").compactMap({
      $0.split(separator: "\t").first
    }) { try done(["zone", "delete", String(name), "--yes"]) }
    for name in names { try done(["zone", "create", name]) }
    try done(["verify"])
    #expect(server.stop() == 0)
  }

  @Test("Without a reserve the disk's last byte goes to whoever comes first, as it is told")
  func none() throws {
    try done(["zone", "create", "shop"])
    let server = try server(#"{"reserveBytes": 0}"#)
    try done(["token", "create", "--zone", "shop", "--name", "a"])
    let token = try id(of: "a")
    let line = try done(["verify", "--json"])
    #expect(line.contains(#""reserveBytes":null"#), "\(line)")
    #expect(server.stop() == 0)
    try disk.fill()
    let outcome = try operate(["token", "revoke", token])
    #expect(outcome.status == 74 && outcome.errors.contains("no space left"), "\(outcome)")
  }
}
