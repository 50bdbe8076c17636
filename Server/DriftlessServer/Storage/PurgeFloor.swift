import DriftlessProtocol
import Foundation

/// What an operator says of a purge.
public struct PurgeOptions: Sendable {
  /// Days for which each entry is kept in any case.
  public var keepDays = 90
  /// Days for which a replica that was seen keeps what it has not read.
  public var replicaDays = 365
  /// A new replica of each model in use has joined by the zone's snapshot: what only a model tells, the operator has seen.
  public var isTried = false
  /// Whether nothing is changed, and what would be is told.
  public var isDryRun = false
  /// It begins though the disk may have no room for it.
  public var isForced = false
  /// No entry after this one goes.
  public var through = UInt64.max
  /// What there is room for; nil for what the file system says. Bytes.
  public var freeBytes: (@Sendable () -> Int?)?

  /// What is not said is as it usually is.
  public init(
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
  public static let daysMax = 36_500
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
    /// There is no room for more at one time.
    case room
  }

  private(set) var sequence: UInt64
  private(set) var bound = Bound.head

  private mutating func bring(down other: UInt64, _ bound: Bound) {
    guard other < sequence else { return }
    sequence = other
    self.bound = bound
  }

  /// Down to where the push was made that a header is of.
  private mutating func bring(downToPush bytes: Data, _ bound: Bound) {
    let header = try? ChangeSetDecoder().decodeHeader(bytes)
    bring(down: header?.cursor.sequence ?? 0, bound)
  }

  /// - Parameter now: the time by which ages are reckoned.
  init(_ tables: some PurgeTables, _ options: PurgeOptions, at now: Int64) throws {
    let head = tables.zone.head
    sequence = head - min(1, head)
    bring(down: options.through, .through)
    try bringDown(toAge: Self.milliseconds(options.keepDays), at: now, tables)
    try lookAgain(tables, options, at: now)
  }

  /// Down to the end of a portion.
  mutating func bringDown(toRoom last: UInt64) { bring(down: last, .room) }

  /// Looks at what may have become otherwise since: who was seen, and which parts wait.
  mutating func lookAgain(
    _ tables: some PurgeTables, _ options: PurgeOptions, at now: Int64
  ) throws {
    try bringDown(toReplicas: now, options, tables)
    // Of a push that nobody goes on with, the server has forgotten the parts or will.
    let forgotten = now - Int64(ServerLimits().stagedSeconds) * 1000
    for header in try tables.stagedParts(since: forgotten) { bring(downToPush: header, .staged) }
  }

  private static func milliseconds(_ days: Int) -> Int64 { Int64(days) * 86_400_000 }

  /// By when the server had an entry. One that has a later time than now keeps all that follows it, whatever times those have.
  /// So does time in which nothing came, where it is longer than what is kept: it is no age. A clock that leapt makes
  /// nothing old that is not.
  private mutating func bringDown(
    toAge kept: Int64, at now: Int64, _ tables: some PurgeTables
  ) throws {
    let leaps = try kept > 0 ? tables.leaps(over: kept, until: now) : []
    var ageless = leaps.reduce(0) { $0 &+ $1.milliseconds }
    var first: UInt64 = 0
    for leap in leaps + [(sequence: LogBounds.numberMax, milliseconds: 0)] {
      let young = try tables.firstEntry(
        from: first, before: leap.sequence, since: now &- kept &- ageless)
      if let young { return bring(down: young - min(1, young), .age) }
      first = leap.sequence
      ageless = ageless &- leap.milliseconds
    }
  }

  /// Who is away for a season finds the log where it left it. Time that nobody was seen in is no time of absence: it may be the
  /// clock that leapt.
  private mutating func bringDown(
    toReplicas now: Int64, _ options: PurgeOptions, _ tables: some PurgeTables
  ) throws {
    let from =
      min(now, try tables.lastSeen() ?? now) - Self.milliseconds(options.replicaDays)
    if let slowest = try tables.slowestPlace(since: from) { bring(down: slowest, .replica) }
    // Of who pushed, and was not seen since the server keeps that, the last push says how far it was.
    for header in try tables.lastPushesOfUnseen(since: from) {
      bring(downToPush: header, .replica)
    }
  }

  /// What was pushed after the snapshot was made is above its place, so its author cannot take that in: it must not be below
  /// the floor.
  ///
  /// - Parameter portion: where the snapshot ends at a portion: of what was behind that is known where it was made.
  mutating func bringDown(
    toPushesAfter place: LogMark, _ portion: LogPortion?, _ tables: some PurgeTables
  ) throws {
    if let portion { bring(down: portion.lowestBehind, .replica) }
    try tables.forEachHeader(after: portion?.head ?? place.sequence) { _, header in
      bring(downToPush: header, .replica)
      return sequence > 0
    }
  }
}
