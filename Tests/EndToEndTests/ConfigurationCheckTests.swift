import Foundation
import TestSupport
import Testing

/// What the programs say of configurations and folders that are not what they look like.
@Suite(.serialized) struct ConfigurationCheckTests {
  @Test("syncd --check refuses what the daemon would, and names stores that are not there")
  func daemon() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("syncd.json")
    func check(_ text: String) throws -> Outcome {
      try Data(text.utf8).write(to: file)
      return try Programs.run("syncd", ["--config", file.path, "--check"])
    }
    let path = "/tmp/" + String(repeating: "a", count: 103)
    let long = try check(#"{"socket":"\#(path)","stores":[{"path":"/a"}]}"#)
    #expect(long.status == 65 && long.errors.contains("at most 107"), "\(long)")
    let nowhere = try check(#"{"socket":"none/s.sock","stores":[{"path":"/a"}]}"#)
    #expect(nowhere.status == 0 && nowhere.errors.contains("No such file"), "\(nowhere)")
    let twice = try check(#"{"stores":[{"path":"/a"}],"stores":[{"path":"/b"}]}"#)
    #expect(twice.status == 65 && twice.errors.contains("twice"), "\(twice)")
    let missing = try check(#"{"socket":"s.sock","stores":[{"path":"none.sqlite"}]}"#)
    #expect(missing.status == 0, "\(missing)")
    #expect(missing.errors.contains("there is no store at"), "\(missing)")
    #expect(missing.errors.contains(directory.file("none.sqlite").path), "\(missing)")
  }

  @Test("syncd --check says with each fault what to do about it")
  func tries() throws {
    let world = try FaultWorld()
    let file = world.directory.file("check.json")
    try Data("x".utf8).write(to: world.directory.file("taken"))
    let stores = [
      #"{"path":"none.sqlite"}"#, #"{"path":"check.json"}"#,
      #"{"path":"other.sqlite","tokenFile":"nowhere"}"#,
    ]
    try Data(#"{"socket":"taken","stores":[\#(stores.joined(separator: ","))]}"#.utf8)
      .write(to: file)
    let outcome = try Programs.run("syncd", ["--config", file.path, "--check"])
    #expect(outcome.status == 77, "as the daemon would, whose socket has a file in its place")
    let lines = outcome.errors.split(separator: "\n")
    #expect(lines.count >= 8 && lines.count.isMultiple(of: 2), "\(outcome.errors)")
    for (number, line) in lines.enumerated() {
      #expect(line.hasPrefix(number.isMultiple(of: 2) ? "syncd: " : "Try: "), "\(line)")
    }
    for part in ["taken", "none.sqlite", "check.json", "nowhere"] {
      #expect(outcome.errors.contains(part), "\(outcome.errors)")
    }
  }

  @Test("syncd --check names what is no store, a store without a zone, and tokens that are none")
  func daemonFiles() throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    let file = world.directory.file("check.json")
    func check(_ path: String, _ more: String = "") throws -> Outcome {
      try Data(#"{"socket":"s","stores":[{"path":"\#(path)"\#(more)}]}"#.utf8).write(to: file)
      return try Programs.run("syncd", ["--config", file.path, "--check"])
    }
    let good = try check(replica.store.path)
    #expect(good.status == 0 && good.errors.isEmpty)
    let plain = world.directory.file("plain.sqlite")
    _ = try Programs.run(
      "syncctl", ["init", "--store", plain.path, "--model", world.model.path])
    let waiting = try check(plain.path)
    #expect(waiting.status == 0 && waiting.errors.contains("is not enrolled"), "\(waiting)")
    let folder = try check(world.directory.url.path)
    #expect(folder.status == 65 && folder.errors.contains("folder"), "\(folder)")
    let other = try check(file.path)
    #expect(other.status == 65 && other.errors.contains("check.json"), "\(other)")
    try Data(#"{"socket":"check.json","stores":[{"path":"\#(plain.path)"}]}"#.utf8).write(to: file)
    let taken = try Programs.run("syncd", ["--config", file.path, "--check"])
    #expect(taken.status == 77 && taken.errors.contains("no socket"), "\(taken)")
    let missing = try check(replica.store.path, #","tokenFile":"none""#)
    #expect(missing.status == 65 && missing.errors.contains("none cannot be read"), "\(missing)")
    let token = replica.store.path + "-driftless-token"
    #expect(chmod(token, 0o644) == 0)
    let open = try check(replica.store.path)
    #expect(open.status == 65 && open.errors.contains("can be read by others"), "\(open)")
    #expect(chmod(token, 0o600) == 0)
    for suffix in ["-driftless-ca", "-driftless-client", "-driftless-keys"] {
      let beside = replica.store.path + suffix
      try Data("x".utf8).write(to: URL(fileURLWithPath: beside))
      #expect(chmod(beside, 0o600) == 0)
      let found = try check(replica.store.path)
      #expect(found.status == 65 && found.errors.contains(suffix), "\(found)")
      try FileManager.default.removeItem(atPath: beside)
    }
    #expect(try check(replica.store.path).status == 0)
  }

  @Test("A reload that is asked for while syncd reads its configuration does not end it")
  func earlyReload() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("syncd.json")
    // Some seconds of reading.
    let spaces = String(repeating: " ", count: 8_000_000)
    try Data((spaces + #"{"socket":"s.sock","stores":[{"path":"none.sqlite"}]}"#).utf8)
      .write(to: file)
    let process = Process()
    process.executableURL = Programs.url("syncd")
    process.arguments = ["--config", file.path, "--check"]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    defer { process.terminate() }
    let status = "/proc/\(process.processIdentifier)/status"
    try eventually("syncd lets a reload pass") {
      let text = try String(contentsOfFile: status, encoding: .utf8)
      let ignored = text.split(separator: "\n").first { $0.hasPrefix("SigIgn:") }
      return (ignored?.last?.hexDigitValue ?? 0) & 1 == 1
    }
    kill(process.processIdentifier, SIGHUP)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 0)
  }

  @Test("The log does not call a store gone that never was")
  func neverThere() throws {
    let directory = try TemporaryDirectory()
    let daemon = try DaemonProcess(stores: [directory.file("none.sqlite")], in: directory.url)
    func log() throws -> String {
      try String(contentsOf: directory.file("syncd.log"), encoding: .utf8)
    }
    try eventually("the daemon says that there is no file") {
      try log().contains("there is no file at the store's path so far")
    }
    #expect(daemon.stop() == 0)
    #expect(try !log().contains("gone"))
  }

  @Test("A daemon that waits for a store's zone is found, so that enrolling the store wakes it")
  func notEnrolledYet() throws {
    let world = try FaultWorld()
    let replica = try Replica(bare: "later", in: world.directory, model: world.model)
    let daemon = try DaemonProcess(stores: [replica.store], in: world.directory.url)
    try eventually("the daemon says beside the store that it waits") {
      try replica.status()["daemon"] is [String: Any]
    }
    try replica.run(
      [
        "enroll", "--store", replica.store.path, "--server", world.server.address, "--zone",
        world.zone,
      ], environment: ["SYNCCTL_TOKEN": world.token])
    try eventually("it is in step") { try replica.status()["state"] as? String == "in-step" }
    #expect(daemon.stop() == 0)
  }

  @Test("Keys that are kept beside a store are not written over by a file that lacks them")
  func keptKeys() throws {
    let world = try FaultWorld()
    let replica = try world.replica("keyed")
    let (first, other) = (world.directory.file("first.keys"), world.directory.file("other.keys"))
    for file in [first, other] { try replica.run(["key", "create", file.path]) }
    func use(_ file: URL) throws -> Outcome {
      try Programs.run("syncctl", ["key", "use", "--store", replica.store.path, file.path])
    }
    #expect(try use(first).status == 0)
    let refused = try use(other)
    #expect(refused.status == 1 && refused.errors.contains("only copy"), "\(refused)")
    let kept = URL(fileURLWithPath: replica.store.path + "-driftless-keys")
    #expect(try Data(contentsOf: kept) == Data(contentsOf: first))
    try replica.run(["key", "rotate", first.path])
    #expect(try use(first).status == 0)
    #expect(chmod(kept.path, 0o644) == 0)
    let unread = try use(other)
    #expect(unread.status == 1 && unread.errors.contains("cannot be compared"), "\(unread)")
    #expect(try Data(contentsOf: kept) == Data(contentsOf: first))
    try replica.run(["key", "use", "--store", replica.store.path, "--none"])
    #expect(try use(other).status == 0)
  }

  @Test("A folder that is no server's is not made by a command that looks into it")
  func noFolder() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.file("typo")
    for command in [
      ["zone", "list"], ["token", "list"], ["token", "create", "--zone", "z"],
      ["token", "revoke", "x"], ["zone", "renew", "z"],
    ] {
      let outcome = try Programs.run("driftless-server", command + ["--data", folder.path])
      #expect(outcome.status == 65, "\(command): \(outcome)")
      #expect(outcome.errors.contains("zone create"), "\(command): \(outcome)")
      #expect(!FileManager.default.fileExists(atPath: folder.path))
    }
  }

  @Test("A database that was cut to nothing is no new server")
  func emptied() throws {
    let world = try FaultWorld()
    _ = world.server.stop()
    let database = world.server.data.appendingPathComponent("driftless.sqlite")
    try Data().write(to: database)
    for command in [
      ["zone", "list"], ["zone", "create", "other"], ["serve", "--listen", "127.0.0.1:0"],
    ] {
      let outcome = try Programs.run(
        "driftless-server", command + ["--data", world.server.data.path])
      #expect(outcome.status == 65, "\(command): \(outcome)")
      #expect(outcome.errors.contains("backup"), "\(command): \(outcome)")
    }
    #expect(try Data(contentsOf: database).isEmpty)
  }

  @Test("A server does not begin in a folder that is not there, or that has other things in it")
  func mistypedFolder() throws {
    let directory = try TemporaryDirectory()
    let other = try directory.folder("other")
    try Data("x".utf8).write(to: other.appendingPathComponent("photo.jpg"))
    for folder in [directory.file("none"), other] {
      let outcome = try Programs.run(
        "driftless-server", ["serve", "--data", folder.path, "--listen", "127.0.0.1:0"])
      #expect(outcome.status == 65, "\(outcome)")
      #expect(outcome.errors.contains("--data"), "\(outcome)")
    }
    #expect(!FileManager.default.fileExists(atPath: directory.file("none").path))
    #expect(try FileManager.default.contentsOfDirectory(atPath: other.path) == ["photo.jpg"])
  }

  @Test("An error about limits names the limits")
  func limits() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("limits.json")
    for (text, words) in [
      (#"{"bodyBytes": 5}"#, "bodyBytesMax"), (#"{"readers": 1, "readers": 2}"#, "twice"),
    ] {
      try Data(text.utf8).write(to: file)
      let outcome = try Programs.run(
        "driftless-server",
        ["serve", "--data", directory.file("data").path, "--limits", file.path])
      #expect(outcome.status == 65, "\(outcome)")
      #expect(outcome.errors.contains(words), "\(outcome)")
    }
  }

  @Test("doctor tells of a zone that is another one, and of a token that may not send what waits")
  func doctor() throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    try replica.importLines([FaultWorld.insertion("1")])
    try replica.sync()
    #expect(try replica.attempt("doctor").status == 0)
    try replica.run(
      [
        "enroll", "--store", replica.store.path, "--server", world.server.address, "--zone",
        world.zone,
      ], environment: ["SYNCCTL_TOKEN": try world.server.token(zone: world.zone, verbs: "read")])
    #expect(try replica.attempt("doctor").status == 0, "nothing waits")
    try replica.importLines([FaultWorld.insertion("2")])
    let reading = try replica.attempt("doctor")
    #expect(reading.status == 1)
    #expect(reading.output.contains("the token may only read"), "\(reading)")
    try world.renew()
    let renewed = try replica.attempt("doctor")
    #expect(renewed.status == 1)
    #expect(renewed.output.contains("begun anew"), "\(renewed)")
  }

  @Test("syncd --check tells of a token's file that is not there, and of what is no store")
  func otherFiles() throws {
    let directory = try TemporaryDirectory()
    let (file, store) = (directory.file("syncd.json"), directory.file("no.sqlite"))
    try Data("no store".utf8).write(to: store)
    try Data(
      #"{"socket":"s.sock","stores":[{"path":"no.sqlite","tokenFile":"none-token"}]}"#.utf8
    ).write(to: file)
    let outcome = try Programs.run("syncd", ["--config", file.path, "--check"])
    #expect(outcome.status == 65, "\(outcome)")
    #expect(outcome.errors.contains("none-token cannot be read"), "\(outcome)")
    #expect(outcome.errors.contains(store.path), "\(outcome)")
  }

  @Test("A server of more connections than it may open says so; a zone keeps its name with a word")
  func serverWords() throws {
    let directory = try TemporaryDirectory()
    let (data, limits) = (directory.file("data").path, directory.file("limits.json"))
    func server(_ arguments: [String]) throws -> Outcome {
      try Programs.run("driftless-server", arguments + ["--data", data])
    }
    #expect(try server(["zone", "create", "shop"]).status == 0)
    let same = try server(["zone", "rename", "shop", "shop"])
    #expect(same.status == 1 && same.errors.contains("is called shop already"), "\(same)")
    try Data(#"{"readers":100000000}"#.utf8).write(to: limits)
    let many = try server(["serve", "--limits", limits.path, "--listen", "127.0.0.1:0"])
    #expect(many.status == 71 && many.errors.contains("the limit readers"), "\(many)")
  }
}
