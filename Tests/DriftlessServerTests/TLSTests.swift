import DriftlessServer
import Foundation
import TestSupport
import Testing

private let hasOpenSSL = ProgramFile.onPath("openssl") != nil
private let installed = ProgramFile.onPath("testssl") ?? ProgramFile.onPath("testssl.sh")

/// TLS is tried with the programs `openssl` and `curl`, as an operator would.
@Suite("TLS")
struct TLSTests {
  private static func run(_ arguments: [String]) async throws -> Int32 {
    try await blocking {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = arguments
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      process.standardInput = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      return process.terminationStatus
    }
  }

  private static func certificate(
    in directory: TemporaryDirectory, key kind: [String] = ["rsa:2048"]
  ) async throws -> (certificate: URL, key: URL) {
    let certificate = directory.file("certificate.pem")
    let key = directory.file("key.pem")
    let made = try await run(
      [
        "openssl", "req", "-x509", "-nodes", "-newkey",
      ] + kind + [
        "-days", "2", "-subj",
        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
        key.path,
        "-out", certificate.path,
      ])
    try #require(made == 0, "openssl made no certificate")
    return (certificate, key)
  }

  @Test(
    "F84 TLS 1.2 and 1.3 are served; 1.1 and clear text are not",
    .enabled(if: hasOpenSSL && ProgramFile.onPath("curl") != nil, "no openssl or curl"))
  func versions() async throws {
    let directory = try TemporaryDirectory()
    let tls = try await Self.certificate(in: directory)
    let server = try await LiveServer(tls: tls)
    func curl(_ options: String..., scheme: String = "https") async throws -> Int32 {
      let url = "\(scheme)://127.0.0.1:\(server.port)/healthz"
      return try await Self.run(
        ["curl", "--silent", "--fail", "--max-time", "20", "--cacert", tls.certificate.path]
          + options + [url])
    }
    #expect(try await curl("--tls-max", "1.2") == 0)
    #expect(try await curl("--tlsv1.3") == 0)
    // Security level 0 lets the client offer what is too old, so that it is the server that refuses.
    #expect(
      try await curl("--tlsv1.0", "--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0") != 0)
    #expect(try await curl(scheme: "http") != 0)
    try await server.stop()
  }

  private static let keys = [
    "RSA": ["rsa:2048"], "ECDSA": ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
  ]

  @Test(
    "Of TLS 1.2 only suites that keep the past secret and whole are spoken",
    .enabled(if: hasOpenSSL, "no openssl"), arguments: keys.keys)
  func suites(of kind: String) async throws {
    let directory = try TemporaryDirectory()
    let key = try #require(Self.keys[kind])
    let tls = try await Self.certificate(in: directory, key: key)
    let server = try await LiveServer(tls: tls)
    func takes(_ suite: String) async throws -> Bool {
      try await Self.run([
        "timeout", "60", "openssl", "s_client", "-connect", "127.0.0.1:\(server.port)", "-tls1_2",
        "-cipher", suite + ":@SECLEVEL=0",
      ]) == 0
    }
    for suite in ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"] {
      #expect(try await takes("ECDHE-\(kind)-\(suite)"), "\(suite)")
    }
    let blocks = ["AES128-SHA", "AES256-SHA", "AES128-SHA256", "AES256-SHA384"]
    let without = [
      "AES128-SHA", "AES256-SHA", "AES128-SHA256", "AES128-GCM-SHA256", "AES256-GCM-SHA384",
    ]
    for suite in blocks.map({ "ECDHE-\(kind)-\($0)" }) + without {
      #expect(try await !takes(suite), "\(suite)")
    }
    try await server.stop()
  }

  @Test(
    "testssl finds nothing that is serious, where it is installed",
    .enabled(if: hasOpenSSL && installed != nil, "no openssl or testssl"))
  func testssl() async throws {
    let directory = try TemporaryDirectory()
    let tls = try await Self.certificate(in: directory)
    let program = try #require(installed)
    let server = try await LiveServer(tls: tls)
    // Protocols, suites and known holes; the certificate is one of the test's own.
    let status = try await Self.run([
      "timeout", "600", program.path, "--quiet", "--warnings", "off", "--severity", "HIGH",
      "--protocols", "--std", "--vulnerable", "127.0.0.1:\(server.port)",
    ])
    #expect(status == 0)
    try await server.stop()
  }

  @Test("A key file that other users may use refuses the start and names the way out")
  func openKey() throws {
    let directory = try TemporaryDirectory()
    var options = ServeOptions()
    options.tlsCertificate = directory.file("certificate.pem")
    let key = directory.file("key.pem")
    options.tlsKey = key
    try Data().write(to: key)
    for permissions in [0o640, 0o604, 0o644, 0o620] {
      try FileManager.default.setAttributes(
        [.posixPermissions: permissions], ofItemAtPath: key.path)
      #expect {
        try options.check()
      } throws: {
        ($0 as? ServerError)?.suggestion.contains("chmod 600 \(key.path)") == true
      }
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key.path)
    try options.check()
  }

  @Test("A certificate that cannot be read, or that has no key, refuses the start")
  func wrongFiles() async throws {
    let directory = try TemporaryDirectory()
    var options = ServeOptions()
    options.port = 0
    options.tlsCertificate = directory.file("nothing.pem")
    #expect(throws: ServerError.self) { try options.check() }
    await #expect(throws: (any Error).self) {
      _ = try await LiveServer(
        tls: (directory.file("nothing.pem"), directory.file("nothing.pem")))
    }
  }
}
