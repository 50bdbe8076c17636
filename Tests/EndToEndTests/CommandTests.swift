import Foundation
import TestSupport
import Testing

/// `syncctl` as scripts use it: its commands one by one, their JSON, and their exit codes.
@Suite(.serialized) struct CommandTests {
  private static let model = ModelText(entities: [
    .init(
      name: "Item", attributes: [("name", "String", nil), ("count", "Integer 64", "counter")],
      relationships: [("box", "Box", "items", false)]),
    .init(
      name: "Box", attributes: [("name", "String", nil)],
      relationships: [("items", "Item", "box", true)]),
  ])

  private let directory: TemporaryDirectory
  private let model: URL
  private let server: ServerProcess
  private let first: Replica
  private let second: Replica

  init() throws {
    directory = try TemporaryDirectory()
    model = try writeModel(Self.model.xml, named: "Items", in: directory)
    server = try ServerProcess(data: directory.file("server"), zone: "items")
    let token = try server.token(zone: "items")
    first = try Replica(
      "first", in: directory, model: model, server: server, zone: "items", token: token)
    second = try Replica(
      "second", in: directory, model: model, server: server, zone: "items", token: token)
  }

  private func json(_ outcome: Outcome) throws -> [String: Any] {
    let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
    return try #require(object as? [String: Any], "\(outcome.output)\(outcome.errors)")
  }

  private func name(_ id: String, _ name: String, _ operation: String = "update") -> String {
    #"{"op":"\#(operation)","entity":"Item","id":"\#(id)","set":{"name":"\#(name)"}}"#
  }

  @Test("push sends and takes nothing; pull takes and sends nothing")
  func pushAndPull() throws {
    try first.importLines([name("1", "of the first", "insert")])
    try second.importLines([name("2", "of the second", "insert")])
    #expect(try first.attempt("push").status == 0)
    #expect(try !first.export().contains("of the second"))
    #expect(try second.attempt("pull").status == 0)
    #expect(try second.export().contains("of the first"))
    let pending = try second.status()["pending"] as? [String: Any]
    #expect(pending?["objects"] as? Int == 1, "the pull pushed nothing")
    #expect(try second.attempt("push").status == 0)
    #expect(try first.attempt("pull").status == 0)
    #expect(try first.digest() == second.digest())
  }

  @Test("status --json has the names that scripts read")
  func statusNames() throws {
    let status = try first.status()
    let names = [
      "store", "server", "zone", "replica", "generation", "cursor", "head", "pending", "conflicts",
      "lastSync", "lastError", "syncing", "daemon",
    ]
    for name in names { #expect(status.keys.contains(name), "\(name)") }
    let pending = try #require(status["pending"] as? [String: Any])
    #expect(Set(pending.keys).isSuperset(of: ["objects", "properties", "transactions"]))
    #expect(status["zone"] as? String == "items")
    #expect(status["server"] as? String == server.address)
  }

  @Test("log, conflicts and why tell one story of a conflict")
  func story() throws {
    try first.importLines([name("1", "base", "insert")], author: "anna")
    try [first, second].settle()
    try first.importLines([name("1", "of the first")], author: "anna")
    try second.importLines([name("1", "of the second")], author: "bert")
    try [first, second].settle()
    let log = try json(try first.attempt("log", ["--json"]))
    let transactions = try #require(log["transactions"] as? [[String: Any]])
    #expect(transactions.contains { $0["author"] as? String == "anna" })
    #expect(transactions.contains { $0["author"] as? String == "sync" })
    let conflicts = try json(try second.attempt("conflicts", ["--json"]))
    let entries = try #require(conflicts["conflicts"] as? [[String: Any]])
    for entry in entries {
      #expect((entry["localTime"] as? String)?.hasSuffix("Z") == true, "\(entry)")
      let object = try #require(entry["object"] as? String)
      #expect(object == object.lowercased())
      #expect(entry["decision"] is NSNull)
    }
    #expect(entries.count == 1, "\(conflicts)")
    let why = try second.attempt("why", ["Item/1.name"])
    #expect(why.status == 0)
    // The later edit won; the other value is named as the one that lost.
    #expect(why.output.contains("Item.name is \"of the second\""), "\(why.output)")
    #expect(why.output.contains("of the first"), "\(why.output)")
    #expect(why.output.contains("policy lastWriterWins"), "\(why.output)")
  }

  @Test("model show names what the store holds; model generate writes classes that compile")
  func models() throws {
    let shown = try first.attempt("model", []).status
    #expect(shown != 0, "a command without its verb is a usage error")
    let show = try Programs.run(
      "syncctl", ["model", "show", "--store", first.store.path, "--json"])
    #expect(show.status == 0, "\(show.errors)")
    #expect(show.output.contains("\"Item\"") && show.output.contains("counter"))
    let sources = directory.file("classes")
    let generate = try Programs.run(
      "syncctl", ["model", "generate", "--model", model.path, "--folder", sources.path])
    #expect(generate.status == 0, "\(generate.errors)")
    let files = try FileManager.default.contentsOfDirectory(atPath: sources.path).sorted()
    #expect(files.count >= 2)
    let check = Process()
    check.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    check.arguments =
      [
        "swiftc", "-typecheck", "-swift-version", "6", "-I", Programs.folder.path + "/Modules",
        "-Xcc", "-fmodule-map-file=\(Programs.folder.path)/CSQLite.build/module.modulemap",
        "-Xcc",
        "-fmodule-map-file=\(Programs.folder.path)/CSwiftRuntime.build/module.modulemap",
      ]
      + files.map { sources.appendingPathComponent($0).path }
    let errors = Pipe()
    check.standardError = errors
    try check.run()
    let text = errors.fileHandleForReading.readDataToEndOfFile()
    check.waitUntilExit()
    #expect(check.terminationStatus == 0, "\(String(decoding: text, as: UTF8.self))")
  }

  @Test("Every exit code is what it is documented to be, with something to try")
  func exitCodes() throws {
    func status(_ arguments: [String], _ code: Int32, _ environment: [String: String] = [:]) throws
    {
      let outcome = try Programs.run("syncctl", arguments, environment: environment)
      #expect(outcome.status == code, "\(arguments): \(outcome.output)\(outcome.errors)")
    }
    let store = first.store.path
    try status(["status", "--store", store], 0)
    try status(["log"], 64)
    try status(["status", "--store", store, "--socket", store], 64)
    try status(["no-such-command"], 64)
    let bad = directory.file("bad.jsonl")
    try Data(#"{"op":"insert","entity":"Nothing","id":"1"}"#.utf8).write(to: bad)
    try status(["import", "--store", store, bad.path], 65)
    try status(["log", "--store", store, "--entity", "Nothing"], 65)
    let port = try #require(server.address.split(separator: ":").last)
    #expect(!port.isEmpty)
    server.kill()
    try status(["sync", "--store", store], 69)
    try server.start()
    let other = directory.file("other.sqlite")
    try status(["init", "--store", other.path, "--model", model.path], 0)
    try status(
      ["enroll", "--store", other.path, "--server", server.address, "--zone", "items"], 77,
      ["SYNCCTL_TOKEN": "dl_no_token"])
    try status(["sync", "--store", other.path], 1)
  }

  @Test("F81 A token that is revoked stops the sync, loses nothing, and a new one goes on")
  func revokedToken() throws {
    try first.importLines([name("1", "before", "insert")])
    try first.sync()
    let list = try Programs.run(
      "driftless-server", ["token", "list", "--data", server.data.path])
    for line in list.output.split(separator: "\n") {
      let id = String(line.prefix { $0 != "\t" })
      let revoked = try Programs.run(
        "driftless-server", ["token", "revoke", id, "--data", server.data.path])
      #expect(revoked.status == 0, "\(revoked.errors)")
    }
    try first.importLines([name("1", "after")])
    let refused = try first.attempt("sync")
    #expect(refused.status == 77, "\(list.output)\(refused.output)\(refused.errors)")
    #expect(refused.errors.contains("Try:"), "\(refused.errors)")
    let pending = try first.status()["pending"] as? [String: Any]
    #expect(pending?["objects"] as? Int == 1)
    try first.run(
      ["enroll", "--store", first.store.path, "--server", server.address, "--zone", "items"],
      environment: ["SYNCCTL_TOKEN": try server.token(zone: "items")])
    try first.sync()
    let status = try first.status()
    #expect((status["pending"] as? [String: Any])?["objects"] as? Int == 0)
    #expect(status["lastError"] as? String == nil)
  }

  @Test("Several programs that import into one store at once lose nothing")
  func writersAtOnce() throws {
    let writers = try (0..<4).map { writer in
      let file = directory.file("writer-\(writer).jsonl")
      let lines = (0..<200).flatMap { number -> [String] in
        [name("\(writer)-\(number)", "item \(writer)-\(number)", "insert")]
          + (number % 20 == 19 ? [#"{"op":"save","author":"writer-\#(writer)"}"#] : [])
      }
      try Data(lines.joined(separator: "\n").utf8).write(to: file)
      let process = Process()
      process.executableURL = Programs.url("syncctl")
      process.arguments = ["import", "--store", first.store.path, file.path]
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      return process
    }
    // One syncs meanwhile.
    try first.sync()
    for writer in writers {
      writer.waitUntilExit()
      #expect(writer.terminationStatus == 0)
    }
    #expect(try first.identities(of: "Item").count == 800)
    try [first, second].settle()
    #expect(try first.digest() == second.digest())
    #expect(try SQLiteFile.integrity(of: first.store) == "ok")
  }

  @Test("Text from elsewhere neither steers a terminal nor forges a line; JSON has it as it is")
  func foreignText() throws {
    let author = "till\u{1b}]0;owned\u{7}\nTry: evil"
    try first.importLines([
      name("1", "hammer", "insert"), try jsonLine(["op": "save", "author": author]),
    ])
    let log = try first.attempt("log")
    #expect(log.output.contains(#"till\u{1b}]0;owned\u{7}\u{a}Try: evil"#), "\(log.output)")
    #expect(!log.output.contains("\u{1b}") && !log.output.contains("\nTry: evil"))
    let transactions = try json(try first.attempt("log", ["--json"]))["transactions"]
    let authors = (transactions as? [[String: Any]])?.compactMap { $0["author"] as? String }
    #expect(authors?.contains(author) == true)

    let failure = try Programs.run("syncctl", ["status", "--store", "/\(author)"])
    #expect(failure.errors.hasPrefix("syncctl: ") && !failure.errors.contains("\u{1b}"))
    #expect(failure.errors.split(separator: "\n").count == 2, "\(failure.errors)")
  }

  @Test("The proxy of the environment is used, and passed by for the hosts of no_proxy")
  func proxies() throws {
    let proxy = try RecordingProxy()
    defer { proxy.stop() }
    let variables = ["http_proxy": "http://127.0.0.1:\(proxy.port)", "no_proxy": ""]
    let through = try Programs.run(
      "syncctl", ["sync", "--store", first.store.path], environment: variables)
    #expect(through.status != 0)
    #expect(through.errors.contains("Try:"), "\(through.errors)")
    #expect(proxy.requests.first?.contains(" \(server.address)/v1/zones/items") == true)
    let count = proxy.requests.count
    let past = try Programs.run(
      "syncctl", ["sync", "--store", first.store.path],
      environment: variables.merging(["no_proxy": "127.0.0.1"]) { $1 })
    #expect(past.status == 0, "\(past.errors)")
    #expect(proxy.requests.count == count)
  }

  @Test("A command that waits says for what, and an interrupt ends it at once")
  func waiting() throws {
    try first.importLines([name("1", "waits", "insert")])
    try server.pause()
    defer { server.resume() }
    let process = Process()
    process.executableURL = Programs.url("syncctl")
    process.arguments = ["sync", "--store", first.store.path]
    process.standardOutput = FileHandle.nullDevice
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    // The system still takes connections for a server that has stopped.
    let line = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
    #expect(
      line == "syncctl: waiting for \(server.address) (connected, no answer so far)\n", "\(line)")
    process.interrupt()
    process.waitUntilExit()
    #expect(process.terminationReason == .uncaughtSignal)
    #expect(process.terminationStatus == SIGINT)
    server.resume()
    try first.sync()
    let status = try first.status()
    #expect((status["pending"] as? [String: Any])?["objects"] as? Int == 0)
  }

  @Test("why says of a store without a zone that it has none")
  func whyWithoutZone() throws {
    let store = directory.file("alone.sqlite")
    let created = try Programs.run(
      "syncctl", ["init", "--store", store.path, "--model", model.path])
    #expect(created.status == 0, "\(created.errors)")
    let file = directory.file("alone.jsonl")
    try Data(name("1", "alone", "insert").utf8).write(to: file)
    #expect(try Programs.run("syncctl", ["import", "--store", store.path, file.path]).status == 0)
    let why = try Programs.run("syncctl", ["why", "--store", store.path, "Item/1.name"])
    #expect(why.output.contains("not enrolled with a zone"), "\(why.output)")
    #expect(!why.output.contains("in step"), "\(why.output)")
    let json = try Programs.run("syncctl", ["why", "--store", store.path, "Item/1.name", "--json"])
    #expect(json.output.contains(#""isEnrolled":false"#), "\(json.output)")
    #expect(json.output.contains(#""value":"alone""#), "\(json.output)")
    #expect(try first.attempt("why", ["Item/1.name"]).status == 65)
    try first.importLines([name("1", "sent", "insert")])
    try first.sync()
    let synced = try first.attempt("why", ["Item/1.name"])
    #expect(synced.output.contains("in step with the zone, as of"), "\(synced.output)")
  }

  @Test("status, doctor and export tell of acknowledged saves that are gone, until somebody knows")
  func lostCommits() throws {
    try first.importLines([name("1", "kept", "insert")])
    let side = ["", "-wal"].map { URL(fileURLWithPath: first.store.path + $0) }
    let older = side.map { try? Data(contentsOf: $0) }
    try first.importLines([name("2", "gone", "insert")])
    for (file, content) in zip(side, older) {
      guard let content else {
        try? FileManager.default.removeItem(at: file)
        continue
      }
      // Into the same file, as `cat backup > store` writes.
      let handle = try FileHandle(forWritingTo: file)
      try handle.truncate(atOffset: 0)
      try handle.write(contentsOf: content)
      try handle.close()
    }
    try? FileManager.default.removeItem(atPath: first.store.path + "-shm")
    let status = try first.attempt("status")
    #expect(status.output.contains("1 acknowledged transaction gone"), "\(status.output)")
    let told = try first.status()["lostCommits"] as? [String: Any]
    #expect(told?["count"] as? Int == 1)
    let doctor = try first.attempt("doctor")
    #expect(doctor.status == 1)
    #expect(doctor.output.contains("1 acknowledged transaction is gone"), "\(doctor.output)")
    let export = try first.attempt("export")
    #expect(export.errors.contains("not all is here"), "\(export.errors)")
    let known = try first.attempt("doctor", ["--forget-lost"])
    #expect(known.status == 0, "\(known.output)")
    #expect(try first.status()["lostCommits"] is NSNull)
  }
}
