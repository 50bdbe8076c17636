import Foundation
import TestSupport
import Testing

/// A generator that one number replays.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}

/// What happens when programs are killed, disks fill up and people make mistakes.
@Suite(.serialized) struct BadLuckTests {
  private static let model = ModelText(entities: [
    .init(
      name: "Item",
      attributes: [
        ("name", "String", nil), ("count", "Integer 64", "counter"), ("size", "Integer 64", "max"),
        ("payload", "String", nil),
      ],
      relationships: [("box", "Box", "items", false)]),
    .init(
      name: "Box", attributes: [("name", "String", nil)],
      relationships: [("items", "Item", "box", true)], deletePolicy: "editWins"),
  ])

  private struct World {
    let directory = try! TemporaryDirectory()  // a test without a folder cannot go on
    let model: URL
    let server: ServerProcess
    let token: String
    var replicas: [Replica] = []

    init(_ names: [String]) throws {
      model = try writeModel(BadLuckTests.model.xml, named: "Boxes", in: directory)
      server = try ServerProcess(data: directory.file("server"), zone: "boxes")
      token = try server.token(zone: "boxes")
      replicas = try names.map(replica)
    }

    func replica(_ name: String) throws -> Replica {
      try Replica(
        name, in: directory, model: model, server: server, zone: "boxes", token: token)
    }
  }

  private func insertions(_ prefix: String, _ count: Int) -> [String] {
    let payload = String(repeating: "x", count: 100)
    return (0..<count).map {
      #"{"op":"insert","entity":"Item","id":"\#(prefix)\#($0)","set":{"name":"\#(prefix) \#($0)","count":1,"payload":"\#(payload)"}}"#
    }
  }

  @Test(
    "S2 A server whose files were put back by hand: what it lost comes back by itself",
    arguments: [false, true])
  func putBack(isPushedPast: Bool) throws {
    let world = try World(["a", "b", "c"])
    let (a, b, c) = (world.replicas[0], world.replicas[1], world.replicas[2])
    try a.importLines(insertions("first", 3))
    for replica in [a, b, c] { try replica.sync() }
    _ = world.server.stop()
    let backup = world.directory.file("backup")
    try FileManager.default.copyItem(at: world.server.data, to: backup)
    try world.server.start()
    try a.importLines(insertions("later", 3))
    for replica in [a, b] { try replica.sync() }
    _ = world.server.stop()
    try FileManager.default.removeItem(at: world.server.data)
    try FileManager.default.copyItem(at: backup, to: world.server.data)
    try world.server.start()
    if isPushedPast {
      try c.importLines(insertions("other", 4))
      try c.sync()
    }
    for replica in [a, b, c, a, b] { try replica.sync() }
    for replica in [a, b, c] {
      #expect(try replica.identities(of: "Item").count == (isPushedPast ? 10 : 6))
      #expect(try replica.digest() == a.digest())
    }
    let status = try a.run(["status", "--store", a.store.path])
    #expect(status.contains("came back:"))
    #expect(status.contains(isPushedPast ? "offered anew" : "back from this store"))
  }

  @Test(
    "F1 F2 F3 F4 Client and server killed at random points of a sync loop lose nothing and end equal"
  )
  func killedAtRandom() throws {
    let seed = UInt64(ProcessInfo.processInfo.environment["SEED"] ?? "") ?? 20_261_121
    var random = SeededGenerator(seed: seed)
    let world = try World(["a", "b", "c"])
    var inserted = 0
    for round in 0..<12 {
      for replica in world.replicas {
        let count = Int.random(in: 1...200, using: &random)
        try replica.importLines(insertions("\(replica.name)\(round)-", count))
        inserted += count
        try replica.syncAndKill(
          after: .random(in: 0.0...0.25, using: &random),
          server: Int.random(in: 0..<3, using: &random) == 0 ? world.server : nil)
      }
    }
    try world.replicas.settle()
    let exports = try world.replicas.map { try $0.export() }
    #expect(Set(exports).count == 1, "seed \(seed)")
    #expect(exports[0].split(separator: "\n").count == inserted, "seed \(seed)")
    for replica in world.replicas {
      let status = try replica.status()
      #expect((status["pending"] as? [String: Any])?["objects"] as? Int == 0)
    }
  }

  @Test("A server that is stopped by SIGTERM ends with 0 and keeps what it acknowledged")
  func gracefulStop() throws {
    let world = try World(["a", "b"])
    try world.replicas[0].importLines(insertions("a", 10))
    try world.replicas[0].sync()
    #expect(world.server.stop() == 0)
    try world.server.start()
    try world.replicas[1].sync()
    #expect(try world.replicas[0].export() == world.replicas[1].export())
    #expect(try world.replicas[1].export().split(separator: "\n").count == 10)
  }

  @Test("A bad line names file and line, and nothing of its transaction is saved")
  func badImportLine() throws {
    let world = try World(["a"])
    let replica = world.replicas[0]
    let file = replica.folder.appendingPathComponent("bad.jsonl")
    let lines = [
      #"{"op":"insert","entity":"Item","id":"1","set":{"name":"kept"}}"#,
      #"{"op":"save"}"#,
      #"{"op":"insert","entity":"Item","id":"2","set":{"name":"not kept"}}"#,
      #"{"op":"insert","entity":"Item","id":"3","set":{"nme":"typo"}}"#,
    ]
    try Data(lines.joined(separator: "\n").utf8).write(to: file)
    let outcome = try replica.attempt("import", [file.path])
    #expect(outcome.status == 65)
    #expect(outcome.errors.contains("\(file.path):4: "), "\(outcome.errors)")
    #expect(outcome.errors.contains("nme"))
    let export = try replica.export()
    #expect(export.contains("\"kept\""))
    #expect(!export.contains("not kept"))
  }

  @Test("A wrong token says what to do and keeps what is pending")
  func wrongToken() throws {
    let world = try World(["a"])
    let store = world.directory.file("other.sqlite")
    _ = try Programs.run("syncctl", ["init", "--store", store.path, "--model", world.model.path])
    let outcome = try Programs.run(
      "syncctl",
      ["enroll", "--store", store.path, "--server", world.server.address, "--zone", "boxes"],
      environment: ["SYNCCTL_TOKEN": "no-such-token"])
    #expect(outcome.status == 77)
    #expect(outcome.errors.contains("Try:"), "\(outcome.errors)")
  }

  @Test("A zone that does not exist is refused as a token for another zone is")
  func wrongZone() throws {
    let world = try World(["a"])
    let store = world.directory.file("other.sqlite")
    _ = try Programs.run("syncctl", ["init", "--store", store.path, "--model", world.model.path])
    let outcome = try Programs.run(
      "syncctl",
      ["enroll", "--store", store.path, "--server", world.server.address, "--zone", "elsewhere"],
      environment: ["SYNCCTL_TOKEN": world.token])
    #expect(outcome.status != 0)
    #expect(outcome.errors.contains("Try:"), "\(outcome.errors)")
  }

  @Test("F10 F13 A full disk fails the import, and the store is as it was")
  func fullDisk() throws {
    let world = try World(["a"])
    let replica = world.replicas[0]
    try replica.importLines(insertions("before", 10))
    let before = try replica.export()
    let file = replica.folder.appendingPathComponent("large.jsonl")
    try Data(insertions("large", 20_000).joined(separator: "\n").utf8).write(to: file)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    // A file-size limit is the disk that a test can fill without being root.
    process.arguments = [
      "-c", "trap '' XFSZ; ulimit -f 1024; exec \"$0\" \"$@\"", Programs.url("syncctl").path,
      "import", "--store", replica.store.path, file.path,
    ]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus != 0)
    #expect(process.terminationReason == .exit, "an error, not a crash")
    #expect(try replica.export() == before)
    try replica.importLines(insertions("after", 10))
    #expect(try replica.export().split(separator: "\n").count == 20)
  }

  @Test("F13 A store that only may be read gives an error and keeps its data")
  func readOnlyStore() throws {
    let world = try World(["a"])
    let replica = world.replicas[0]
    try replica.importLines(insertions("a", 5))
    let before = try replica.export()
    let manager = FileManager.default
    // Root may write everywhere, so the program runs as nobody then.
    let isRoot = getuid() == 0
    // Where nobody may run it, wherever the package was built.
    let program = world.directory.file("syncctl")
    try manager.copyItem(at: Programs.url("syncctl").resolvingSymlinksInPath(), to: program)
    try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: world.directory.url.path)
    try manager.setAttributes([.posixPermissions: 0o555], ofItemAtPath: replica.folder.path)
    for file in try manager.contentsOfDirectory(atPath: replica.folder.path) {
      try manager.setAttributes(
        [.posixPermissions: 0o444],
        ofItemAtPath: replica.folder.appendingPathComponent(file).path)
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      (isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [])
      + [
        program.path, "import", "--store", replica.store.path,
        replica.folder.path + "/import.jsonl",
      ]
    let errors = Pipe()
    process.standardError = errors
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus != 0)
    #expect(text.contains("Try:"), "\(text)")
    try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: replica.folder.path)
    for file in try manager.contentsOfDirectory(atPath: replica.folder.path) {
      try manager.setAttributes(
        [.posixPermissions: 0o644],
        ofItemAtPath: replica.folder.appendingPathComponent(file).path)
    }
    #expect(try replica.export() == before)
  }
}
