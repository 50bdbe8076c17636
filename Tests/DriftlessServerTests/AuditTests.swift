import DriftlessProtocol
import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// The record of who did what to a server.
@Suite("Who did what")
struct AuditTests {
  enum Kind: CaseIterable, Sendable {
    case folder
    #if PostgreSQL
      case postgres
    #endif
  }

  private static func administering(
    _ kind: Kind, _ body: (any ZoneAdministration) throws -> Void
  ) throws {
    switch kind {
    case .folder:
      let directory = try TemporaryDirectory()
      let administration = try Administration(folder: DataFolder(directory.file("data")))
      defer { administration.close() }
      try withExtendedLifetime(directory) { try body(administration) }
    #if PostgreSQL
      case .postgres:
        let administration = try PostgresAdministration(
          database: PostgresCluster.shared().place())
        defer { administration.close() }
        try body(administration)
    #endif
    }
  }

  @Test(
    "Every command that changes something is there once, with who said it", arguments: Kind.allCases
  )
  func commands(kind: Kind) throws {
    try Self.administering(kind) { administration in
      _ = try administration.createZone("shop")
      let token = try administration.createToken(
        zone: "shop", verbs: [.read], label: "till 3", expiresMilliseconds: nil
      ) { _ in }
      let other = try administration.rotateToken(
        id: token.id, grace: 0, expiresMilliseconds: nil
      ) { _ in }
      try administration.revokeToken(id: other.id)
      let ada = try administration.createOperator(name: "ada", expiresMilliseconds: nil) { _ in }
      try administration.revokeOperator(id: ada.id)
      _ = try administration.renewZone("shop", intent: .replace)
      _ = try administration.renameZone("shop", to: "north")
      for _ in 0..<2 { try administration.markPutBack("north") }
      try administration.deleteZone("north")
      // What is refused changes nothing, and is not there.
      #expect(throws: ServerError.self) { try administration.deleteZone("north") }
      #expect(throws: ServerError.self) { try administration.revokeToken(id: "none") }
      let events = try administration.audit(since: 0)
      #expect(
        events.map(\.act) == [
          .zoneCreated, .tokenCreated, .tokenRotated, .tokenRevoked, .operatorCreated,
          .operatorRevoked, .zoneRenewed, .zoneRenamed, .zonePutBack,
          .zoneDeleted,
        ])
      #expect(events.allSatisfy { $0.actor == AuditEvent.user && $0.count == 1 })
      #expect(events[1].zone == "shop" && events[1].subject == token.id)
      #expect(events[1].detail == "read till 3")
      #expect(events[2].subject == token.id && events[2].detail == "by \(other.id)")
      #expect(events[4].subject == ada.id && events[4].detail == "ada")
      #expect(events[6].detail == "replace" && events[7].subject == "north")
      let secrets = [token.text, other.text, ada.text]
      #expect(!secrets.contains { "\(events)".contains($0) })
      let last = try #require(events.last).timeMilliseconds
      #expect(try administration.audit(since: last + 1).isEmpty)
    }
  }

  @Test("A token that could not be handed out is told of as taken back", arguments: Kind.allCases)
  func notHandedOut(kind: Kind) throws {
    struct Refused: Error {}
    try Self.administering(kind) { administration in
      _ = try administration.createZone("shop")
      #expect(throws: Refused.self) {
        try administration.createToken(
          zone: "shop", verbs: [.read], label: nil, expiresMilliseconds: nil
        ) { _ in throw Refused() }
      }
      #expect(
        try administration.audit(since: 0).map(\.act) == [
          .zoneCreated, .tokenCreated, .tokenRevoked,
        ])
    }
  }

  @Test("Who tries tokens is counted by address, and pushes out nothing that others did")
  func bounds() throws {
    try Self.administering(.folder) { administration in
      let connection = try #require(administration as? Administration).connection
      let day: Int64 = 86_400_000
      let now = Administration.hostMilliseconds
      try connection.transaction(.immediate) {
        try AuditLog.add(
          AuditEvent(.zoneDeleted, zone: "long gone", at: now - 500 * day), on: connection)
        try AuditLog.add(AuditEvent(.zoneCreated, zone: "shop", at: now), on: connection)
        for number in 0..<10_050 {
          try AuditLog.add(
            AuditEvent(.refused, by: "192.0.2.\(number)", at: now), on: connection)
        }
      }
      let events = try administration.audit(since: 0)
      #expect(events.first?.zone == "shop", "what is older than 400 days is gone")
      #expect(events.count == 10_001)
      #expect(events.last?.actor == "192.0.2.10049")
      // As after a month of them.
      try connection.execute("UPDATE audit SET id = id + 300000 WHERE act = 'refused'")
      try connection.transaction(.immediate) {
        try AuditLog.add(AuditEvent(.refused, by: "192.0.2.1", at: now), on: connection)
      }
      #expect(try administration.audit(since: 0).first?.zone == "shop")
    }
  }

  /// Puts so many lines of one act into the record, as they have come by themselves.
  private static func fill(
    _ count: Int64, _ act: AuditEvent.Act, _ administration: any ZoneAdministration
  ) throws {
    let now = Administration.hostMilliseconds
    #if PostgreSQL
      if let postgres = administration as? PostgresAdministration {
        try postgres.connection.run(
          """
          INSERT INTO audit(time_ms, actor, act, count)
          SELECT $1::bigint, 'ada', $2::text, 1 FROM generate_series(1, $3::bigint)
          """, .integer(now), .text(act.rawValue), .integer(count))
        return try postgres.connection.transaction(.write) {
          try PostgresAudit.add(AuditEvent(act, by: "last", at: now), on: postgres.connection)
        }
      }
    #endif
    let connection = try #require(administration as? Administration).connection
    try connection.transaction(.immediate) {
      try connection.run(
        """
        WITH RECURSIVE step(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM step WHERE at < ?3)
        INSERT INTO audit(time_ms, actor, act, count) SELECT ?1, 'ada', ?2, 1 FROM step
        """, .integer(now), .text(act.rawValue), .integer(count))
      try AuditLog.add(AuditEvent(act, by: "last", at: now), on: connection)
    }
  }

  @Test(
    "Operators who sign in without an end push out their own lines alone", arguments: Kind.allCases)
  func signIns(kind: Kind) throws {
    try Self.administering(kind) { administration in
      _ = try administration.createZone("shop")
      try Self.fill(100, .refused, administration)
      try Self.fill(95_000, .signedIn, administration)
      let events = try administration.audit(since: 0)
      #expect(events.first?.act == .zoneCreated)
      #expect(events.filter { $0.act == .refused }.count == 101)
      #expect(events.filter { $0.act == .signedIn }.count == Int(AuditBounds.signInsMax))
      #expect(events.last?.actor == "last")
      try Self.fill(1, .tokenCreated, administration)
      #expect(try administration.audit(since: 0).count == events.count + 2)
    }
  }

  @Test("A token that signs in again and again is told to come back, and another one is let in")
  func signInRate() async throws {
    var limits = ServerLimits()
    (limits.rateSeconds, limits.signInsPerTokenMax) = (3600, 3)
    try await withServer(limits: limits) { server in
      let administration = try Administration(folder: DataFolder(server.data))
      defer { administration.close() }
      let (ada, bob) = (
        try administration.createOperator(name: "ada"),
        try administration.createOperator(name: "bob")
      )
      var statuses: [Int] = []
      for _ in 0..<5 { statuses.append(try await Self.signIn(server, ada)) }
      #expect(statuses == [303, 303, 303, 429, 429])
      #expect(try await Self.signIn(server, bob) == 303)
      let lines = try administration.audit(since: 0).filter { $0.act == .signedIn }
      #expect(lines.map(\.actor) == ["ada", "ada", "ada", "bob"])
    }
  }

  private static func signIn(_ server: LiveServer, _ token: AccessToken) async throws -> Int {
    let response = try await server.request(
      "POST", "/sign-in", headers: ["Content-Type: application/x-www-form-urlencoded"],
      body: Data("token=\(token.text)".utf8))
    return response.status
  }

  @Test("A server tells of sign-ins, of refused tokens and of limits that were changed")
  func served() async throws {
    try await withServer { server in
      let administration = try Administration(folder: DataFolder(server.data))
      defer { administration.close() }
      let operatorToken = try administration.createOperator(name: "ada")
      #expect(try await Self.signIn(server, operatorToken) == 303)
      for _ in 0..<3 { #expect(try await Self.signIn(server, .mint()) == 401) }
      let path = "/v1/zones/shop"
      for _ in 0..<2 {
        #expect(
          try await server.request("GET", path, token: AccessToken.mint().text).status == 401)
      }
      // Who shows no token tries none.
      #expect(try await server.request("GET", path).status == 401)
      await server.server.refusals.write()
      var options = server.server.options
      options.limits.waitersMax = 7
      _ = try server.server.reload(options)
      var events: [AuditEvent] = []
      let deadline = ContinuousClock.now + .seconds(60)
      while !events.contains(where: { $0.act == .limitsChanged }), ContinuousClock.now < deadline {
        events = try administration.audit(since: 0)
        await Task.yield()
      }
      let signedIn = events.first { $0.act == .signedIn }
      #expect(signedIn?.actor == "ada" && signedIn?.subject == operatorToken.id)
      let refused = events.filter { $0.act == .refused }
      #expect(Set(refused.map(\.count)) == [2, 3])
      #expect(refused.allSatisfy { $0.actor == "127.0.0.1" })
      #expect(
        events.first { $0.act == .limitsChanged }?.detail == "waitersMax 4096 → 7")
    }
  }

  @Test("A backup's record is told where another server was begun, beside that one's own")
  func restoredElsewhere() async throws {
    let world = try await BackupWorld()
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("other"))
    let administration = try Administration(folder: folder)
    _ = try administration.createOperator(name: "ada")
    administration.close()
    for _ in 0..<2 {
      _ = try world.backup.restore(to: folder, .init(deletedZones: .restore))
    }
    let other = try Administration(folder: folder)
    defer { other.close() }
    let acts = try other.audit(since: 0).map(\.act)
    #expect(acts.filter { $0 == .tokenCreated }.count == 2, "\(acts)")
    #expect(acts.filter { $0 == .operatorCreated }.count == 1)
    #expect(acts.suffix(2) == [.restored, .restored])
  }

  @Test("What was done since a backup is told after it was put back")
  func restored() async throws {
    let world = try await BackupWorld()
    _ = try world.backup.restore(to: world.folder)
    let events = try world.administering { try $0.audit(since: 0) }
    #expect(events.contains { $0.act == .tokenRevoked && $0.subject == world.revoked.id })
    #expect(events.last?.act == .restored)
    #expect(events.last?.subject == "copy.sqlite")
  }
}
