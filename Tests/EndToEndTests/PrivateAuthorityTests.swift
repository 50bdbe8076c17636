import DriftlessServer
import Foundation
import ServerCertificates
import TestSupport
import Testing

/// A server with a private authority, and hosts that are told of it once.
@Suite(.serialized) struct PrivateAuthorityTests {
  /// A zone behind TLS, with the certificate that `certificate create` makes.
  private struct World {
    let directory: TemporaryDirectory
    let server: ServerProcess
    let token: String
    let model: URL
    let store: URL
    let zone = "items"

    var folder: CertificateFolder { CertificateFolder(data: server.data) }
    var authority: URL { folder.authority }

    init(listen: String = "127.0.0.1:0") throws {
      directory = try TemporaryDirectory()
      let data = directory.file("server")
      model = try writeModel(EmbeddedReplica.model.xml, named: "Items", in: directory)
      let host = directory.file("host")
      try FileManager.default.createDirectory(at: host, withIntermediateDirectories: true)
      store = host.appendingPathComponent("a.sqlite")
      for command in [["zone", "create", zone], ["certificate", "create", "--name", "h.example"]] {
        let made = try Programs.run("driftless-server", command + ["--data", data.path])
        try #require(made.status == 0, "\(made.errors)")
      }
      server = ServerProcess(data: data, listen: listen)
      let file = CertificateFolder(data: data).server.path
      server.options = ["--tls-certificate", file, "--tls-key", file]
      token = try server.token(zone: zone)
      try server.start()
      let made = try Programs.run(
        "syncctl", ["init", "--store", store.path, "--model", model.path])
      try #require(made.status == 0, "\(made.errors)")
    }

    func syncctl(_ arguments: [String], environment: [String: String] = [:]) throws -> Outcome {
      try Programs.run("syncctl", arguments, environment: environment)
    }

    func enroll(
      _ more: [String] = [], at address: String? = nil, environment: [String: String] = [:]
    ) throws -> Outcome {
      try syncctl(
        [
          "enroll", "--store", store.path, "--server", address ?? server.address, "--zone", zone,
        ] + more, environment: environment.merging(["SYNCCTL_TOKEN": token]) { $1 })
    }

    func sync() throws -> Outcome { try syncctl(["sync", "--store", store.path]) }

    /// Makes the server's certificate anew as of another time, and serves it.
    func serveCertificate(madeAt time: Date, days: Int) throws {
      server.kill()
      _ = try folder.create(
        names: [], days: days, replacesAuthority: true, now: time)
      try server.start()
    }
  }

  private static func error(_ outcome: Outcome) throws -> [String: Any] {
    let object = try JSONSerialization.jsonObject(with: Data(outcome.errors.utf8))
    return try #require((object as? [String: Any])?["error"] as? [String: Any])
  }

  @Test(
    "The authority that enroll --ca names is kept: sync, doctor and syncd need not be told again")
  func kept() throws {
    let world = try World()
    let untrusted = try world.enroll()
    #expect(untrusted.status == 69)
    #expect(untrusted.errors.contains("--ca authority.pem"), "\(untrusted.errors)")
    let copy = world.directory.file("authority.pem")
    try FileManager.default.copyItem(at: world.authority, to: copy)
    let enrolled = try world.enroll(["--ca", copy.path])
    #expect(enrolled.status == 0, "\(enrolled.errors)")
    try FileManager.default.removeItem(at: copy)
    for command in ["sync", "push", "pull", "doctor"] {
      let outcome = try world.syncctl([command, "--store", world.store.path])
      #expect(outcome.status == 0, "\(command): \(outcome.output)\(outcome.errors)")
    }
    // Also where the environment names another file, which may be meant for other programs.
    let other = try world.syncctl(
      ["sync", "--store", world.store.path], environment: ["SSL_CERT_FILE": "/dev/null"])
    #expect(other.status == 0, "\(other.errors)")
    // Enrolling again keeps it, as it keeps what else was not said.
    #expect(try world.enroll().status == 0)
    #expect(try world.sync().status == 0)
    let daemon = try DaemonProcess(stores: [world.store], in: world.directory.url)
    try eventually("the daemon keeps the store in step") {
      let status = try world.syncctl(["status", "--store", world.store.path, "--json"])
      return status.output.contains(#""activity":"listening""#)
    }
    #expect(daemon.stop() == 0)
    // The system's authorities do not know this one.
    #expect(try world.enroll(["--ca", "system"]).status == 69)
    #expect(try world.sync().status == 0, "an enrolment that failed changes nothing")
  }

  @Test(
    "A renewed certificate needs nothing on hosts; a new authority is refused until it is named")
  func renewed() throws {
    let world = try World()
    #expect(try world.enroll(["--ca", world.authority.path]).status == 0)
    func create(_ more: [String] = []) throws {
      world.server.kill()
      let made = try Programs.run(
        "driftless-server", ["certificate", "create", "--data", world.server.data.path] + more)
      try #require(made.status == 0, "\(made.errors)")
      try world.server.start()
    }
    try create()
    #expect(try world.sync().status == 0)
    try create(["--force"])
    let refused = try world.sync()
    #expect(refused.status == 69)
    #expect(refused.errors.contains("--ca authority.pem"), "\(refused.errors)")
    #expect(try world.enroll(["--ca", world.authority.path]).status == 0)
    #expect(try world.sync().status == 0)
  }

  @Test(
    "A wrong name, a certificate that has ended and one that has not begun each have a code and a way out"
  )
  func refusals() throws {
    let world = try World(listen: "127.0.0.2:0")
    let ca = ["--ca", world.authority.path, "--json"]
    let other = try Self.error(world.enroll(ca))
    #expect(other["code"] as? String == "wrong-host-name", "\(other)")
    #expect((other["suggestion"] as? String)?.contains("certificate create --name") == true)
    world.server.kill()
    let named = try Programs.run(
      "driftless-server",
      ["certificate", "create", "--name", "127.0.0.2", "--data", world.server.data.path])
    try #require(named.status == 0)
    try world.server.start()
    #expect(try world.enroll(ca).status == 0)
    for (days, span) in [(-3.0, 1), (5.0, 30)] {
      try world.serveCertificate(madeAt: Date(timeIntervalSinceNow: days * 86_400), days: span)
      let refused = try Self.error(world.enroll(["--ca", world.authority.path, "--json"]))
      #expect(refused["code"] as? String == "certificate-expired", "\(days): \(refused)")
      #expect((refused["suggestion"] as? String)?.contains("clock") == true)
      #expect((refused["message"] as? String)?.contains("\n") == false)
    }
  }

  @Test("A file that is no file of authorities is refused before anything is asked or kept")
  func rubbish() throws {
    let world = try World()
    let rubbish = world.directory.file("rubbish")
    let whole = try String(contentsOf: world.authority, encoding: .utf8)
    let texts = [
      "", "rubbish", String(whole.dropLast(60)), whole + "\n-----BEGIN CERTIFICATE-----\nAAAA\n",
      "-----BEGIN CERTIFICATE-----\n%%%%\n-----END CERTIFICATE-----\n",
      try String(contentsOf: world.folder.authorityKey, encoding: .utf8),
      String(repeating: "x", count: 2 << 20),
    ]
    for text in texts {
      try Data(text.utf8).write(to: rubbish)
      let refused = try Self.error(world.enroll(["--ca", rubbish.path, "--json"]))
      #expect(refused["code"] as? String == "bad-authority", "\(text.prefix(80)): \(refused)")
      #expect(refused["status"] as? Int == 65)
    }
    for path in [world.directory.file("nothing").path, world.directory.url.path, "/dev/null"] {
      let refused = try Self.error(world.enroll(["--ca", path, "--json"]))
      #expect(refused["code"] as? String == "bad-authority", "\(path): \(refused)")
    }
    #expect(!FileManager.default.fileExists(atPath: world.store.path + "-driftless-ca"))
    #expect(try world.enroll(["--ca", world.authority.path]).status == 0)
    // What lies beside the store was damaged since.
    try Data("rubbish".utf8).write(
      to: URL(fileURLWithPath: world.store.path + "-driftless-ca"))
    let damaged = try world.syncctl(["sync", "--store", world.store.path, "--json"])
    #expect(try Self.error(damaged)["code"] as? String == "bad-authority", "\(damaged.errors)")
    // In the environment it is libcurl that finds out.
    try FileManager.default.removeItem(atPath: world.store.path + "-driftless-ca")
    let named = try world.syncctl(
      ["sync", "--store", world.store.path, "--json"], environment: ["SSL_CERT_FILE": rubbish.path])
    let failure = try Self.error(named)
    #expect(failure["code"] as? String == "bad-authority-file", "\(failure)")
    #expect((failure["message"] as? String)?.contains(rubbish.path) == true)
  }

  @Test("syncd takes a store's authorities from its setting, and --check says where there are none")
  func setting() throws {
    let world = try World()
    #expect(
      try world.enroll(environment: ["SSL_CERT_FILE": world.authority.path]).status == 0)
    #expect(try world.sync().status == 69)
    let file = world.directory.file("syncd.json")
    func check(_ authority: String) throws -> Outcome {
      let stores = [["path": world.store.path, "authorityFile": authority]]
      try JSONSerialization.data(withJSONObject: ["socket": "d.sock", "stores": stores])
        .write(to: file)
      return try Programs.run("syncd", ["--config", file.path, "--check"])
    }
    let missing = try check("nothing.pem")
    #expect(missing.status == 65)
    #expect(missing.errors.contains("nothing.pem is no file of authorities"), "\(missing.errors)")
    #expect(try check(world.authority.path).errors.isEmpty)
    let daemon = try DaemonProcess(
      stores: [world.store], in: world.directory.url,
      settings: ["authorityFile": world.authority.path])
    try eventually("the daemon keeps the store in step") {
      let status = try world.syncctl(["status", "--store", world.store.path, "--json"])
      return status.output.contains(#""activity":"listening""#)
    }
    #expect(daemon.stop() == 0)
  }

  @Test(
    "Killed at any change, enroll --ca leaves a store that syncs or is enrolled by the next one")
  func killedEnrolment() throws {
    let world = try World()
    let arguments = [
      "enroll", "--store", world.store.path, "--server", world.server.address,
      "--zone", world.zone, "--ca", world.authority.path,
    ]
    let host = world.store.deletingLastPathComponent()
    try FileFault.atEachChange(few: 12) { number, _ in
      let outcome = try Programs.run(
        "syncctl", arguments,
        environment: try FileFault(.kill, at: number, below: host).environment()
          .merging(["SYNCCTL_TOKEN": world.token]) { $1 })
      if !outcome.wasKilled { #expect(outcome.status == 0, "\(number): \(outcome.errors)") }
      return !outcome.wasKilled
    }
    #expect(try world.sync().status == 0)
    let beside = try FileManager.default.contentsOfDirectory(atPath: host.path)
    #expect(beside.contains("a.sqlite-driftless-ca"))
  }
}
