import DriftlessProtocol
import DriftlessSQLite
import DriftlessServer
import Foundation
import Testing

/// What is done to a server's database behind its back is noticed, by the server and by `verify`.
@Suite("Damaged databases", .serialized)
struct DatabaseCheckTests {
  /// A zone with inserts, updates, a delete and a revival.
  private func fill(_ server: LiveServer, token: AccessToken) async throws {
    var maker = FrameMaker(try await server.zone())
    for step in 0..<5 as Range<UInt64> {
      let frame =
        switch step {
        case 0: try maker.insert(3)
        case 1: try maker.update([1, 2])
        case 2: try maker.touch(.delete, [3])
        case 3: try maker.touch(.revive, [3])
        default: try maker.insert(2)
        }
      _ = try await server.accepted(frame, token: token)
      maker.cursor = try await server.cursor(at: step + 1)
    }
    // A part of a push whose last one has not come.
    let parts = try Self.parts(&maker)
    #expect(try await server.push(parts[0], token: token).status == 200)
  }

  private static func parts(_ maker: inout FrameMaker) throws -> [Data] {
    var parts = [try maker.insert(2)]
    maker.number -= 1
    parts.append(try maker.insert(2))
    ChangeSetEncoder.number(&parts[0], part: 1, of: 2, mebibytes: 1, after: nil)
    ChangeSetEncoder.number(&parts[1], part: 2, of: 2, mebibytes: 0, after: parts[0])
    return parts
  }

  @Test("A part that waits, and that the disk has changed, is sent again")
  func damagedPart() async throws {
    for sql in [
      "UPDATE staged SET frame = CAST(substr(frame, 1, length(frame) - 1) || x'07' AS BLOB)",
      "UPDATE staged SET frame = zeroblob(length(frame))",
    ] {
      try await withServer { server in
        let token = try server.token()
        var maker = FrameMaker(try await server.zone())
        let parts = try Self.parts(&maker)
        #expect(try await server.push(parts[0], token: token).status == 200)
        try change(server, sql)
        let refused = try await server.push(parts[1], token: token)
        #expect(refused.code == "not-staged", "\(sql)")
        #expect(try await server.push(parts[0], token: token).status == 200)
        _ = try await server.accepted(parts[1], token: token)
        #expect(try await server.zone().head == 2)
      }
    }
  }

  private func change(_ server: LiveServer, _ sql: String) throws {
    let connection = try SQLiteConnection(
      path: DataFolder(server.data).database.path, mode: .readWrite)
    defer { connection.close() }
    try connection.execute(sql)
  }

  private func verify(_ server: LiveServer) throws -> DatabaseCheck.Outcome {
    let administration = try Administration(folder: DataFolder(server.data))
    defer { administration.close() }
    return try administration.verify()
  }

  /// One byte of an entry's values becomes another.
  private static func flip(_ sequence: Int) -> String {
    """
    UPDATE log SET body = CAST(substr(body, 1, length(body) - 1) AS BLOB)
      || CASE WHEN substr(body, -1) = x'00' THEN x'01' ELSE x'00' END
    WHERE position & 0xffffffff = \(sequence)
    """
  }

  @Test("F8 An entry whose bytes were changed is told of once, in log, health and metrics")
  func damagedEntry() async throws {
    try await withServer { server in
      let token = try server.token()
      try await fill(server, token: token)
      try change(server, Self.flip(2))
      #expect(!server.log.text.contains("level=error"))
      for after in [1, 0, 1, 3] as [UInt64] {
        // The page is sent as it is: replicas refuse the entry, each for itself.
        let chain = try await server.cursor(at: after).chain
        let path =
          "/v1/zones/shop/changes?generation=\(try await server.zone().generation)"
          + "&after=\(after)&chain=\(chain)"
        #expect(try await server.request("GET", path, token: token.text).status == 200)
      }
      let lines = server.log.text.split(separator: "\n").filter { $0.contains("damaged") }
      #expect(lines.count == 1, "\(lines)")
      #expect(lines.first?.contains("sequence=2") == true, "\(lines)")
      #expect(lines.first?.contains("zone=shop") == true, "\(lines)")
      let health = try await server.request("GET", "/healthz")
      #expect(String(decoding: health.body, as: UTF8.self).contains(#""damagedEntries":1"#))
      let metrics = try await server.request("GET", "/metrics")
      #expect(String(decoding: metrics.body, as: UTF8.self).contains("driftless_damaged_entries 1"))
      let damage = try verify(server).damage
      #expect(damage.map(\.place) == ["entry 2"])
      #expect(damage.first?.zone == "shop")
      #expect(damage.first?.suggestion.contains("restore") == true)
      // What the operator did about it counts.
      let administration = try Administration(folder: DataFolder(server.data))
      _ = try administration.renewZone("shop", intent: .offer)
      administration.close()
      let mended = try await server.request("GET", "/healthz")
      #expect(String(decoding: mended.body, as: UTF8.self).contains(#""status":"ok""#))
    }
  }

  @Test("A whole database is whole, also while it is written, and after a renewal")
  func whole() async throws {
    try await withServer(zones: ["shop", "other"]) { server in
      let token = try server.token()
      try await fill(server, token: token)
      var outcome = try verify(server)
      #expect(outcome.damage == [])
      #expect(outcome.entries == 5)
      #expect(outcome.zones == 2)
      let administration = try Administration(folder: DataFolder(server.data))
      _ = try administration.renewZone("shop", intent: .offer)
      administration.close()
      outcome = try verify(server)
      #expect(outcome.damage == [])
      #expect(outcome.entries == 0)
    }
  }

  @Test(
    "F8 What is wrong in any table is named",
    arguments: [
      (flip(3), "log"), ("DELETE FROM log WHERE position & 255 = 3", "log"),
      ("DELETE FROM log WHERE position & 255 = 5", "log"),
      ("UPDATE log SET chain = zeroblob(16) WHERE position & 255 = 2", "log"),
      ("UPDATE log SET digest = zeroblob(16) WHERE position & 255 = 2", "log"),
      ("UPDATE log SET size = 7 WHERE position & 255 = 2", "log"),
      ("UPDATE log SET number = 99 WHERE position & 255 = 5", "log"),
      ("INSERT INTO log SELECT 9 << 40, 9, 9, 1, 0, 0, x'', x'', x'', 0, x'', x''", "log"),
      ("UPDATE zone SET head = 4", "log"), ("UPDATE zone SET chain = zeroblob(16)", "zone"),
      ("UPDATE zone SET next_object = 9", "zone"), ("UPDATE zone SET uuid = x'01'", "zone"),
      ("UPDATE object SET base = 99 WHERE position & 255 = 3", "object"),
      ("UPDATE object SET properties = x'ff' WHERE position & 255 = 1", "object"),
      ("UPDATE object SET named_by = 77 WHERE position & 255 = 1", "object"),
      ("DELETE FROM identity", "identity"),
      ("UPDATE identity SET count = 2 WHERE number = 1", "identity"),
      ("INSERT INTO claim VALUES(1, zeroblob(16), 1, 5)", "claim"),
      ("INSERT INTO tombstone VALUES(1, zeroblob(16), 99)", "tombstone"),
      ("UPDATE replica SET last_push = 1", "replica"),
      ("UPDATE token SET hash = x'01'", "token"), ("DELETE FROM zone", "token"),
      ("INSERT INTO token_note VALUES('none', 'x', NULL)", "token_note"),
      ("INSERT INTO key_rule(name) VALUES('none')", "key_rule"),
      ("UPDATE property SET name = ''", "property"),
      ("UPDATE clock SET given_ms = -1", "clock"),
      ("UPDATE clock SET given_ms = 9223372036854775807", "clock"),
      ("UPDATE clock SET given_ms = 'noon'", "clock"), ("DROP TABLE claim", "file"),
      (
        "INSERT INTO sighting(zone, replica, cursor, token, seen_ms) VALUES(7, zeroblob(16), 1, '', 1)",
        "sighting"
      ),
      ("INSERT INTO staging VALUES(zeroblob(16), 9, 1)", "staging"),
      ("UPDATE staging SET touched_ms = 'noon'", "staging"), ("DELETE FROM staging", "staged"),
      ("UPDATE staged SET frame = CAST(frame || x'00' AS BLOB)", "staged"),
      ("UPDATE staged SET frame = CAST(substr(frame, 1, 200) AS BLOB)", "staged"),
      ("UPDATE staged SET part = 2", "staged"), ("UPDATE staged SET number = 3", "staged"),
      ("UPDATE staged SET zone = 9", "staged"),
    ] as [(String, String)])
  func named(sql: String, table: String) async throws {
    try await withServer { server in
      let token = try server.token()
      try await fill(server, token: token)
      _ = await server.server.storage.time()
      try change(server, sql)
      let damage = try verify(server).damage
      #expect(damage.contains { $0.table == table }, "\(damage)")
      #expect(damage.allSatisfy { !$0.message.isEmpty && !$0.suggestion.isEmpty })
    }
  }
}
