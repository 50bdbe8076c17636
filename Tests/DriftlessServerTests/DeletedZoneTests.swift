import Dispatch
import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// Rows of a zone that is deleted go some at a time: nobody else stands still.
@Suite("Zones that are deleted", .serialized) struct DeletedZoneTests {
  struct Killed: Error {}

  /// More rows than go in one transaction, in several tables.
  private static let count = 5_000

  private static func fill(_ zone: ZoneRecord, of storage: any ZoneStorage) async throws {
    var replica = TestReplica()
    _ = try await storage.append(
      replica.push(
        zone.generation, inserts: (0..<count).map { _ in .init(first: UUID(), count: 1) }),
      to: zone)
    let grown = try #require(try await storage.zone(named: zone.name))
    replica.cursor = LogMark(sequence: grown.head, chain: grown.chain)
    _ = try await storage.append(
      replica.push(
        zone.generation, .update(["title"], of: (1...count).map { UInt64($0) })), to: zone)
  }

  /// A push of another zone, waited for on a thread that is nobody else's.
  private static func push(to zone: ZoneRecord, of storage: any ZoneStorage) throws {
    let done = DispatchSemaphore(value: 0)
    let outcome = Outcome()
    Task.detached {
      do {
        _ = try await storage.append(TestReplica().push(1, zone.generation), to: zone)
      } catch {
        outcome.error = error
      }
      done.signal()
    }
    #expect(done.wait(timeout: .now() + 60) == .success, "a push waits for the rest of a zone")
    if let error = outcome.error { throw error }
  }

  private final class Outcome: @unchecked Sendable {  // written before the signal, read after it
    var error: (any Error)?
  }

  /// Deletes a zone, and is killed at the second transaction of its rows; others push before each.
  ///
  /// - Returns: the ID of a token of the zone.
  private static func killDelete(
    _ administration: any ZoneAdministration, _ other: ZoneRecord, of storage: any ZoneStorage,
    _ delete: (_ between: () throws -> Void) throws -> Void
  ) throws -> String {
    let token = try administration.createToken(
      zone: "shop", verbs: [.read], label: nil, expiresMilliseconds: nil, handOut: { _ in })
    var steps = 0
    #expect(throws: Killed.self) {
      try delete {
        steps += 1
        try push(to: other, of: storage)
        if steps == 2 { throw Killed() }
      }
    }
    #expect(steps == 2)
    return token.id
  }

  /// The frames of these replicas are none; all else is as it is to be.
  private static func expectWhole(_ administration: any ZoneAdministration) throws {
    #expect(try administration.verify().damage.filter { $0.table != "log" } == [])
  }

  /// What every storage owes where a command was killed at its second transaction of rows.
  private static func expectGone(
    _ storage: any ZoneStorage, _ administration: any ZoneAdministration, _ gone: ZoneRecord,
    token: String
  ) async throws {
    #expect(try await storage.zone(named: "shop") == nil)
    #expect(try await storage.token(id: token) == nil)
    #expect(try await storage.generations().contains(gone.generation) == false)
    #expect(try administration.zones().map(\.name) == ["other"])
    #expect(try await storage.look(from: "", count: 10).zoneCount == 1)
    #expect(throws: ServerError.self) { try administration.deleteZone("shop") }
    try expectWhole(administration)
    let new = try administration.createZone("shop")
    #expect(new.id != gone.id && new.head == 0)
    var replica = TestReplica()
    let appended = try await storage.append(
      replica.push(new.generation, inserts: [.init(first: UUID(), count: 1)]), to: new)
    #expect((appended.sequence, appended.firstObjectNumber) == (1, 1))
    try expectWhole(administration)
  }

  @Test(
    "In a folder: in transactions between which others push; a server goes on where one was killed"
  )
  func folder() async throws {
    let test = try TestZone()
    let storage = test.storage
    let zone = try await test.zone()
    try await Self.fill(zone, of: storage)
    let folder = test.folder
    let made = try Administration(folder: folder)
    let other = try made.createZone("other")
    made.close()
    let token = try await blocking {
      let administration = try Administration(folder: folder)
      defer { administration.close() }
      return try Self.killDelete(administration, other, of: storage) {
        try administration.deleteZone("shop", between: $0)
      }
    }
    let administration = try Administration(folder: folder)
    defer { administration.close() }
    func left() throws -> Int64 {
      try administration.connection.integer(
        "SELECT (SELECT count(*) FROM identity WHERE zone = \(zone.id)) "
          + "+ (SELECT count(*) FROM object WHERE position >> 40 = \(zone.id)) "
          + "+ (SELECT count(*) FROM log WHERE position >> 40 = \(zone.id)) "
          + "+ (SELECT count(*) FROM replica WHERE zone = \(zone.id)) "
          + "+ (SELECT count(*) FROM zone WHERE id = \(zone.id))") ?? -1
    }
    #expect(try left() > 7_000, "2,000 rows of objects went")
    try await Self.expectGone(storage, administration, zone, token: token)
    #expect(try await storage.zone(named: "other")?.head == 2)
    await storage.letGoOfForgotten()
    #expect(try left() == 0)
    try Self.expectWhole(administration)
    // A command alone does all of it.
    try administration.deleteZone("other")
    #expect(
      try administration.connection.integer("SELECT count(*) FROM zone WHERE name LIKE '/%'") == 0)
  }

  @Test("Who waits is woken when a zone is deleted, and not when its rows are gone")
  func watched() async throws {
    let test = try TestZone()
    try await Self.fill(test.zone(), of: test.storage)
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    let reader = try SQLiteConnection(path: test.folder.database.path, mode: .readWrite)
    defer { reader.close() }
    var watch = OperatorWatch()
    #expect(try !watch.sees(reader))
    var seen: [Bool] = []
    try administration.deleteZone("shop") { seen.append(try watch.sees(reader)) }
    seen.append(try watch.sees(reader))
    #expect(seen.first == true && seen.filter(\.self).count == 1)
    #expect(try reader.integer("SELECT count(*) FROM zone") == 0)
  }

  @Test("A deleted zone's log is overwritten in the file, where SQLite is built so")
  func overwritten() async throws {
    let test = try TestZone()
    let mark = Data("what was in the log of a zone that is deleted".utf8)
    var replica = TestReplica()
    _ = try await test.storage.append(
      replica.push(test.zone().generation, inserts: [.init(first: UUID(), count: 1)]),
      to: test.zone())
    test.storage.close()
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    try administration.connection.execute("PRAGMA secure_delete=ON")
    // More than a page, so that it has some of its own.
    let body = (0..<1_000).reduce(into: Data()) { body, _ in body += mark }
    try administration.connection.run("UPDATE log SET body = ?", .blob(body))
    func isThere() throws -> Bool {
      try administration.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      return try Data(contentsOf: test.folder.database).range(of: mark) != nil
    }
    #expect(try isThere())
    try administration.deleteZone("shop")
    #expect(try !isThere())
  }

  @Test("A replica of a deleted zone that goes to another one meets none of its parts there")
  func parts() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    test.storage.close()
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    let connection = administration.connection
    let push = TestReplica().push(1, zone.generation)
    try connection.run(
      "INSERT INTO staged VALUES(?, ?, 0, ?, 1, x'01')", .blob(push.replica.bytes),
      .integer(Int64(push.number)), .integer(zone.id))
    func frame() throws -> Data? { try StagedParts.frame(0, of: push, on: connection) }
    #expect(try frame() == Data([1]))
    try connection.transaction(.immediate) { try LeavingZones.leave(zone, on: connection) }
    #expect(try frame() == nil)
  }

  #if PostgreSQL
    @Test(
      "In a database: in transactions between which others push; a node goes on where one was killed"
    )
    func postgres() async throws {
      let world = try PostgresWorld(zones: ["shop", "other"])
      let (zone, other) = (try world.zone, try world.zone("other"))
      let storage = world.storage
      try await Self.fill(zone, of: storage)
      let database = world.database
      let token = try await blocking {
        let administration = try PostgresAdministration(database: database)
        defer { administration.close() }
        return try Self.killDelete(administration, other, of: storage) {
          try administration.deleteZone("shop", between: $0)
        }
      }
      func left() throws -> Int64 {
        try PostgresSchema.tablesOfLog.reduce(0) { sum, table in
          try sum
            + world.connection.run(
              "SELECT count(*) FROM \(table) WHERE zone = $1", .integer(zone.id)
            ).int64(0, 0)
        }
      }
      #expect(try left() > 7_000, "2,000 rows of objects went")
      try await Self.expectGone(storage, world.administration, zone, token: token)
      #expect(try world.zone("other").head == 2)
      await storage.letGoOfForgotten()
      #expect(try left() == 0)
      #expect(try world.count("zone") == 2)
      try Self.expectWhole(world.administration)
      try world.administration.deleteZone("other")
      #expect(try world.count("zone") == 1)
    }
  #endif
}
