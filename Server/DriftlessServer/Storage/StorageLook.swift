package import Foundation
import Synchronization

/// What a storage tells of itself and of some zones, for the status page.
package struct StorageLook: Sendable {
  /// By name.
  package var zones: [ZoneLook]
  package var zoneCount: Int
  /// Whether further zones come after these.
  package var hasMore: Bool
  package var databaseBytes: Int64?
  /// Of the write-ahead log, where that is a file of its own.
  package var logFileBytes: Int64?
  package var freeBytes: Int64?
  /// Of parts that wait for the last one of their push; nil where none are taken.
  package var stagedBytes: Int64?
  /// Of large values, those too that come; nil where none are kept.
  package var valueBytes: Int64?
  /// Of them, of those that nothing names so far.
  package var unnamedValueBytes: Int64?
  /// How many large values logs name and the server lacks; nil where none are kept.
  package var lostValues: Int64?
}

/// A zone, for the status page.
package struct ZoneLook: Sendable {
  package let zone: ZoneRecord
  /// Bytes of the log's entries, as far as they are counted.
  package var logBytes: UInt64 = 0
  /// Whether all are.
  package var isCounted = true
  /// Replicas that were seen, at most `replicasMax`; nil where that is not kept.
  package var replicas: Int?
  /// Where the one furthest behind is.
  package var slowestCursor: UInt64?
  package var lastSeenMilliseconds: Int64?
  package var lastPushMilliseconds: Int64?
  package var snapshot: (sequence: UInt64, bytes: Int)?
  /// The last entry whose change set may be gone; 0 where none was purged.
  package var floor: UInt64 = 0

  package init(_ zone: ZoneRecord) { self.zone = zone }

  /// Entries that the replica furthest behind has not applied.
  package var lag: UInt64? { slowestCursor.map { zone.head > $0 ? zone.head - $0 : 0 } }

  /// How many replicas of a zone are looked at for a list of zones.
  package static let replicasMax = 1000
}

/// How many bytes the logs of zones have. No database knows that by heart, and to count takes as long as the log is: so it is
/// counted bit by bit, a bounded piece each time that somebody looks, and what was counted is not counted again.
final class LogSizes: Sendable {
  private struct Count {
    let generation: UUID
    /// What was purged is counted no more.
    let floor: UInt64
    var through: UInt64 = 0
    var bytes: UInt64 = 0
  }

  private let counts = Mutex<[Int64: Count]>([:])
  /// Entries that one look counts at most.
  static let entriesMax: UInt64 = 20_000
  private static let zonesMax = 100_000

  /// - Parameter sum: the bytes of a zone's entries after a place and up to another.
  func count(
    _ looks: inout [ZoneLook],
    sum: (ZoneRecord, _ after: UInt64, _ through: UInt64) throws -> UInt64
  ) rethrows {
    var left = Self.entriesMax
    for index in looks.indices {
      let zone = looks[index].zone
      let floor = looks[index].floor
      let known = counts.withLock { $0[zone.id] }
      var count =
        known.flatMap {
          $0.generation == zone.generation && $0.floor == floor && $0.through <= zone.head
            ? $0 : nil
        } ?? Count(generation: zone.generation, floor: floor, through: floor)
      let through = min(zone.head, count.through + left)
      if through > count.through {
        count.bytes += try sum(zone, count.through, through)
        left -= through - count.through
        count.through = through
        counts.withLock { counts in
          if counts.count >= Self.zonesMax { counts = [:] }
          counts[zone.id] = count
        }
      }
      looks[index].logBytes = count.bytes
      looks[index].isCounted = count.through == zone.head
    }
  }
}

/// A token of an operator, without its secret: it opens the status page, and no zone.
package struct OperatorRecord: Sendable, Hashable {
  package let id: String
  package let hash: Data
  /// What the operator is called.
  package let name: String
  package let createdMilliseconds: Int64
  /// When it ends, by the server's time.
  package let expiresMilliseconds: Int64?
  package let revokedMilliseconds: Int64?

  /// Whether it is one at a time of the server's.
  package func isValid(at milliseconds: Int64) -> Bool {
    revokedMilliseconds == nil && (expiresMilliseconds ?? .max) > milliseconds
  }
}
