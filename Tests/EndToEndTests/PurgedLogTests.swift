import DriftlessSync
import Foundation
import TestSupport
import Testing

/// `driftless-server zone purge` beside a server that serves the zone.
@Suite(.serialized) struct PurgedLogTests {
  private let world: FaultWorld
  private let writer: EmbeddedReplica

  init() async throws {
    (world, writer) = try await FaultWorld.withLog()
  }

  private func purge(
    _ options: [String] = ["--tried"], _ fault: (kind: FileFault.Kind, number: Int)? = nil
  ) throws -> Outcome {
    let environment = try fault.map {
      try FileFault($0.kind, at: $0.number, below: world.server.data).environment()
    }
    return try Programs.run(
      "driftless-server",
      ["zone", "purge", world.zone, "--keep-days", "0", "--replica-days", "0"] + options
        + ["--data", world.server.data.path], environment: environment ?? [:])
  }

  /// Waits until the server has written down that who was there last has all of the log: it keeps that in memory for a minute, and
  /// writes it for who asks for its figures. Then nothing but the last entry keeps a floor down.
  private func noted() throws {
    try eventually("it is written down where the writer stands") {
      try world.server.figures().contains("driftless_zones")
        && SQLiteFile.number(
          """
          SELECT asked = (SELECT head FROM zone) FROM sighting ORDER BY seen_ms DESC LIMIT 1
          """, in: world.server.data.appendingPathComponent("driftless.sqlite")) == 1
    }
  }

  /// The log ends with one entry that has its change set: all others went, and it did not.
  private func expectPurged(_ comment: String) throws {
    let database = world.server.data.appendingPathComponent("driftless.sqlite")
    let kept = try SQLiteFile.number("SELECT count(*) FROM log", in: database)
    #expect(kept == 1, "\(comment)")
    let floor = try SQLiteFile.number(
      "SELECT floor - (SELECT head FROM zone) FROM purge", in: database)
    #expect(floor == -1, "\(comment)")
  }

  private func expectWhole(_ comment: String) throws {
    let verified = try Programs.run(
      "driftless-server", ["verify", "--data", world.server.data.path])
    #expect(verified.status == 0, "\(comment): \(verified.output)\(verified.errors)")
  }

  @Test("A log is purged while it is served; who joins, who was there and who is told go on")
  func purges() async throws {
    let away = try await world.embedded("away")
    _ = try await away.engine.sync()
    try writer.count("since then")
    _ = try await writer.engine.sync()
    try noted()
    let refused = try purge([])
    #expect(refused.status == 1 && refused.errors.contains("--tried"), "\(refused.errors)")
    let dry = try purge(["--dry-run"])
    #expect(dry.output.contains("would purge zone items up to 12 of 13"), "\(dry.output)")
    #expect(!dry.output.contains("never seen"), "\(dry.output)")
    let done = try purge()
    #expect(done.status == 0, "\(done.errors)")
    #expect(done.output.hasPrefix("purged zone items up to 12 of 13, "), "\(done.output)")
    #expect(done.output.contains("snapshot 13, "))
    try expectPurged("purged")
    #expect(try purge().output.hasPrefix("nothing to purge of zone items: its floor stays 12"))
    let list = try Programs.run(
      "driftless-server", ["zone", "list", "--data", world.server.data.path])
    #expect(list.output.contains("\tfloor 12"))
    let audit = try Programs.run("driftless-server", ["audit", "--data", world.server.data.path])
    #expect(audit.output.contains("zone-purged"))
    try expectWhole("purged")
    let newcomer = try await world.embedded("newcomer")
    for replica in [away, newcomer, writer] {
      try replica.count("of each")
      _ = try await replica.engine.sync()
    }
    for replica in [away, newcomer] { _ = try await replica.engine.sync() }
    let head = try SyncEngine.status(of: writer.store).cursor
    for replica in [away, newcomer] {
      #expect(try SyncEngine.status(of: replica.store).cursor == head)
    }
  }

  @Test("A zone whose log was purged begins anew only by a word that says what goes with it")
  func renews() async throws {
    try noted()
    #expect(try purge().status == 0)
    try expectPurged("purged")
    func renew(_ options: [String]) throws -> Outcome {
      try Programs.run(
        "driftless-server",
        ["zone", "renew", world.zone, "--yes"] + options + ["--data", world.server.data.path])
    }
    let refused = try renew([])
    #expect(refused.status != 0 && refused.errors.contains("--drop-purged"), "\(refused.errors)")
    #expect(refused.errors.contains("only copy"), "\(refused.errors)")
    try expectWhole("refused")
    try writer.count("and on")
    _ = try await writer.engine.sync()
    let done = try renew(["--drop-purged"])
    #expect(done.status == 0, "\(done.errors)")
    #expect(try renew([]).status == 0, "it has no floor any more")
  }

  @Test(
    "F6 F10 Killed at any write, or with a full disk, a purge has changed nothing or goes on",
    arguments: [FileFault.Kind.kill, .full])
  func failing(kind: FileFault.Kind) async throws {
    try await FileFault.atEachChange(few: 2, every: 7) { number, _ in
      try writer.count("before \(number)")
      _ = try await writer.engine.sync()
      try noted()
      let outcome = try purge(["--tried"], (kind, number))
      try expectWhole("\(kind) \(number)")
      if outcome.status == 0 { try expectPurged("\(kind) \(number)") }
      try writer.count("after \(number)")
      _ = try await writer.engine.sync()
      try noted()
      let again = try purge()
      #expect(again.status == 0, "\(number): \(again.errors)")
      try expectPurged("\(kind) \(number), and again")
      try expectWhole("\(kind) \(number), and again")
      let newcomer = try await world.embedded("newcomer \(number)")
      _ = try await newcomer.engine.sync()
      #expect(
        try SyncEngine.status(of: newcomer.store).cursor
          == SyncEngine.status(of: writer.store).cursor)
      return outcome.status == 0
    }
  }
}
