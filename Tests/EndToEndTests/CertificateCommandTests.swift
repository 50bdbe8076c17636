import Foundation
import TestSupport
import Testing

/// `driftless-server certificate` as an operator types it, and as luck has it.
struct CertificateCommandTests {
  private static func run(
    _ arguments: [String], data: URL, environment: [String: String] = [:], script: String? = nil
  ) throws -> Outcome {
    try Programs.run(
      "driftless-server", ["certificate"] + arguments + ["--data", data.path],
      environment: environment, script: script)
  }

  private static func mode(_ file: URL) throws -> Int {
    try #require(
      try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int)
  }

  /// Whether OpenSSL takes the server's certificate as one of the authority's.
  private static func isTrusted(_ tls: URL) throws -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-CAfile",
      tls.appendingPathComponent("authority.pem").path,
      tls.appendingPathComponent("server.pem").path,
    ]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }

  @Test("Keys are for their owner alone whatever the umask; the authority's certificate is for all")
  func modes() throws {
    let directory = try TemporaryDirectory()
    for umask in ["000", "077"] {
      let data = directory.file("data-\(umask)")
      let made = try Self.run(
        ["create", "--name", "h.example"], data: data, script: "umask \(umask); exec \"$0\" \"$@\"")
      #expect(made.status == 0, "\(made.errors)")
      let tls = data.appendingPathComponent("tls")
      #expect(try Self.mode(data) == 0o700)
      #expect(try Self.mode(tls) == 0o700)
      for (name, mode) in [
        ("authority-key.pem", 0o600), ("server.pem", 0o600), ("authority.pem", 0o644),
      ] {
        #expect(try Self.mode(tls.appendingPathComponent(name)) == mode, "\(name)")
      }
      #expect(try Self.isTrusted(tls))
    }
  }

  @Test("An authority is never replaced without a word: missing, damaged or open keys are refused")
  func neverReplaced() throws {
    let directory = try TemporaryDirectory()
    let data = directory.file("data")
    let tls = data.appendingPathComponent("tls")
    let (key, authority) = (
      tls.appendingPathComponent("authority-key.pem"), tls.appendingPathComponent("authority.pem")
    )
    try #require(try Self.run(["create"], data: data).status == 0)
    let (first, whole) = (try Data(contentsOf: authority), try Data(contentsOf: key))
    #expect(try Self.run(["create"], data: data).status == 0)
    #expect(try Data(contentsOf: authority) == first)
    let open: [FileAttributeKey: Any] = [.posixPermissions: 0o640]
    for (what, spoil) in [
      ("missing", { try FileManager.default.removeItem(at: key) }),
      ("empty", { try Data().write(to: key) }),
      ("half", { try whole.prefix(whole.count / 2).write(to: key) }),
      ("other", { try first.write(to: key) }),
      ("open", { try FileManager.default.setAttributes(open, ofItemAtPath: key.path) }),
    ] as [(String, () throws -> Void)] {
      try spoil()
      let refused = try Self.run(["create"], data: data)
      #expect(refused.status == 65, "\(what): \(refused.errors)")
      #expect(refused.errors.contains("bad-certificate"), "\(what): \(refused.errors)")
      #expect(try Data(contentsOf: authority) == first, "\(what)")
      try whole.write(to: key)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key.path)
    }
    // What hosts have is made again from the key, where it is gone.
    try FileManager.default.removeItem(at: authority)
    #expect(try Self.run(["create"], data: data).status == 0)
    #expect(try Data(contentsOf: authority) == first)
    let former = try Self.run(["show"], data: data).output
    let forced = try Self.run(["create", "--force"], data: data)
    #expect(forced.status == 0)
    // Which one hosts trust still, and when it would have ended.
    let part = forced.output.components(separatedBy: "replaced authority: ").last ?? ""
    let told = part.split(separator: "\n").filter { $0.contains("SHA-256") || $0.contains("names") }
    #expect(told.count == 2 && told.allSatisfy { former.contains($0) }, "\(forced.output)")
    #expect(part.contains("  ends     "), "\(forced.output)")
    #expect(try Data(contentsOf: authority) != first)
    #expect(try Self.isTrusted(tls))
  }

  @Test(
    "Killed at any change, torn, or on a disk that fails, what serves goes on and the next run is whole",
    arguments: [FileFault.Kind.kill, .torn, .full, .broken, .cut])
  func faults(kind: FileFault.Kind) throws {
    let directory = try TemporaryDirectory()
    let data = directory.file("data")
    let tls = data.appendingPathComponent("tls")
    try #require(try Self.run(["create", "--name", "h.example"], data: data).status == 0)
    for more in [[], ["--force"]] {
      var number = 1
      while true {
        let outcome = try Self.run(
          ["create"] + more, data: data,
          environment: try FileFault(kind, at: number, below: directory.url).environment())
        if outcome.status == 0 { break }
        if kind == .full {
          #expect(outcome.status == 74, "\(number): \(outcome.errors)")
          #expect(outcome.errors.contains("disk-full"), "\(number): \(outcome.errors)")
        }
        // The server's certificate and its key are one file: what is there can be served.
        let shown = try Self.run(["show"], data: data)
        #expect(shown.status == 0, "\(kind) \(number): \(shown.errors)")
        if more.isEmpty { #expect(try Self.isTrusted(tls), "\(kind) \(number)") }
        let again = try Self.run(["create"], data: data)
        #expect(again.status == 0, "\(kind) \(number): \(again.errors)")
        #expect(try Self.isTrusted(tls), "\(kind) \(number)")
        number += 1
      }
      #expect(number > 2, "there were changes that could go wrong")
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: tls.path)
    #expect(Set(names) == ["authority-key.pem", "authority.pem", "server.pem"])
  }

  @Test("create keeps the names that were, and says which go with --drop-names")
  func names() throws {
    let directory = try TemporaryDirectory()
    let data = directory.file("data")
    func create(_ more: [String]) throws -> Outcome {
      try Self.run(["create"] + more, data: data)
    }
    try #require(try create(["--name", "old.example"]).status == 0)
    let both = try create(["--name", "new.example"])
    #expect(both.output.contains("old.example, "), "\(both)")
    #expect(both.output.contains(", new.example\n") && !both.output.contains("dropped"), "\(both)")
    let alone = try create(["--name", "new.example", "--drop-names"])
    #expect(alone.output.contains("dropped names: old.example; "), "\(alone)")
    let shown = try Self.run(["show"], data: data).output
    #expect(shown.contains("new.example") && !shown.contains("old.example"), "\(shown)")
    let bare = try create(["--drop-names"])
    #expect(bare.status == 64 && bare.errors.contains("--name"), "\(bare)")
  }

  @Test("Many that create at once make one authority, and a certificate of it")
  func atOnce() async throws {
    let directory = try TemporaryDirectory()
    let data = directory.file("data")
    let outcomes = try await withThrowingTaskGroup(of: Outcome.self) { group in
      for _ in 0..<6 {
        group.addTask { try Self.run(["create", "--json"], data: data) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.allSatisfy { $0.status == 0 }, "\(outcomes)")
    #expect(outcomes.count { $0.output.contains(#""isAuthorityNew":true"#) } == 1)
    #expect(try Self.isTrusted(data.appendingPathComponent("tls")))
  }

  @Test(
    "serve takes the certificate off loopback, speaks plain HTTP on it, and refuses a wrong one")
  func serving() throws {
    let directory = try TemporaryDirectory()
    let data = directory.file("data")
    let bare = try Programs.run(
      "driftless-server", ["serve", "--data", data.path, "--listen", "0.0.0.0:0"])
    #expect(bare.errors.contains("driftless-server certificate create"), "\(bare.errors)")
    // Before there is a zone.
    try #require(try Self.run(["create"], data: data).status == 0)
    for (listen, scheme) in [("0.0.0.0:0", "https"), ("127.0.0.1:0", "http")] {
      let server = ServerProcess(data: data, listen: listen)
      try server.start()
      #expect(server.address.hasPrefix(scheme + "://"), "\(server.address)")
      #expect(server.stop() == 0)
    }
    let plain = ServerProcess(data: data, listen: "0.0.0.0:0")
    plain.options = ["--allow-plaintext"]
    try plain.start()
    #expect(plain.address.hasPrefix("http://"))
    #expect(plain.stop() == 0)
    let own = data.appendingPathComponent("tls/server.pem")
    let whole = try Data(contentsOf: own)
    for text in [Data(), Data("rubbish".utf8), whole.prefix(300)] {
      try text.write(to: own)
      let refused = try Programs.run(
        "driftless-server", ["serve", "--data", data.path, "--listen", "0.0.0.0:0"])
      #expect(refused.status == 65)
      #expect(refused.errors.contains("cannot use the TLS certificate"), "\(refused.errors)")
      #expect(refused.errors.contains("in PEM form"), "\(refused.errors)")
    }
  }

  @Test("show tells names, end and SHA-256 of any file, and what is none is refused")
  func shown() throws {
    let directory = try TemporaryDirectory()
    let data = directory.file("data")
    let made = try Self.run(
      ["create", "--name", "*.Example.com", "--name", "[2001:DB8::1]", "--days", "10"], data: data)
    try #require(made.status == 0, "\(made.errors)")
    let shown = try Self.run(["show", "--json"], data: data)
    let lines = try shown.output.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(lines.count == 2)
    #expect(
      lines[0]["names"] as? [String] == [
        "*.example.com", "2001:db8::1", "localhost", "127.0.0.1", "::1",
      ])
    #expect(lines[0]["state"] as? String == "ends-soon")
    #expect(lines[1]["isAuthority"] as? Bool == true)
    #expect(lines[1]["state"] as? String == "valid")
    let hash = try #require(lines[0]["sha256"] as? String)
    #expect(hash.split(separator: ":").count == 32)
    let file = data.appendingPathComponent("tls/server.pem").path
    let one = try Programs.run("driftless-server", ["certificate", "show", file])
    #expect(one.output.contains(hash), "\(one)")
    for path in ["/dev/null", directory.url.path, directory.file("nothing").path] {
      let refused = try Programs.run("driftless-server", ["certificate", "show", path])
      #expect(refused.status == 65, "\(path): \(refused.errors)")
    }
    #expect(try Programs.run("driftless-server", ["certificate", "show"]).status == 65)
    #expect(try Self.run(["create", "--days", "0"], data: data).status == 64)
  }
}
