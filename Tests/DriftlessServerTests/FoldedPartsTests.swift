import DriftlessProtocol
import Foundation
import Logging
import TestSupport
import Testing

@testable import DriftlessServer

/// What a log comes to never ends within a push.
@Suite("Digests of pushes in parts")
struct FoldedPartsTests {
  @Test("Digests that are asked for at a part are of all of its push", arguments: [1, 2, 3])
  func within(part: UInt64) async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    let reader = PushReader(limits: .init())
    var writer = ZoneWriter(zone.generation)
    let parts = try ZonePartsTests.numbered(ZonePartsTests.parts(&writer), mebibytes: 0)
    for part in parts.dropLast() { try await test.storage.stage(reader.read(part), of: zone) }
    let last = try await test.storage.append(reader.read(parts[2]), to: zone)
    #expect(last.sequence == 3)
    var other = ZoneWriter(zone.generation)
    other.cursor = LogMark(sequence: last.sequence, chain: last.chain)
    _ = try await test.storage.append(reader.read(other.frame { $0.inserts = 1 }), to: zone)
    try test.storage.beginFolding(logger: Logger(label: "test")) {}
    let (grown, place) = (try await test.zone(), try await test.place(at: part))
    var digests = try await test.storage.digests(of: grown, at: place)
    try await until {
      digests = try await test.storage.digests(of: grown, at: place)
      return digests.isReady
    }
    #expect(digests.place == LogMark(sequence: last.sequence, chain: last.chain))
  }
}
