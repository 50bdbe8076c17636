import DriftlessProtocol
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// What says that it was lost is bounded as a push is, unless the server knows that something was.
@Suite("Bounds of a refill", .serialized)
struct RefillBoundsTests {
  private static func administer<Result>(
    _ zone: TestedZone, _ body: (any ZoneAdministration) throws -> Result
  ) throws -> Result {
    #if PostgreSQL
      if let database = zone.database {
        let administration = try PostgresAdministration(database: database)
        defer { administration.close() }
        return try body(administration)
      }
    #endif
    let administration = try Administration(folder: #require(zone.folder))
    defer { administration.close() }
    return try body(administration)
  }

  /// As an operator says who put a copy in the database's place.
  private static func putBack(_ zone: TestedZone) throws {
    try administer(zone) { _ = try $0.markPutBack("shop") }
  }

  private static func isPutBack(_ zone: TestedZone) throws -> Bool {
    try administer(zone) { try #require($0.zones().first).isPutBack }
  }

  private static func refusal(
    _ zone: TestedZone, _ lost: LostLog
  ) async throws -> ProtocolError.Code? {
    do {
      _ = try await zone.refill(lost.entries)
      return nil
    } catch let error as ProtocolError {
      return error.code
    }
  }

  @Test(
    "A refill passes a bound of its zone only where the log was put back, and until it goes on",
    arguments: ZonePartsTests.storages, ["logEntriesMax", "logBytesMax"])
  func bounds(kind: TestedZone.Kind, bound: String) async throws {
    var limits = ServerLimits()
    // However slow the host is, so few are written together.
    limits.groupMillisecondsMax = 600_000
    let zone = try await TestedZone(kind, limits: limits)
    var lost = LostLog(zone.generation)
    let bytes = try lost.grow().count
    for _ in 0..<4 { try lost.grow() }
    let most = bound == "logBytesMax" ? 2 * bytes + 10 : 2
    try Self.administer(zone) { _ = try $0.changeLimits(of: "shop", [bound: most]) }
    #expect(try await Self.refusal(zone, lost) == ProtocolError.Code(rawValue: "zone-full"))
    #expect(try await zone.head.sequence == 0, "none of what is written together")
    try Self.putBack(zone)
    #expect(try await Self.refusal(zone, lost) == nil)
    #expect(try await zone.head.sequence == 5)
    #expect(try Self.isPutBack(zone))
    var writer = ZoneWriter(zone.generation)
    #expect(
      try await zone.refusal(writer.frame { $0.inserts = 1 })?.code
        == ProtocolError.Code(rawValue: "zone-full"), "a push is bounded all the same")
    #expect(try Self.isPutBack(zone))
    try Self.administer(zone) { _ = try $0.changeLimits(of: "shop", [bound: nil]) }
    #expect(try Self.isPutBack(zone), "a bound that is set leaves it")
    _ = try await zone.push(writer.frame { $0.inserts = 1 })
    #expect(try !Self.isPutBack(zone))
  }

  @Test(
    "A log that begins anew is none that was put back", arguments: ZonePartsTests.storages)
  func renewed(kind: TestedZone.Kind) async throws {
    let zone = try await TestedZone(kind)
    try Self.putBack(zone)
    #expect(try Self.isPutBack(zone))
    let next = try Self.administer(zone) { try $0.renewZone("shop", intent: .offer) }
    #expect(!next.isPutBack)
    #expect(try !Self.isPutBack(zone))
  }

  @Test(
    "What a refill brings may lie no further ahead than twice what a push may, unless the log was put back",
    arguments: ZonePartsTests.storages)
  func clock(kind: TestedZone.Kind) async throws {
    let zone = try await TestedZone(kind)
    let now = UInt64(zone.clock.now)
    let day: UInt64 = 86_400_000
    var near = LostLog(zone.generation)
    try near.grow(at: now + day + day / 2)
    #expect(try await Self.refusal(zone, near) == nil)
    try near.grow(at: now + 4 * day)
    #expect(try await Self.refusal(zone, near) == .clockAhead)
    try Self.putBack(zone)
    #expect(try await Self.refusal(zone, near) == nil)
    #expect(try await zone.head.sequence == 2)
  }

  @Test("After a restore a refill comes in, whatever the bounds are")
  func restored() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    let backup = Backup(test.directory.file("copy.sqlite"))
    _ = try backup.make(of: test.folder)
    var lost = LostLog(zone.generation)
    for _ in 0..<5 { try lost.grow() }
    let refills = try lost.refills
    _ = try await test.storage.refill(refills, of: zone)
    test.storage.close()
    let administration = try Administration(folder: test.folder)
    _ = try administration.changeLimits(of: "shop", ["logEntriesMax": 1, "logBytesMax": 1])
    administration.close()
    _ = try backup.restore(to: test.folder)
    let storage = try SQLiteZoneStorage(folder: test.folder)
    defer { storage.close() }
    let restored = try #require(try await storage.zone(named: "shop"))
    #expect(restored.head == 0 && restored.limits["logEntriesMax"] == 1)
    #expect(try await storage.refill(refills, of: restored).sequence == 5)
  }
}
