public import Foundation
import Synchronization

/// What a storage tells of itself and of some zones, for the status page.
public struct StorageLook: Sendable {
  /// By name.
  public var zones: [ZoneLook]
  /// How many zones there are.
  public var zoneCount: Int
  /// Whether further zones come after these.
  public var hasMore: Bool
  /// Bytes of the database; nil where it does not say.
  public var databaseBytes: Int64?
  /// Of the write-ahead log, where that is a file of its own.
  public var logFileBytes: Int64?
  /// Free bytes of its disk; nil where it does not say.
  public var freeBytes: Int64?
  /// Of parts that wait for the last one of their push; nil where none are taken.
  public var stagedBytes: Int64?
  /// Of large values, those too that come; nil where none are kept.
  public var valueBytes: Int64?
  /// Of them, of those that nothing names so far.
  public var unnamedValueBytes: Int64?
  /// How many large values logs name and the server lacks; nil where none are kept.
  public var lostValues: Int64?

  /// What a look found.
  public init(
    zones: [ZoneLook], zoneCount: Int, hasMore: Bool, databaseBytes: Int64? = nil,
    logFileBytes: Int64? = nil, freeBytes: Int64? = nil, stagedBytes: Int64? = nil,
    valueBytes: Int64? = nil, unnamedValueBytes: Int64? = nil, lostValues: Int64? = nil
  ) {
    self.zones = zones
    self.zoneCount = zoneCount
    self.hasMore = hasMore
    self.databaseBytes = databaseBytes
    self.logFileBytes = logFileBytes
    self.freeBytes = freeBytes
    self.stagedBytes = stagedBytes
    self.valueBytes = valueBytes
    self.unnamedValueBytes = unnamedValueBytes
    self.lostValues = lostValues
  }
}

/// A zone, for the status page.
public struct ZoneLook: Sendable {
  /// The zone.
  public let zone: ZoneRecord
  /// Bytes of the log's entries, as far as they are counted.
  public var logBytes: UInt64 = 0
  /// Whether all are.
  public var isCounted = true
  /// Replicas that were seen, at most `replicasMax`; nil where that is not kept.
  public var replicas: Int?
  /// Where the one furthest behind is.
  public var slowestCursor: UInt64?
  /// When a replica was last there, by the server's time. Milliseconds since 1970.
  public var lastSeenMilliseconds: Int64?
  /// When the last entry came, by the server's time. Milliseconds since 1970.
  public var lastPushMilliseconds: Int64?
  /// Where its snapshot stands, and the bytes of that; nil where there is none.
  public var snapshot: (sequence: UInt64, bytes: Int)?
  /// The last entry whose change set may be gone; 0 where none was purged.
  public var floor: UInt64 = 0

  /// A zone of which no more is known yet.
  public init(_ zone: ZoneRecord) { self.zone = zone }

  /// Entries that the replica furthest behind has not applied.
  public var lag: UInt64? { slowestCursor.map { zone.head > $0 ? zone.head - $0 : 0 } }

  /// How many replicas of a zone are looked at for a list of zones.
  public static let replicasMax = 1000
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
public struct OperatorRecord: Sendable, Hashable {
  /// By which the row is found.
  public let id: String
  /// The SHA-256 of the token's secret.
  public let hash: Data
  /// What the operator is called.
  public let name: String
  /// When it was made, by the server's time. Milliseconds since 1970.
  public let createdMilliseconds: Int64
  /// When it ends, by the server's time.
  public let expiresMilliseconds: Int64?
  /// When it was revoked, by the server's time; nil where it was not. Milliseconds since 1970.
  public let revokedMilliseconds: Int64?

  /// All that there is to say of one.
  public init(
    id: String, hash: Data, name: String, createdMilliseconds: Int64,
    expiresMilliseconds: Int64?, revokedMilliseconds: Int64?
  ) {
    self.id = id
    self.hash = hash
    self.name = name
    self.createdMilliseconds = createdMilliseconds
    self.expiresMilliseconds = expiresMilliseconds
    self.revokedMilliseconds = revokedMilliseconds
  }

  /// Whether it is one at a time of the server's.
  public func isValid(at milliseconds: Int64) -> Bool {
    revokedMilliseconds == nil && (expiresMilliseconds ?? .max) > milliseconds
  }
}
