import DriftlessProtocol
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// Of the room for parts that wait one zone has half.
@Suite("A zone's share of the room for parts")
struct StagedShareTests {
  private static func part(of zone: ZoneRecord) throws -> Push {
    var writer = ZoneWriter(zone.generation)
    let parts = ZonePartsTests.numbered(try ZonePartsTests.parts(&writer), mebibytes: 0)
    return try PushReader(limits: .init()).read(parts[0])
  }

  @Test(
    "Whatever replicas of one zone leave waiting, another zone's parts are taken",
    arguments: StagedChargeTests.Kind.allCases)
  func share(kind: StagedChargeTests.Kind) async throws {
    let world = try kind.storage()
    try world.administer { administration in
      for name in ["greedy", "other"] { _ = try administration.createZone(name) }
    }
    var limits = ServerLimits()
    let measured = try Self.part(of: .new(id: 1, name: "measured")).frame.count
    limits.stagedBytesPerReplicaMax = measured + measured / 2
    limits.stagedBytesMax = 4 * measured + measured / 2
    let storage = try await world.open(limits)
    defer { storage.close() }
    let greedy = try #require(try await storage.zone(named: "greedy"))
    let other = try #require(try await storage.zone(named: "other"))
    var taken = 0
    var refused: ServerError.Code?
    while refused == nil, taken < 10 {
      refused = try await code { try await storage.stage(Self.part(of: greedy), of: greedy) }
      if refused == nil { taken += 1 }
    }
    #expect(refused == .busy)
    #expect(taken == 2)
    for _ in 0..<2 { try await storage.stage(Self.part(of: other), of: other) }
    #expect(
      try await code { try await storage.stage(Self.part(of: other), of: other) } == .busy)
  }

  @Test("One replica's push has room in its zone's part where all together have it")
  func least() throws {
    var limits = ServerLimits()
    (limits.stagedBytesMax, limits.stagedBytesPerReplicaMax) = (1_000, 900)
    let part = TestReplica().push(1, UUID(), size: 300)
    var writer = ZoneWriter(UUID())
    let header = try #require(
      try PushReader(limits: .init()).read(
        ZonePartsTests.numbered(ZonePartsTests.parts(&writer), mebibytes: 0)[0]
      ).part)
    func takes(own: Int, inZone: Int, foreign: Int) throws -> Bool {
      try StagedRoom(own: own, others: 0, inZone: inZone, foreign: foreign)
        .takesOthers(for: part, header, limits)
    }
    #expect(try !takes(own: 600, inZone: 0, foreign: 100))
    #expect(throws: ServerError.self) { try takes(own: 600, inZone: 100, foreign: 100) }
    #expect(throws: ServerError.self) { try takes(own: 600, inZone: 0, foreign: 101) }
    limits.stagedBytesPerReplicaMax = 400
    #expect(try !takes(own: 0, inZone: 200, foreign: 200))
    #expect(throws: ServerError.self) { try takes(own: 0, inZone: 201, foreign: 201) }
    #expect(try !takes(own: 0, inZone: 200, foreign: 700))
  }
}
