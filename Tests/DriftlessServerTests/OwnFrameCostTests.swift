import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// What the length of a replica's own log costs its pushes.
@Suite("Own entries in a data folder")
struct OwnFrameCostTests {
  private static let count: Int64 = 20_000

  /// A zone whose log has so many entries, all of one replica: the last two have one number, as parts of a push.
  private static func filled() async throws -> (TestZone, KnownReplica, UUID) {
    let test = try TestZone()
    let zone = try await test.zone()
    let replica = UUID()
    let known = try test.storage.writer.run { connection in
      try connection.transaction(.immediate) {
        let known = try SQLiteZoneTables(connection).add(
          replica, to: zone.id, isForgotten: false)
        try connection.run(
          """
          WITH RECURSIVE step(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM step WHERE at < ?1)
          INSERT INTO log SELECT (?2 << 40) | at, ?3, min(at, ?1 - 1), at, 1, 0, x'00', ?4, x'', 1,
            x'', x'' FROM step
          """, .integer(count), .integer(zone.id), .integer(known.id), .blob(zone.chain.bytes))
        try connection.run(
          "UPDATE zone SET head = ?, next_object = ?", .integer(count), .integer(count + 1))
        try connection.run("UPDATE replica SET last_push = ?", .integer(count - 1))
        return known
      }
    }
    return (test, known, replica)
  }

  @Test("Entries after a place are found without a look at those before it")
  func behind() async throws {
    let (test, known, _) = try await Self.filled()
    try test.storage.writer.run { connection in
      let tables = SQLiteZoneTables(connection)
      for distance in [0, 1, 2, 3, 10] as [UInt64] {
        let before = connection.statementWork
        let place = UInt64(Self.count) - distance
        let own = try tables.ownFrames(of: known, after: place)
        #expect(connection.statementWork - before < 1_000)
        #expect(own.newest == (distance == 0 ? nil : UInt64(Self.count)))
        for sequence in place + 1..<UInt64(Self.count) + 1 {
          #expect(own.contains(sequence: sequence))
        }
        #expect(!own.contains(sequence: place))
      }
      let all = try tables.ownFrames(of: known, after: 0)
      #expect(all.contains(sequence: UInt64(Self.count - Int64(LogBounds.ownFramesMax) + 1)))
    }
  }

  @Test("A push at the head of a log costs the same however much its replica has sent")
  func push() async throws {
    let (test, _, replica) = try await Self.filled()
    let zone = try await test.zone()
    let cursor = Cursor(
      generation: zone.generation, sequence: zone.head, chain: zone.chain)
    let push = Push(
      replica: replica, number: UInt64(Self.count), cursor: cursor, mark: nil,
      frame: Data(count: 300), digest: Data("one".utf8), contents: .init())
    let before = try test.storage.writer.run { $0.statementWork }
    let appended = try await test.storage.append(push, to: zone)
    #expect(appended.sequence == UInt64(Self.count) + 1)
    let work = try test.storage.writer.run { $0.statementWork } - before
    #expect(work < 5_000, "\(work) instructions")
  }
}
