import DriftlessServer
import Foundation
import ServerCertificates
import TestSupport
import Testing

/// The parts of `driftless-server certificate`, and what the server says of a certificate's end.
struct CertificateTests {
  private static let day: TimeInterval = 86_400

  @Test(
    "Names and addresses are taken in one form",
    arguments: [
      ("Sync.Example.COM", "sync.example.com"), ("sync.example.com.", "sync.example.com"),
      ("*.example.com", "*.example.com"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
      ("my_host", "my_host"), ("192.0.2.1", "192.0.2.1"), ("2001:DB8:0::1", "2001:db8::1"),
      ("[::1]", "::1"),
      (String(repeating: "a", count: 63) + ".b", String(repeating: "a", count: 63) + ".b"),
    ])
  func names(given: String, text: String) throws {
    #expect(try CertificateName(given).text == text)
  }

  @Test(
    "What no client could call a server by is refused, with the reason",
    arguments: [
      ("", "empty"), (".", "empty"), ("a..b", "empty"), ("bücher.example", "xn--"),
      ("a b", "characters"), ("a\n", "characters"), ("*", "star"), ("*.com", "star"),
      ("a.*.com", "star"), ("w*.example.com", "star"), ("-a.example", "part"),
      ("a-.example", "part"),
      ("a/b", "part"), ("https://a.example", "part"), ("a:8443", "part"), ("fe80::1%eth0", "part"),
      ("300.1.1.1", "address"), ("1.2.3", "address"), ("[a.example]", "address"),
      (String(repeating: "a", count: 64) + ".b", "64 bytes"),
      (String(repeating: "a.", count: 127) + "b", "255 bytes"),
    ])
  func refusedNames(given: String, reason: String) {
    #expect {
      _ = try CertificateName(given)
    } throws: {
      guard let error = $0 as? ServerError, error.code == .badName else { return false }
      return error.message.contains(reason)
    }
  }

  @Test(
    "A client's certificate is made under the server's authority, whose own stays; names are checked"
  )
  func client() throws {
    let directory = try TemporaryDirectory()
    let folder = CertificateFolder(data: directory.file("data"))
    let server = try folder.create(names: [], days: 30)
    let own = try Data(contentsOf: folder.server)
    let made = try folder.createClient("till-4", days: 60)
    #expect(made.client.names == ["CN=till-4"] && !made.client.isAuthority)
    #expect(made.authority == server.authority && !made.isAuthorityNew)
    #expect(made.file == folder.client("till-4"))
    #expect(try Data(contentsOf: folder.server) == own)
    let again = try folder.createClient("till-4", days: 60)
    #expect(again.client.fingerprint != made.client.fingerprint)
    for name in ["", "../x", "a b", ".a", String(repeating: "a", count: 65)] {
      #expect(throws: ServerError.self) { try folder.createClient(name, days: 60) }
    }
    // Of clients alone: the server's certificate comes from elsewhere.
    let apart = CertificateFolder(directory.file("apart"))
    #expect(try apart.createClient("till-4", days: 60).isAuthorityNew)
    #expect(!FileManager.default.fileExists(atPath: apart.server.path))
  }

  @Test(
    "Names are kept when a certificate is renewed, repeated ones stand once, too many are refused")
  func renewal() throws {
    let directory = try TemporaryDirectory()
    let folder = CertificateFolder(data: directory.file("data"))
    let names = try ["h.example", "H.EXAMPLE", "::1", "localhost"].map { try CertificateName($0) }
    let first = try folder.create(names: names, days: 30)
    #expect(first.server.names == ["h.example", "::1", "localhost", "127.0.0.1"])
    let second = try folder.create(names: [], days: 60)
    #expect(second.server.names == first.server.names)
    #expect(second.authority == first.authority && !second.isAuthorityNew)
    #expect(second.server.fingerprint != first.server.fingerprint)
    #expect(second.server.ends > first.server.ends)
    let many = try (0..<100).map { try CertificateName("h\($0).example") }
    #expect(throws: ServerError.self) { try folder.create(names: many, days: 30) }
  }

  @Test("A name that is given comes to those of the former certificate, which go by word alone")
  func addedNames() throws {
    let directory = try TemporaryDirectory()
    let folder = CertificateFolder(data: directory.file("data"))
    let (old, new) = (try CertificateName("old.example"), try CertificateName("new.example"))
    let loopback = ["localhost", "127.0.0.1", "::1"]
    #expect(try folder.create(names: [old], days: 30).droppedNames.isEmpty)
    let both = try folder.create(names: [new], days: 30)
    #expect(Set(both.server.names) == Set(["old.example", "new.example"] + loopback))
    #expect(both.droppedNames.isEmpty && !both.areFormerNamesUnknown)
    let alone = try folder.create(names: [new], days: 30, dropsFormerNames: true)
    #expect(Set(alone.server.names) == Set(["new.example"] + loopback))
    #expect(alone.droppedNames == ["old.example"])
    // What cannot be read keeps no given name from being used, and is told.
    try Data("torn".utf8).write(to: folder.server)
    #expect(throws: ServerError.self) { try folder.create(names: [], days: 30) }
    let told = try folder.create(names: [old], days: 30)
    #expect(told.areFormerNamesUnknown && told.droppedNames.isEmpty)
  }

  @Test(
    "A certificate ends at the latest with its authority, and an authority that has ended signs none"
  )
  func authorityEnds() throws {
    let directory = try TemporaryDirectory()
    let folder = CertificateFolder(data: directory.file("data"))
    let now = Date()
    let first = try folder.create(names: [], days: 1, now: now)
    let late = now + 3640 * Self.day
    #expect(try folder.create(names: [], days: 397, now: late).server.ends == first.authority.ends)
    for (time, word) in [
      (now + 3651 * Self.day, "--force"), (now - 30 * Self.day, "Set the clock"),
    ] {
      #expect {
        _ = try folder.create(names: [], days: 1, now: time)
      } throws: {
        guard let error = $0 as? ServerError, error.code == .badCertificate else { return false }
        return error.suggestion.contains(word)
      }
    }
    let new = try folder.create(
      names: [], days: 397, replacesAuthority: true, now: now + 3651 * Self.day)
    #expect(new.isAuthorityNew && new.authority.fingerprint != first.authority.fingerprint)
  }

  @Test("A host whose clock was lost makes no authority")
  func lostClock() throws {
    let folder = CertificateFolder(try TemporaryDirectory().file("tls"))
    #expect(throws: ServerError.self) {
      try folder.create(names: [], days: 1, now: Date(timeIntervalSince1970: 86_400))
    }
  }

  @Test(
    "The log says at the start that a certificate has ended, or ends soon; the metrics always say when",
    arguments: [
      (0.0, 397, nil as String?), (0.0, 29, "the TLS certificate ends in 29 days"),
      (-5.0, 1, "the TLS certificate has ended"),
    ])
  func warned(made: Double, days: Int, words: String?) async throws {
    let directory = try TemporaryDirectory()
    let folder = CertificateFolder(directory.file("tls"))
    let certificate = try folder.create(
      names: [], days: days, now: Date(timeIntervalSinceNow: made * Self.day)
    ).server
    let server = try await LiveServer(tls: (folder.server, folder.server))
    #expect(server.log.text.contains("the TLS certificate") == (words != nil))
    if let words { #expect(server.log.text.contains(words), "\(server.log.text)") }
    let metrics = try await Self.metrics(port: server.port)
    let seconds = Int(certificate.ends.timeIntervalSince1970)
    #expect(metrics.contains("\ndriftless_certificate_end_seconds \(seconds)\n"), "\(metrics)")
    try await server.stop()
  }

  /// The page as an operator gets it, whose client looks at no certificate.
  private static func metrics(port: UInt16) async throws -> String {
    try await blocking {
      try ProgramRun(["curl", "--silent", "--insecure", "https://127.0.0.1:\(port)/metrics"]).output
    }
  }

  @Test("A key that is another certificate's refuses the start")
  func otherKey() async throws {
    let directory = try TemporaryDirectory()
    let (one, other) = (
      CertificateFolder(directory.file("one")), CertificateFolder(directory.file("other"))
    )
    for folder in [one, other] { _ = try folder.create(names: [], days: 1) }
    await #expect {
      _ = try await LiveServer(tls: (one.server, other.server))
    } throws: {
      guard let error = $0 as? ServerError else { return false }
      return error.code == .badCertificate && error.message.contains("is another certificate's")
    }
  }
}
