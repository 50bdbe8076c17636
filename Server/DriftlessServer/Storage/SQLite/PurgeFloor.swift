import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What an operator says of a purge.
package struct PurgeOptions: Sendable {
  /// Days for which each entry is kept in any case.
  package var keepDays = 90
  /// Days for which a replica that was seen keeps what it has not read.
  package var replicaDays = 365
  /// A new replica of each model in use has joined by the zone's snapshot: what only a model tells, the operator has seen.
  package var isTried = false
  package var isDryRun = false
  /// It begins though the disk may have no room for it.
  package var isForced = false
  /// No entry after this one goes.
  package var through = UInt64.max
  /// What there is room for; nil for what the file system says. Bytes.
  package var freeBytes: (@Sendable () -> Int?)?

  package init(
    keepDays: Int = 90, replicaDays: Int = 365, isTried: Bool = false, isDryRun: Bool = false,
    isForced: Bool = false, through: UInt64 = .max
  ) {
    self.isForced = isForced
    self.through = through
    self.keepDays = keepDays
    self.replicaDays = replicaDays
    self.isTried = isTried
    self.isDryRun = isDryRun
  }

  /// The most days of either.
  package static let daysMax = 36_500
}

/// Up to where a log may be purged, and what says so.
struct PurgeFloor {
  /// What keeps the floor from being higher.
  enum Bound: String, Sendable {
    /// The entry behind it is younger than the operator said, or has a later time.
    case age
    /// A replica that was seen has not read on.
    case replica
    /// A push whose last part has not come was made there.
    case staged
    /// The operator said so.
    case through
    /// The last entry stays.
    case head
  }

  private(set) var sequence: UInt64
  private(set) var bound = Bound.head

  private mutating func bring(down other: UInt64, _ bound: Bound) {
    guard other < sequence else { return }
    sequence = other
    self.bound = bound
  }

  /// - Parameter now: the time by which ages are reckoned.
  init(
    of zone: ZoneRecord, _ options: PurgeOptions, at now: Int64, on connection: SQLiteConnection
  ) throws {
    sequence = zone.head - min(1, zone.head)
    bring(down: options.through, .through)
    try bringDown(toAge: Self.milliseconds(options.keepDays), at: now, of: zone, connection)
    try lookAgain(at: zone, options, now, connection)
  }

  /// Looks at what may have become otherwise since: who was seen, and which parts wait.
  mutating func lookAgain(
    at zone: ZoneRecord, _ options: PurgeOptions, _ now: Int64, _ connection: SQLiteConnection
  ) throws {
    try bringDown(toReplicas: now, options, of: zone, connection)
    // Of a push that nobody goes on with, the server has forgotten the parts or will.
    let forgotten = now - Int64(ServerLimits().stagedSeconds) * 1000
    for row in try connection.rows(
      """
      SELECT substr(frame, 1, ?) FROM staged WHERE zone = ? AND replica NOT IN
        (SELECT replica FROM staging WHERE touched_ms < ?)
      """,
      .integer(Int64(ChangeSetHeader.size)), .integer(zone.id), .integer(forgotten))
    {
      guard case .blob(let bytes) = row[0] else { continue }
      let header = try? ChangeSetDecoder().decodeHeader(bytes)
      bring(down: header?.cursor.sequence ?? 0, .staged)
    }
  }

  private static func milliseconds(_ days: Int) -> Int64 { Int64(days) * 86_400_000 }

  /// By when the server had an entry. One that has a later time than now keeps all that follows it, whatever times those have.
  /// So does time in which nothing came, where it is longer than what is kept: it is no age. A clock that leapt makes
  /// nothing old that is not.
  private mutating func bringDown(
    toAge kept: Int64, at now: Int64, of zone: ZoneRecord, _ connection: SQLiteConnection
  ) throws {
    let leaps = try kept > 0 ? leaps(over: kept, until: now, of: zone, connection) : []
    var ageless = leaps.reduce(0) { $0 &+ $1.milliseconds }
    var first = LogPosition.of(zone: zone.id, number: 0)
    let end = LogPosition.of(zone: zone.id &+ 1, number: 0)
    for leap in leaps + [(position: end, milliseconds: 0)] {
      let young = try connection.scalar(
        """
        SELECT min(position) FROM log WHERE position >= ? AND position < ? AND received_ms >= ?
        """, .integer(first), .integer(leap.position),
        .integer(now &- kept &- ageless))
      if case .integer(let position)? = young {
        return bring(down: LogPosition.number(position) - 1, .age)
      }
      first = leap.position
      ageless = ageless &- leap.milliseconds
    }
  }

  /// Entries that came longer after the one before than a time.
  private func leaps(
    over longest: Int64, until now: Int64, of zone: ZoneRecord, _ connection: SQLiteConnection
  ) throws -> [(position: Int64, milliseconds: Int64)] {
    let rows = try connection.rows(
      """
      SELECT position, span FROM (
        SELECT position, received_ms, received_ms - lag(received_ms) OVER (ORDER BY position) AS span
        FROM log WHERE position > ? AND position < ?)
      WHERE span > ? AND received_ms <= ?
      """, .integer(LogPosition.of(zone: zone.id, number: 0)),
      .integer(LogPosition.of(zone: zone.id &+ 1, number: 0)), .integer(longest), .integer(now))
    return rows.compactMap {
      guard case .integer(let position) = $0[0], case .integer(let span) = $0[1] else { return nil }
      return (position, span)
    }
  }

  /// Who is away for a season finds the log where it left it. Time that nobody was seen in is no time of absence: it may be the
  /// clock that leapt.
  private mutating func bringDown(
    toReplicas now: Int64, _ options: PurgeOptions, of zone: ZoneRecord,
    _ connection: SQLiteConnection
  ) throws {
    let newest = try connection.scalar(
      "SELECT max(seen_ms) FROM sighting WHERE zone = ?", .integer(zone.id))
    var from = now
    if case .integer(let seen)? = newest { from = min(now, seen) }
    from -= Self.milliseconds(options.replicaDays)
    let slowest = try connection.scalar(
      "SELECT min(coalesce(asked, cursor)) FROM sighting WHERE zone = ? AND seen_ms >= ?",
      .integer(zone.id), .integer(from))
    if case .integer(let cursor)? = slowest { bring(down: UInt64(clamping: cursor), .replica) }
    // Of who pushed, and was not seen since the server keeps that, the last push says how far it was.
    for row in try connection.rows(
      """
      SELECT log.header FROM replica JOIN log ON log.replica = replica.id
        AND log.number = replica.last_push
      WHERE replica.zone = ?1 AND log.received_ms >= ?2
        AND replica.uuid NOT IN (SELECT replica FROM sighting WHERE zone = ?1)
        AND replica.uuid NOT IN (SELECT replica FROM forgotten_replica WHERE zone = ?1)
      """, .integer(zone.id), .integer(from))
    {
      guard case .blob(let bytes) = row[0] else { continue }
      let header = try? ChangeSetDecoder().decodeHeader(bytes)
      bring(down: header?.cursor.sequence ?? 0, .replica)
    }
  }

  /// What was pushed after the snapshot was made is above its place, so its author cannot take that in: it must not be below
  /// the floor.
  mutating func bringDown(
    toPushesAfter place: LogMark, of zone: ZoneRecord, _ connection: SQLiteConnection
  ) throws {
    let statement = try connection.prepare(
      "SELECT header FROM log WHERE position > ? AND position < ?")
    defer { statement.reset() }
    statement.bind([
      .integer(LogPosition.of(zone: zone.id, number: place.sequence)),
      .integer(LogPosition.of(zone: zone.id &+ 1, number: 0)),
    ])
    while try statement.step() {
      let header = try? ChangeSetDecoder().decodeHeader(statement.data(0))
      bring(down: header?.cursor.sequence ?? 0, .replica)
    }
  }
}
