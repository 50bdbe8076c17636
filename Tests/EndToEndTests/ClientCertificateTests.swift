import DriftlessServer
import Foundation
import ServerCertificates
import TestSupport
import Testing

/// A server that lets in who shows a certificate of its own (`tlsClientCA`), and hosts that have one.
@Suite(.serialized) struct ClientCertificateTests {
  private struct World {
    let directory: TemporaryDirectory
    let server: ServerProcess
    let token: String
    let store: URL
    let zone = "items"

    var folder: CertificateFolder { CertificateFolder(data: server.data) }
    /// The authorities of clients, in a file of the test's own.
    var clients: URL { directory.file("clients.pem") }

    init() throws {
      directory = try TemporaryDirectory()
      let data = directory.file("server")
      let model = try writeModel(EmbeddedReplica.model.xml, named: "Items", in: directory)
      let host = directory.file("host")
      try FileManager.default.createDirectory(at: host, withIntermediateDirectories: true)
      store = host.appendingPathComponent("a.sqlite")
      func run(_ command: String...) throws {
        let made = try Programs.run("driftless-server", command + ["--data", data.path])
        try #require(made.status == 0, "\(made.errors)")
      }
      try run("zone", "create", zone)
      // The authority is older than certificates that have ended.
      _ = try CertificateFolder(data: data).create(
        names: [], days: 30, now: Date(timeIntervalSinceNow: -10 * 86_400))
      try run("certificate", "create", "--name", "h.example")
      try run("certificate", "create", "--client", "till-1")
      server = ServerProcess(data: data, listen: "127.0.0.1:0")
      server.logFile = directory.file("log")
      let folder = CertificateFolder(data: data)
      try FileManager.default.copyItem(at: folder.authority, to: directory.file("clients.pem"))
      // The server's own certificate is that of its data folder.
      server.options = ["--tls-client-ca", directory.file("clients.pem").path]
      token = try server.token(zone: zone)
      try server.start()
      let made = try Programs.run(
        "syncctl", ["init", "--store", store.path, "--model", model.path])
      try #require(made.status == 0, "\(made.errors)")
    }

    func enroll(_ certificate: URL? = nil, _ more: [String] = []) throws -> Outcome {
      try Programs.run(
        "syncctl",
        [
          "enroll", "--store", store.path, "--server", server.address, "--zone", zone, "--ca",
          folder.authority.path, "--json",
        ] + (certificate.map { ["--client-certificate", $0.path] } ?? []) + more,
        environment: ["SYNCCTL_TOKEN": token])
    }

    func syncctl(_ command: String) throws -> Outcome {
      try Programs.run("syncctl", [command, "--store", store.path, "--json"])
    }

    /// A client's certificate as of another time.
    func certificate(madeDaysAgo days: Double, for span: Int) throws -> URL {
      try folder.createClient(
        "old-\(days)", days: span, now: Date(timeIntervalSinceNow: -days * 86_400)
      ).file
    }
  }

  private static func error(_ outcome: Outcome) throws -> (code: String, all: String) {
    let object = try JSONSerialization.jsonObject(with: Data(outcome.errors.utf8))
    let error = try #require((object as? [String: Any])?["error"] as? [String: Any])
    return (try #require(error["code"] as? String), "\(error)")
  }

  @Test("Who shows no certificate is refused at the handshake; one that enroll is told is kept")
  func kept() throws {
    let world = try World()
    #expect(world.server.address.hasPrefix("https://"))
    let none = try Self.error(world.enroll())
    #expect(none.code == "client-certificate-required", "\(none)")
    #expect(none.all.contains("--client-certificate"), "\(none)")
    let copy = world.directory.file("till-1.pem")
    try FileManager.default.copyItem(at: world.folder.client("till-1"), to: copy)
    let enrolled = try world.enroll(copy)
    #expect(enrolled.status == 0, "\(enrolled.errors)")
    try FileManager.default.removeItem(at: copy)
    let kept = URL(fileURLWithPath: world.store.path + "-driftless-client")
    let mode = try FileManager.default.attributesOfItem(atPath: kept.path)[.posixPermissions]
    #expect(mode as? Int == 0o600)
    for command in ["sync", "push", "pull", "doctor"] {
      let outcome = try world.syncctl(command)
      #expect(outcome.status == 0, "\(command): \(outcome.output)\(outcome.errors)")
    }
    // Enrolling again keeps it; the daemon finds it too.
    #expect(try world.enroll().status == 0)
    let daemon = try DaemonProcess(stores: [world.store], in: world.directory.url)
    try eventually("the daemon keeps the store in step") {
      try world.syncctl("status").output.contains(#""activity":"listening""#)
    }
    #expect(daemon.stop() == 0)
    // A key that others may read is not taken.
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: kept.path)
    #expect(try Self.error(world.syncctl("sync")).code == "client-key-readable")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: kept.path)
    let gone = try Self.error(world.enroll(URL(fileURLWithPath: "none")))
    #expect(gone.code == "bad-client-certificate", "what fails changes nothing: \(gone)")
    #expect(try world.syncctl("sync").status == 0)
    #expect(try world.syncctl("unenroll").status == 0)
    #expect(!FileManager.default.fileExists(atPath: kept.path))
  }

  @Test("A certificate that has ended, or is of another authority, or a server's, is told as such")
  func refusals() throws {
    let world = try World()
    #expect(try world.enroll(world.folder.client("till-1")).status == 0)
    for (days, span) in [(3.0, 1), (-5.0, 30)] {
      let certificate =
        days > 0
        ? try world.certificate(madeDaysAgo: days, for: span)
        : try Self.ofOtherAuthority(in: world.directory)
      let refused = try Self.error(world.enroll(certificate))
      let code = days > 0 ? "client-certificate-expired" : "client-certificate-refused"
      #expect(refused.code == code, "\(days): \(refused)")
      #expect(refused.all.contains("certificate create --client"), "\(refused)")
    }
    let server = try Self.error(world.enroll(world.folder.server))
    #expect(server.code == "client-certificate-refused", "\(server)")
    // One that ended since the store was enrolled: status and daemon say the same.
    let kept = URL(fileURLWithPath: world.store.path + "-driftless-client")
    let ended = try world.certificate(madeDaysAgo: 3, for: 1)
    try Data(contentsOf: ended).write(to: kept)
    let sync = try Self.error(world.syncctl("sync"))
    #expect(sync.code == "client-certificate-expired", "\(sync)")
    #expect(try world.enroll(world.folder.client("till-1")).status == 0)
    #expect(try world.syncctl("sync").status == 0)
  }

  /// A client's certificate that no server of the test trusts.
  private static func ofOtherAuthority(in directory: TemporaryDirectory) throws -> URL {
    try CertificateFolder(directory.file("other")).createClient("till-1", days: 30).file
  }

  @Test("Files that are no certificate with its key are refused before anything is asked or kept")
  func rubbish() throws {
    let world = try World()
    let whole = try String(contentsOf: world.folder.client("till-1"), encoding: .utf8)
    let end = try #require(whole.range(of: "-----BEGIN CERTIFICATE-----")).lowerBound
    let (key, certificate) = (String(whole[..<end]), String(whole[end...]))
    let rubbish = world.directory.file("rubbish")
    for text in [
      "", "rubbish", certificate, key, whole + key,
      certificate + key.replacingOccurrences(of: "PRIVATE", with: "ENCRYPTED PRIVATE"),
    ] {
      try Data(text.utf8).write(to: rubbish)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: rubbish.path)
      let refused = try Self.error(world.enroll(rubbish))
      #expect(refused.code == "bad-client-certificate", "\(text.prefix(60)): \(refused)")
    }
    let nothing = try Self.error(world.enroll(world.directory.file("nothing")))
    #expect(nothing.code == "bad-client-certificate", "\(nothing)")
    #expect(!FileManager.default.fileExists(atPath: world.store.path + "-driftless-client"))
    // Apart they do as well: the certificate is no secret, the key is.
    let apart = world.directory.file("key.pem")
    try Data(key.utf8).write(to: apart)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: apart.path)
    try Data(certificate.utf8).write(to: rubbish)
    let enrolled = try world.enroll(rubbish, ["--client-key", apart.path])
    #expect(enrolled.status == 0, "\(enrolled.errors)")
    #expect(try world.syncctl("sync").status == 0)
  }

  @Test("SIGHUP takes other authorities of clients, and keeps them where the file is wrong")
  func reloaded() throws {
    let world = try World()
    #expect(try world.enroll(world.folder.client("till-1")).status == 0)
    let own = try Data(contentsOf: world.clients)
    let other = CertificateFolder(world.directory.file("other"))
    let fresh = try other.createClient("till-1", days: 30).file
    try Data("rubbish".utf8).write(to: world.clients)
    world.server.reload()
    try eventually("the log says that the file is wrong") {
      world.server.log.contains("cannot use the clients' authorities")
    }
    #expect(try world.syncctl("sync").status == 0)
    try Data(contentsOf: other.authority).write(to: world.clients)
    world.server.reload()
    try eventually("the log says what changed") { world.server.log.contains("tlsClientCA") }
    #expect(try Self.error(world.syncctl("sync")).code == "client-certificate-refused")
    #expect(try world.enroll(fresh).status == 0)
    // Both at one time, while hosts are told one by one.
    try (own + Data(contentsOf: other.authority)).write(to: world.clients)
    world.server.reload()
    try eventually("hosts of either authority are let in") {
      try world.enroll(world.folder.client("till-1")).status == 0
    }
    #expect(try world.enroll(fresh).status == 0)
  }

  @Test("serve --check looks at the clients' authorities; without TLS they are refused")
  func checked() throws {
    let world = try World()
    func check(_ more: [String], _ environment: [String: String] = [:]) throws -> Outcome {
      try Programs.run(
        "driftless-server", ["serve", "--check", "--data", world.server.data.path] + more,
        environment: environment)
    }
    let said = try check([], ["DRIFTLESS_SERVER_TLS_CLIENT_CA": world.clients.path])
    #expect(said.status == 0, "\(said.errors)")
    #expect(said.output.contains("DRIFTLESS_SERVER_TLS_CLIENT_CA"), "\(said.output)")
    try Data("rubbish".utf8).write(to: world.clients)
    let wrong = try check(["--tls-client-ca", world.clients.path])
    #expect(wrong.status == 65 && wrong.errors.contains("the clients' authorities"), "\(wrong)")
    try FileManager.default.removeItem(at: world.folder.server)
    let plain = try check(["--tls-client-ca", world.clients.path])
    #expect(plain.status == 65 && plain.errors.contains("speaks no TLS"), "\(plain)")
  }
}
