import DriftlessHTTP
import Foundation
import TestSupport
import Testing

private let openssl = ProgramFile.onPath("openssl")

/// A TLS server with a certificate that nobody signed.
@Suite struct CertificateTests {

  private func run(_ arguments: [String]) throws -> Process {
    let process = Process()
    process.executableURL = openssl
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    return process
  }

  @Test(
    "A certificate of no known authority is refused, and taken once the authority is named",
    .enabled(if: openssl != nil, "no openssl"))
  func certificates() async throws {
    let directory = try TemporaryDirectory()
    let key = directory.file("key.pem").path
    let certificate = directory.file("certificate.pem").path
    let made = try run([
      "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
      "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
    ])
    made.waitUntilExit()
    try #require(made.terminationStatus == 0)
    let probe = try CrookedServer([.close])
    let port = probe.port
    probe.stop()
    let server = try run([
      "s_server", "-accept", "\(port)", "-cert", certificate, "-key", key, "-www", "-quiet",
    ])
    // Not awaited: Foundation waits on the run loop of the thread that started it, and an async
    // test changes threads.
    defer { server.terminate() }

    #expect(await code(port: port, authority: nil) == .untrusted)
    // The status page of s_server is HTML: reached over trusted TLS, and told from a Driftless
    // server.
    #expect(await code(port: port, authority: certificate) == .notDriftless)
  }

  private func code(port: UInt16, authority: String?) async -> TransportError.Code? {
    var options = TransportOptions()
    options.certificateAuthorityFile = authority
    options.retry.attemptsMax = 20
    options.retry.delaySecondsFirst = 0.05
    options.retry.delaySecondsMax = 0.5
    do {
      let url = URL(string: "https://localhost:\(port)") ?? URL(fileURLWithPath: "/")
      let transport = try CurlTransport(server: url, zone: "z", token: "t", options: options)
      _ = try await transport.zoneInfo()
      return nil
    } catch {
      return (error as? TransportError)?.code
    }
  }
}
