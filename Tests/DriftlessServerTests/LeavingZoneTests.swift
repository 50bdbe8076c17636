import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import Logging
import ProgramStart
import Synchronization
import TestSupport
import Testing

@testable import DriftlessServer

/// What a deleted zone has goes in steps of a bounded size, and what cannot go is told and tried again.
@Suite("Zones that are leaving", .serialized) struct LeavingZoneTests {
  private final class Log: Sendable {
    private let lines = Mutex<[String]>([])
    var text: String { lines.withLock { $0.joined(separator: "\n") } }
    var logger: Logger {
      Logger(label: "test") { label in
        LineLogHandler(label: label) { line in self.lines.withLock { $0.append(line) } }
      }
    }
  }

  @Test("What cannot go is told, stays nobody's, and goes when it can")
  func refused() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    _ = try await test.storage.append(
      TestReplica().push(1, zone.generation, inserts: [.init(first: UUID(), count: 1)]), to: zone)
    test.storage.close()
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    let connection = administration.connection
    try connection.execute(
      """
      CREATE TRIGGER no BEFORE DELETE ON identity BEGIN SELECT raise(ABORT, 'no such luck'); END
      """)
    let rest = try #require(try administration.deleteZone("shop"))
    #expect(rest.message.contains("zone shop is deleted"), "\(rest)")
    #expect(rest.message.contains("no such luck"), "\(rest)")
    #expect(try administration.zones().isEmpty)
    func left() throws -> Int64? { try connection.integer("SELECT count(*) FROM identity") }
    #expect(try left() == 1)
    let log = Log()
    let storage = try SQLiteZoneStorage(folder: test.folder, logger: log.logger)
    defer { storage.close() }
    await storage.letGoOfForgotten()
    #expect(log.text.contains("what is left of deleted zones"), "\(log.text)")
    #expect(try left() == 1)
    #expect(try administration.verify().damage == [])
    try connection.execute("DROP TRIGGER no")
    await storage.letGoOfForgotten()
    #expect(try left() == 0)
    #expect(try connection.integer("SELECT count(*) FROM zone") == 0)
  }

  @Test("A deletion that found no room leaves the connection overwriting what it deletes")
  func overwrites() throws {
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("data"))
    let administration = try Administration(folder: folder)
    defer { administration.close() }
    _ = try administration.createZone("shop")
    folder.reserve.keep(1 << 16)
    let connection = administration.connection
    try connection.execute("PRAGMA secure_delete=ON")
    let pages = try #require(try connection.integer("PRAGMA page_count"))
    try connection.execute("PRAGMA max_page_count=\(pages)")
    // The line that says who deleted the zone has no room.
    #expect(throws: SQLiteError.self) {
      while true {
        try connection.execute(
          "INSERT INTO audit(time_ms, actor, act, count) VALUES(0, 'test', 'zone-created', 1)")
      }
    }
    #expect(throws: (any Error).self) { try administration.deleteZone("shop") }
    #expect(try administration.zones().map(\.name) == ["shop"])
    #expect(try connection.integer("PRAGMA secure_delete") == 1)
  }

  private static let count = 5_000

  /// Rows of all kinds that a zone has and that are not of its log.
  private static func fill(_ zone: Int64, _ connection: SQLiteConnection) throws {
    let numbers =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) "
    for insert in [
      "replica(zone, uuid, last_push) SELECT \(zone), randomblob(16), 0",
      "token SELECT printf('%016x', i), randomblob(32), \(zone), 3, 0, NULL",
      "token_note SELECT printf('%016x', i), 'n', NULL",
      "token_binding SELECT printf('%016x', i), NULL",
      "zone_property SELECT \(zone), i",
      "staging SELECT randomblob(16), \(zone), 0",
      "sighting(zone, replica, cursor, token, seen_ms) SELECT \(zone), randomblob(16), 0, '', 0",
      "forgotten_replica SELECT \(zone), randomblob(16)",
    ] { try connection.execute("\(numbers) INSERT INTO \(insert) FROM n") }
  }

  private static let tables = [
    "replica", "token", "token_note", "token_binding", "zone_property", "staging", "sighting",
    "forgotten_replica",
  ]

  /// No step takes more rows than may go at once.
  private static func expectSteps(
    _ tables: [String], count: @escaping (String) throws -> Int64,
    delete: (_ between: () throws -> Void) throws -> ServerError?
  ) throws {
    var before = try tables.map(count)
    #expect(before.allSatisfy { $0 >= Self.count }, "\(before)")
    func look() throws {
      let now = try tables.map(count)
      for (index, table) in tables.enumerated() {
        let gone = before[index] - now[index]
        #expect(gone <= Int64(LeavingZones.rowsAtOnce), "\(gone) rows of \(table) went at once")
      }
      before = now
    }
    #expect(try delete(look) == nil)
    try look()
    #expect(before.allSatisfy { $0 == 0 }, "\(before)")
  }

  @Test("In a folder all that is not of the log goes in steps as well")
  func steps() throws {
    let directory = try TemporaryDirectory()
    let administration = try Administration(folder: DataFolder(directory.file("data")))
    defer { administration.close() }
    let connection = administration.connection
    try Self.fill(administration.createZone("shop").id, connection)
    func count(_ table: String) throws -> Int64 {
      try connection.integer("SELECT count(*) FROM \(table)") ?? -1
    }
    try Self.expectSteps(Self.tables, count: count) {
      try administration.deleteZone("shop", between: $0)
    }
  }

  @Test("A server of before is started anew first")
  func older() throws {
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("data"))
    let administration = try Administration(folder: folder)
    defer { administration.close() }
    _ = try administration.createZone("shop")
    let serving = try folder.lockForServing(suggestion: "")
    defer { serving.release() }
    serving.writeProcessID(version: ServerSchema.version - 1)
    let error = #expect(throws: ServerError.self) { try administration.deleteZone("shop") }
    #expect(error?.code == .locked)
    #expect(try administration.zones().map(\.name) == ["shop"])
  }

  /// Of a zone whose first rows alone are gone.
  private static func expectNobodys(
    _ storage: any ZoneStorage, _ administration: any ZoneAdministration, _ replica: TestReplica,
    token: String
  ) async throws {
    var replica = replica
    #expect(try await storage.token(id: token) == nil)
    #expect(try administration.tokens().isEmpty)
    #expect(throws: ServerError.self) { try administration.revokeToken(id: token) }
    let other = try #require(try await storage.zone(named: "other"))
    replica.number = 0
    _ = try await storage.append(
      replica.push(other.generation, inserts: [.init(first: UUID(), count: 1)]), to: other)
    #expect(try administration.verify().damage.filter { $0.table != "log" } == [])
    await storage.letGo()
    #expect(try administration.verify().damage.filter { $0.table != "log" } == [])
    let pushed = try #require(try await storage.zone(named: "other"))
    replica.cursor = LogMark(sequence: pushed.head, chain: pushed.chain)
    _ = try await storage.append(replica.push(other.generation), to: pushed)
    #expect(try await storage.zone(named: "other")?.head == 2)
  }

  private struct Killed: Error {}

  @Test("In a folder tokens of a leaving zone open nothing, and its replicas go to others")
  func nobodys() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var replica = TestReplica()
    _ = try await test.storage.append(
      replica.push(zone.generation, inserts: [.init(first: UUID(), count: 1)]), to: zone)
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    _ = try administration.createZone("other")
    let token = try administration.createToken(zone: "shop", verbs: [.read])
    #expect(throws: Killed.self) {
      try administration.deleteZone("shop") { throw Killed() }
    }
    try await Self.expectNobodys(test.storage, administration, replica, token: token.id)
    #expect(try administration.connection.integer("SELECT count(*) FROM zone") == 1)
  }

  #if PostgreSQL
    @Test("In a database all that is not of the log goes in steps as well")
    func postgresSteps() throws {
      let world = try PostgresWorld(zones: ["shop"])
      let zone = try world.zone.id
      for insert in [
        "replica(zone, uuid, id, last_push) SELECT \(zone), gen_random_uuid(), i, 0",
        "replica_home SELECT gen_random_uuid(), \(zone)",
        "token SELECT to_char(i, 'FM0000000000000000'), '\\x00', \(zone), 3, 0, NULL, NULL, NULL",
        "token_binding SELECT to_char(i, 'FM0000000000000000'), NULL",
        "staging(zone, replica, generation, touched_ms) SELECT \(zone), gen_random_uuid(), gen_random_uuid(), 0",
        "sighting(zone, replica, cursor, token, seen_ms) SELECT \(zone), gen_random_uuid(), 0, '', 0",
        "forgotten_replica SELECT \(zone), gen_random_uuid()",
      ] {
        try world.connection.execute(
          "INSERT INTO \(insert) FROM generate_series(1, \(Self.count)) AS n(i)")
      }
      let tables =
        Self.tables.filter { $0 != "token_note" && $0 != "zone_property" } + ["replica_home"]
      try Self.expectSteps(tables, count: world.count) {
        try world.administration.deleteZone("shop", between: $0)
      }
    }

    @Test("In a database tokens of a leaving zone open nothing, and its replicas go to others")
    func postgresNobodys() async throws {
      let world = try PostgresWorld(zones: ["shop", "other"])
      let (zone, administration) = (try world.zone, world.administration)
      var replica = TestReplica()
      _ = try await world.storage.append(
        replica.push(zone.generation, inserts: [.init(first: UUID(), count: 1)]), to: zone)
      let token = try administration.createToken(zone: "shop", verbs: [.read])
      #expect(throws: Killed.self) {
        try administration.deleteZone("shop") { throw Killed() }
      }
      try await Self.expectNobodys(world.storage, administration, replica, token: token.id)
      #expect(try world.count("zone") == 1)
    }

    @Test("In a database what cannot go is told, stays nobody's, and goes when it can")
    func postgresRefused() async throws {
      let world = try PostgresWorld(zones: ["shop"])
      let zone = try world.zone
      _ = try await world.storage.append(
        TestReplica().push(1, zone.generation, inserts: [.init(first: UUID(), count: 1)]), to: zone)
      try world.connection.execute(
        """
        CREATE FUNCTION no() RETURNS trigger AS $$ BEGIN RAISE 'no such luck'; END $$ LANGUAGE plpgsql;
        CREATE TRIGGER no BEFORE DELETE ON identity FOR EACH ROW EXECUTE FUNCTION no()
        """)
      let rest = try #require(try world.administration.deleteZone("shop"))
      #expect(rest.message.contains("zone shop is deleted"), "\(rest)")
      #expect(rest.message.contains("no such luck"), "\(rest)")
      #expect(try world.administration.zones().isEmpty)
      #expect(try world.count("identity") == 1)
      try world.connection.execute("DROP TRIGGER no ON identity")
      await world.storage.letGoOfForgotten()
      #expect(try world.count("identity") == 0)
      #expect(try world.count("zone") == 0)
    }
  #endif
}

extension ZoneStorage {
  fileprivate func letGo() async {
    if let storage = self as? SQLiteZoneStorage { await storage.letGoOfForgotten() }
    #if PostgreSQL
      if let storage = self as? PostgresZoneStorage { await storage.letGoOfForgotten() }
    #endif
  }
}
