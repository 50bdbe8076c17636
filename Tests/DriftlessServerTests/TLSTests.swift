import DriftlessServer
import Foundation
import TestSupport
import Testing

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
      try process.run()
      process.waitUntilExit()
      return process.terminationStatus
    }
  }

  private static func certificate(
    in directory: TemporaryDirectory
  ) async throws -> (certificate: URL, key: URL)? {
    let certificate = directory.file("certificate.pem")
    let key = directory.file("key.pem")
    let made = try await run([
      "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
      "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key.path,
      "-out", certificate.path,
    ])
    let hasCurl = try await run(["curl", "--version"])
    guard made == 0, hasCurl == 0 else {
      print("openssl or curl is not here: TLS is not checked")
      return nil
    }
    return (certificate, key)
  }

  @Test("TLS 1.2 and 1.3 are served; 1.1 and clear text are not")
  func versions() async throws {
    let directory = try TemporaryDirectory()
    guard let tls = try await Self.certificate(in: directory) else { return }
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
