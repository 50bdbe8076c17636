import DriftlessProtocol
import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// A zone's number is no other zone's, also once the zone is gone: what somebody writes under it who has not heard of that is nobody's.
@Suite("Numbers of zones", .serialized) struct ZoneNumberTests {
  private static func administration(_ directory: TemporaryDirectory) throws -> Administration {
    try Administration(folder: DataFolder(directory.file("data")))
  }

  @Test("In a folder a number is given once; what is written late under one opens no other zone")
  func once() async throws {
    let directory = try TemporaryDirectory()
    let administration = try Self.administration(directory)
    let zone = try administration.createZone("shop")
    try administration.deleteZone("shop")
    let late = AccessToken.mint()
    try administration.connection.run(
      "INSERT INTO token VALUES(?, ?, ?, 3, 0, NULL)", .text(late.id), .blob(late.hash),
      .integer(zone.id))
    let next = try administration.createZone("other")
    #expect(next.id == zone.id + 1)
    #expect(try administration.connection.token(id: late.id) == nil)
    try administration.deleteZone("other")
    administration.close()
    // Nor by who opens the folder next.
    let again = try Self.administration(directory)
    defer { again.close() }
    #expect(try again.createZone("third").id == next.id + 1)
  }

  @Test("A database that is put back gives no number that the one before had given")
  func restored() throws {
    let directory = try TemporaryDirectory()
    let administration = try Self.administration(directory)
    let kept = try administration.createZone("kept")
    let backup = Backup(directory.file("b.sqlite"))
    _ = try backup.make(of: administration.folder)
    let gone = try administration.createZone("gone")
    try administration.deleteZone("gone")
    let made = try administration.createZone("made")
    administration.close()
    #expect(gone.id == kept.id + 1 && made.id == gone.id + 1)
    _ = try backup.restore(to: administration.folder)
    let after = try Self.administration(directory)
    defer { after.close() }
    let ids = try after.zones().map(\.id)
    #expect(ids == [kept.id, made.id + 1])
    #expect(try after.createZone("new").id == made.id + 2)
  }

  @Test("A program of before that gave a number is believed, and a number that cannot be is not")
  func others() throws {
    let directory = try TemporaryDirectory()
    let administration = try Self.administration(directory)
    let connection = administration.connection
    _ = try administration.createZone("shop")
    try connection.insert(.new(id: 7, name: "by another"), createdMilliseconds: 0)
    #expect(try administration.createZone("next").id == 8)
    for number in ["9223372036854775807", "-1", "'none'"] {
      try connection.execute("UPDATE zone_number SET highest = \(number)")
      let zone = try administration.createZone("new")
      #expect(zone.id == 9, "\(number)")
      try connection.execute("DELETE FROM zone WHERE id = 9")
    }
    administration.close()
    try Self.administration(directory).close()
  }

  #if PostgreSQL
    /// What a node of a program of before holds for as long as it serves.
    private static func olderNode(_ world: PostgresWorld) throws -> PostgresConnection {
      let node = try PostgresConnection(serving: world.database, limits: .init())
      for number in [7_301_113, 7_301_114] {
        try node.run(
          """
          SELECT pg_advisory_lock_shared(\(number), ((SELECT oid::bigint FROM pg_namespace
            WHERE nspname = current_schema()) & 2147483647)::integer)
          """)
      }
      return node
    }

    @Test("In a database no zone is deleted while a node of before serves")
    func older() async throws {
      let world = try PostgresWorld(zones: ["shop", "other"])
      let older = try Self.olderNode(world)
      let error = #expect(throws: ServerError.self) {
        try world.administration.deleteZone("shop")
      }
      #expect(error?.code == .locked && error?.message.contains("older program") == true)
      #expect(try world.administration.zones().map(\.name) == ["other", "shop"])
      #expect(try world.administration.audit(since: 0).allSatisfy { $0.act != .zoneDeleted })
      older.close()
      // The database hears of the end a moment later.
      try await until("the node is gone") { try PostgresNodes.count(world.connection) == 0 }
      let node = try PostgresConnection(serving: world.database, limits: .init())
      defer { node.close() }
      try PostgresNodes.enter(node)
      #expect(try world.administration.deleteZone("shop") == nil, "one of this version does not")
    }

    @Test(
      "In a database a number is given once; what is written under that of a deleted zone opens no other"
    )
    func postgresOnce() async throws {
      let world = try PostgresWorld(zones: ["shop"])
      let (zone, administration) = (try world.zone, world.administration)
      try administration.deleteZone("shop")
      let late = AccessToken.mint()
      try world.connection.run(
        """
        INSERT INTO token(id, hash, zone, verbs, created_ms) VALUES($1, $2, $3, 3, 0)
        """, .text(late.id), .blob(late.hash), .integer(zone.id))
      #expect(try administration.createZone("shop").id == zone.id + 1)
      #expect(try await world.storage.token(id: late.id) == nil)
      #expect(try world.administration.verify().damage.map(\.table) == ["token"])
      await world.storage.letGoOfForgotten()
      #expect(try world.count("token") == 0)
      #expect(try world.count("zone") == 1)
      try world.expectWhole()
      // Nor where what is noted was lost, or a program of before gave the last one.
      try world.connection.execute("DELETE FROM zone_number")
      #expect(try administration.createZone("other").id == zone.id + 2)
      try world.connection.execute("UPDATE zone_number SET highest = 0")
      #expect(try administration.createZone("third").id == zone.id + 3)
    }

    @Test("In a database two that make zones at once get two numbers")
    func postgresAtOnce() async throws {
      let world = try PostgresWorld(zones: [])
      let database = world.database
      let ids = try await withThrowingTaskGroup(of: [Int64].self) { group in
        for maker in 0..<4 {
          group.addTask {
            try await blocking {
              let administration = try PostgresAdministration(database: database)
              defer { administration.close() }
              return try (0..<5).map { try administration.createZone("z\(maker)-\($0)").id }
            }
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(Set(ids).count == 20)
    }

    @Test("A backup is put into a database where zones were, and one of them has not left yet")
    func postgresRestored() async throws {
      struct Killed: Error {}
      let world = try PostgresWorld(zones: ["shop", "other"])
      let administration = world.administration
      try await world.show(1...3)
      let token = try administration.createToken(zone: "shop", verbs: [.read])
      let directory = try TemporaryDirectory()
      let backup = Backup(directory.file("b.sqlite"))
      _ = try backup.make(ofPostgres: world.database)
      let before = try administration.zones().map(\.id)
      let highest = try #require(before.max())
      try administration.deleteZone("other")
      #expect(throws: Killed.self) {
        try administration.deleteZone("shop") { throw Killed() }
      }
      #expect(try world.count("zone") == 1)
      for node in world.nodes { node.close() }
      _ = try backup.restore(toPostgres: world.database)
      #expect(try administration.zones().map(\.name) == ["other", "shop"])
      #expect(try administration.zones().allSatisfy { $0.id > highest })
      #expect(try administration.tokens().map(\.id) == [token.id])
      #expect(try world.zone.head == 3)
      #expect(try world.count("zone") == 2)
      try world.expectWhole()
    }
  #endif
}
