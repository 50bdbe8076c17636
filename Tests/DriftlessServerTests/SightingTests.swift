import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import Logging
import TestSupport
import Testing

@testable import DriftlessServer

/// What the server notes of replicas that were there.
struct SightingTests {
  @Test("It is written a while after the first of it, whether somebody comes then or not")
  func written() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    let sightings = Sightings(limits: LiveLimits(ServerLimits()), span: 7)
    func note(_ replica: UUID) -> Double? {
      sightings.note(Self.visit(replica, zone, at: 0, given: 0), in: zone, milliseconds: 1)
    }
    #expect(note(UUID()) == 7)
    #expect(note(UUID()) == nil)
    sightings.write(test.storage.writer, logger: Logger(label: "test"))
    #expect(note(UUID()) == 7)
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    #expect(try administration.replicas().count == 2)
  }

  private static func visit(
    _ replica: UUID, _ zone: ZoneRecord, at place: UInt64, given: UInt64?
  ) -> Visit {
    Visit(
      replica: replica, generation: zone.generation, place: place, given: given, token: "t",
      name: nil, address: nil, format: nil)
  }

  @Test("A replica has what it was given, unless it asks for it again")
  func given() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    let (replica, sightings) = (UUID(), Sightings(limits: LiveLimits(ServerLimits())))
    func cursor(at place: UInt64, given: UInt64?) throws -> UInt64? {
      _ = sightings.note(
        Self.visit(replica, zone, at: place, given: given), in: zone, milliseconds: 1)
      sightings.write(test.storage.writer, logger: Logger(label: "test"))
      let administration = try Administration(folder: test.folder)
      defer { administration.close() }
      return try administration.replicas().first?.cursor
    }
    #expect(try cursor(at: 3, given: 5) == 5)
    let asked = try test.storage.writer.run { try $0.integer("SELECT asked FROM sighting") }
    #expect(asked == 3, "what it was given may not have come")
    #expect(try cursor(at: 3, given: 6) == 3)
    #expect(try cursor(at: 3, given: 6) == 3)
    #expect(try cursor(at: 6, given: 6) == 6)
    #expect(try cursor(at: 6, given: 6) == 6)
    #expect(try cursor(at: 7, given: nil) == 7)
    #expect(try cursor(at: 6, given: 7) == 7)
  }

  @Test("The name that a replica tells is shown, the last one, and nothing that is no name")
  func names() async throws {
    try await withServer { server in
      let (zone, replica, token) = (try await server.zone(), UUID(), try server.token())
      let storage = try #require(server.server.storage as? SQLiteZoneStorage)
      func seen(_ name: String?) async throws -> String? {
        let answer = try await server.request(
          "GET",
          "/v1/zones/shop/changes?generation=\(zone.generation)&replica=\(replica)&own_through=0",
          token: token.text, headers: name.map { ["Driftless-Replica-Name: \($0)"] } ?? [])
        #expect(answer.status == 200)
        storage.writeSightings()
        let seen = try await storage.replicas(of: zone, countMax: 10)
        let administration = try Administration(folder: DataFolder(server.data))
        defer { administration.close() }
        #expect(try administration.replicas().map(\.name) == seen?.map(\.name))
        return seen?.first { $0.replica == replica }?.name
      }
      #expect(try await seen("till%203") == "till 3")
      #expect(try await seen("%E5%BA%97") == "店")
      #expect(try await seen("a%0Ab") == nil)
      #expect(try await seen("%zz") == nil)
      #expect(try await seen(nil) == nil)
    }
  }

  @Test(
    "The address from which a replica was last seen is shown, and an older table gets the column")
  func addresses() async throws {
    try await withServer { server in
      let storage = try #require(server.server.storage as? SQLiteZoneStorage)
      let (replica, token) = (UUID(), try server.token())
      try storage.writer.run { try $0.execute("ALTER TABLE sighting DROP COLUMN address") }
      func address() throws -> String? {
        let administration = try Administration(folder: DataFolder(server.data))
        defer { administration.close() }
        return try administration.replicas().first { $0.replica == replica }?.address
      }
      #expect(try address() == nil)
      _ = try await server.pull(after: 0, "&replica=\(replica)", token: token)
      storage.writeSightings()
      #expect(try address() == "127.0.0.1")
      let seen = try await storage.replicas(of: server.zone(), countMax: 10)
      #expect(seen?.map(\.address) == ["127.0.0.1"])
    }
  }
}
