import Foundation
import TestSupport
import Testing

/// `driftless-server serve` as it is told by a file, by the environment and by options.
@Suite(.serialized) struct ServerConfigurationTests {
  private let directory: TemporaryDirectory
  private let file: URL

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.file("server.json")
    let made = try Programs.run(
      "driftless-server", ["zone", "create", "shop", "--data", directory.file("data").path])
    try #require(made.status == 0)
  }

  private func write(_ text: String) throws { try Data(text.utf8).write(to: file) }

  private func check(
    _ text: String, _ options: [String] = [], environment: [String: String] = [:]
  ) throws -> Outcome {
    try write(text)
    return try Programs.run(
      "driftless-server", ["serve", "--config", file.path, "--check"] + options,
      environment: environment)
  }

  @Test(
    "An option goes before the environment, and that before the file; each line says where it is from"
  )
  func precedence() throws {
    let text = """
      {
        "data": "data",
        "listen": "127.0.0.1:1001",
        "logLevel": "debug",
        "limits": { "bodyBytesMax": 5000, "waitersMax": 7 }
      }
      """
    let data = directory.file("data").path
    let alone = try check(text)
    #expect(alone.status == 0, "\(alone)")
    #expect(alone.output.contains("data\t\(data)\t\(file.path):2\n"), "\(alone)")
    #expect(alone.output.contains("listen\t127.0.0.1:1001\t\(file.path):3\n"), "\(alone)")
    #expect(alone.output.contains("limits.waitersMax\t7\t\(file.path):5\n"), "\(alone)")
    #expect(alone.output.hasSuffix("the server would start\n"))
    let environment = [
      "DRIFTLESS_SERVER_LISTEN": "127.0.0.1:1002", "DRIFTLESS_SERVER_LOG_LEVEL": "error",
      "DRIFTLESS_SERVER_TLS_KEY": "",
    ]
    let surrounded = try check(text, environment: environment)
    #expect(
      surrounded.output.contains("listen\t127.0.0.1:1002\tDRIFTLESS_SERVER_LISTEN\n"),
      "\(surrounded)")
    #expect(surrounded.output.contains("logLevel\terror\t"), "\(surrounded)")
    let limits = directory.file("limits.json")
    try Data(#"{"waitersMax": 8}"#.utf8).write(to: limits)
    let told = try check(
      text, ["--listen", "127.0.0.1:1003", "--limits", limits.path], environment: environment)
    #expect(told.output.contains("listen\t127.0.0.1:1003\t--listen\n"), "\(told)")
    #expect(told.output.contains("limits.waitersMax\t8\t\(limits.path):1\n"), "\(told)")
    #expect(told.output.contains("limits.bodyBytesMax\t5000\t\(file.path):5\n"), "\(told)")
    let named = try Programs.run(
      "driftless-server", ["serve", "--check", "--json"],
      environment: ["DRIFTLESS_SERVER_CONFIG": file.path])
    #expect(named.status == 0 && named.output.contains(#""complaints":[]"#), "\(named)")
  }

  @Test("--check names file, line and setting of all that is wrong, and ends with 65")
  func complaints() throws {
    let all = try check(
      """
      {
        "data": "data",
        "lissten": "127.0.0.1:1",
        "logLevel": "loud",
        "limits": { "bodyByteMax": 1, "readers": 0 },
        "allowPlaintext": "yes",
        "data": "other"
      }
      """)
    #expect(all.status == 65, "\(all)")
    for words in [
      "server.json:3: \"lissten\" is no setting (did you mean \"listen\"?)",
      "server.json:4: \"logLevel\" is one of",
      "server.json:5: \"bodyByteMax\" is no setting (did you mean \"bodyBytesMax\"?)",
      "server.json:5: \"readers\" is a whole number from 1",
      "server.json:6: \"allowPlaintext\" is true or false",
      "server.json:7: \"data\" stands twice in one object (line 2 has it too)",
    ] { #expect(all.errors.contains(words), "\(words): \(all)") }
    #expect(!all.output.contains("would start"))
    let serving = try Programs.run("driftless-server", ["serve", "--config", file.path])
    #expect(serving.status == 65 && serving.errors.contains("and 5 more"), "\(serving)")
    #expect(serving.errors.contains("serve --check"), "\(serving)")
    for (options, environment, words) in [
      (["--listen", "nowhere"], [:], "--listen is \"nowhere\""),
      ([], ["DRIFTLESS_SERVER_ALLOW_PLAINTEXT": "maybe"], "DRIFTLESS_SERVER_ALLOW_PLAINTEXT is"),
      (["--postgres", "x"], ["DRIFTLESS_SERVER_DATA": "y"], "x"),
    ] as [([String], [String: String], String)] {
      let outcome = try check(#"{"data": "data"}"#, options, environment: environment)
      #expect(outcome.status == 65 && outcome.errors.contains(words), "\(outcome)")
    }
  }

  @Test("--check looks at folder, certificate and limits, serves nothing and makes nothing")
  func looks() throws {
    let before = try FileManager.default.subpathsOfDirectory(atPath: directory.file("data").path)
    for (text, words) in [
      (#"{"data": "none"}"#, "server.json:1: there is no folder"),
      (#"{"data": "data", "listen": "0.0.0.0:1"}"#, "without TLS tokens could be read"),
      (
        #"{"data": "data", "tlsCertificate": "c", "tlsKey": "c"}"#, "cannot use the TLS certificate"
      ),
      (#"{"data": "data", "tlsCertificate": "c"}"#, "TLS needs a certificate and its key"),
      (#"{}"#, "nothing says where zones are"),
    ] {
      let outcome = try check(text)
      #expect(outcome.status == 65 && outcome.errors.contains(words), "\(outcome)")
    }
    #expect(!FileManager.default.fileExists(atPath: directory.file("none").path))
    let empty = try directory.folder("empty")
    let begins = try check(#"{"data": "empty"}"#)
    #expect(begins.status == 0 && begins.errors.contains("no zones so far"), "\(begins)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: empty.path) == [])
    let limits = try check(
      #"{"data": "data", "limits": {"connectionsMax": 10000000, "bodyBytesMax": 1000000000}}"#)
    #expect(limits.status == 0 && limits.errors.contains("raise LimitNOFILE"), "\(limits)")
    #expect(limits.errors.contains("bodyBytesMax is above"), "\(limits)")
    let mistyped = try check(
      #"{"data": "data"}"#, environment: ["DRIFTLESS_SERVER_LISTN": "127.0.0.1:1"])
    #expect(mistyped.status == 0, "\(mistyped)")
    #expect(mistyped.errors.contains("did you mean DRIFTLESS_SERVER_LISTEN?"), "\(mistyped)")
    let secret = try check(#"{"postgres": "host=127.0.0.1 port=1 password=hunter2 dbname=x"}"#)
    #expect(!secret.output.contains("hunter2"), "\(secret)")
    #expect(
      try FileManager.default.subpathsOfDirectory(atPath: directory.file("data").path).sorted()
        == before.sorted())
  }

  @Test(
    "A file that is hostile is refused in a moment", arguments: ["nul", "zero", "pipe", "deep"])
  func hostile(kind: String) throws {
    switch kind {
    case "nul": try Data([0x7B, 0, 0, 0x7D]).write(to: file)
    case "zero":
      try FileManager.default.createSymbolicLink(
        atPath: file.path, withDestinationPath: "/dev/zero")
    case "pipe": try #require(mkfifo(file.path, 0o600) == 0)
    default: try write("{\"limits\":" + String(repeating: "{\"a\":", count: 100_000))
    }
    let start = ContinuousClock.now
    let outcome = try Programs.run(
      "driftless-server", ["serve", "--config", file.path, "--check"])
    #expect(outcome.status == 65 && outcome.errors.contains("server.json"), "\(outcome)")
    #expect(ContinuousClock.now - start < .seconds(20))
  }

  // MARK: While it serves

  private func serve(_ text: String) throws -> Served {
    try write(text)
    return try Served(["serve", "--config", file.path], log: directory.file("log"))
  }

  /// A server, and its log.
  private final class Served {
    let process = Process()
    let log: URL
    let address: String

    init(_ arguments: [String], log: URL) throws {
      self.log = log
      try Data().write(to: log)
      process.executableURL = Programs.url("driftless-server")
      process.arguments = arguments
      let pipe = Pipe()
      process.standardOutput = pipe
      process.standardError = try FileHandle(forWritingTo: log)
      process.standardInput = FileHandle.nullDevice
      try process.run()
      let line = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
      address = line.replacing("listening on ", with: "")
        .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    deinit {
      process.terminate()
      process.waitUntilExit()
    }

    var text: String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }

    /// Sends SIGHUP and waits for what the log says of it.
    func reload(_ words: String) throws {
      let before = text.utf8.count
      kill(process.processIdentifier, SIGHUP)
      try eventually("the log says: \(words)") { self.text.dropFirst(before).contains(words) }
    }
  }

  private static func status(_ url: String, _ options: [String] = []) throws -> String {
    try tool(
      "curl",
      ["--silent", "--insecure", "--output", "/dev/null", "--write-out", "%{http_code}"]
        + options + [url])
  }

  private static func tool(_ name: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [name] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }

  @Test(
    "SIGHUP takes limits and log level, names what waits for a start, and keeps all of a bad file out"
  )
  func reload() throws {
    let server = try serve(#"{"data": "data", "listen": "127.0.0.1:0"}"#)
    func header(_ bytes: Int) throws -> String {
      try Self.status(
        server.address + "/healthz",
        ["--header", "X-Long: " + String(repeating: "a", count: bytes)])
    }
    #expect(try header(5000) == "200")
    try write(
      #"{"data": "data", "listen": "127.0.0.1:0", "logLevel": "error", "limits": {"headerBytesMax": 2000}}"#
    )
    try server.reload("changed=headerBytesMax,logLevel")
    #expect(try header(5000) != "200")
    #expect(try header(100) == "200")
    try write(
      #"{"data": "other", "listen": "127.0.0.1:1", "logLevel": "info", "limits": {"readers": 9}}"#)
    // What is read is as a start would have it: a folder is looked at when it is opened.
    try server.reload("settings=data,listen,readers")
    #expect(try header(5000) == "200", "the bound is the usual one again")
    for bad in [
      "{", #"{"data": "data", "limits": {"headerBytesMax": 0}}"#, #"{"data": "data", "x": 1}"#,
      #"{"data": "data", "listen": "0.0.0.0:1"}"#,
    ] {
      try write(bad)
      let before = server.text.split(separator: "\n").count
      try server.reload("all stays as it was")
      #expect(server.text.split(separator: "\n").count == before + 1, "one line a bad file: \(bad)")
      #expect(try header(5000) == "200")
    }
    for _ in 0..<200 { kill(server.process.processIdentifier, SIGHUP) }
    #expect(try header(100) == "200")
    #expect(server.process.isRunning)
  }

  @Test(
    "SIGHUP takes a new certificate; new connections are shown it, and a broken one is not taken",
    .enabled(if: ProgramFile.onPath("curl") != nil, "no curl"))
  func certificate() throws {
    let data = directory.file("data").path
    func create(_ names: [String]) throws {
      let made = try Programs.run(
        "driftless-server",
        ["certificate", "create", "--data", data] + names.flatMap { ["--name", $0] })
      try #require(made.status == 0, "\(made)")
    }
    try create(["one.example"])
    let server = try serve(
      #"{"data": "data", "listen": "127.0.0.1:0", "tlsCertificate": "data/tls/server.pem", "tlsKey": "data/tls/server.pem"}"#
    )
    let port = server.address.split(separator: ":").last.map(String.init) ?? ""
    func trusted(_ name: String) throws -> Bool {
      try Self.tool(
        "curl",
        [
          "--silent", "--cacert", "\(data)/tls/authority.pem", "--resolve",
          "\(name):\(port):127.0.0.1", "https://\(name):\(port)/healthz",
        ]
      ).contains("ok")
    }
    #expect(try trusted("one.example"))
    #expect(try !trusted("two.example"))
    try create(["two.example"])
    #expect(try !trusted("two.example"), "a new file alone changes nothing")
    try server.reload("changed=tlsCertificate")
    #expect(try trusted("two.example"))
    let pem = URL(fileURLWithPath: "\(data)/tls/server.pem")
    try Data("no certificate".utf8).write(to: pem)
    try server.reload("all stays as it was")
    #expect(try trusted("two.example"))
    try write(#"{"data": "data", "listen": "127.0.0.1:0"}"#)
    try server.reload("settings=tlsCertificate")
    #expect(try trusted("two.example"))
  }

  @Test(
    "An address that is none of this host's is named as that, and a zone that there is not is not offered to be made"
  )
  func notHere() throws {
    // Of a net for documentation, which no host has.
    let outcome = try Programs.run(
      "driftless-server",
      [
        "serve", "--data", directory.file("data").path, "--listen", "192.0.2.1:0",
        "--allow-plaintext",
      ])
    #expect(outcome.status != 0, "\(outcome)")
    #expect(outcome.errors.contains("no interface of this host has that address"), "\(outcome)")
    #expect(!outcome.errors.contains("ss -ltnp"), "\(outcome)")
    for words in [["zone", "inspect", "nope"], ["zone", "delete", "nope", "--yes"]] {
      let missing = try Programs.run(
        "driftless-server", words + ["--data", directory.file("data").path])
      #expect(missing.errors.contains("there is no zone nope"), "\(missing)")
      #expect(
        missing.errors.contains(
          "driftless-server zone list --data \(directory.file("data").path)"), "\(missing)")
      #expect(!missing.errors.contains("Create it"), "\(missing)")
    }
    let place = "--data \(directory.file("data").path)"
    let token = try Programs.run(
      "driftless-server",
      ["token", "create", "--zone", "nope", "--data", directory.file("data").path])
    #expect(
      token.errors.contains("Create it: driftless-server zone create \(place) nope"), "\(token)")
  }
}
