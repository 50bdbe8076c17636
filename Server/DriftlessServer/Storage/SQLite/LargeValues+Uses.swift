import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Who names values: entries of a log, and the snapshot that stands for those that were purged. And which of the named ones are not
/// there: replicas are told of those, and whoever has one sends it.
extension LargeValues {
  /// In place of an entry's sequence number: the snapshot that a purge has kept names the value.
  private static let bySnapshot: Int64 = 0

  /// Numbers of `value_lost` are never used again, so the highest and how many there are change with each change.
  static let useStatement = """
    CREATE TABLE IF NOT EXISTS value_use(
      zone INTEGER NOT NULL, digest BLOB NOT NULL, sequence INTEGER NOT NULL,
      PRIMARY KEY(zone, digest, sequence)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS value_use_entry ON value_use(zone, sequence);
    CREATE TABLE IF NOT EXISTS value_lost(
      id INTEGER PRIMARY KEY AUTOINCREMENT, zone INTEGER NOT NULL, digest BLOB NOT NULL,
      length INTEGER NOT NULL, UNIQUE(zone, digest))
    """

  // MARK: - Entries

  static func use(
    _ values: [LargeValue], zone: Int64, sequence: UInt64, on connection: SQLiteConnection
  ) throws {
    for value in values {
      try noteUse(value.digest, at: Int64(clamping: sequence), zone: zone, on: connection)
      if try row(of: value, zone: zone, replica: whole, on: connection) == nil {
        try noteLost(value, zone: zone, on: connection)
      } else {
        try keepNamed(value, zone: zone, on: connection)
      }
    }
  }

  static func noteUse(
    _ digest: Data, at sequence: Int64, zone: Int64, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "INSERT OR IGNORE INTO value_use VALUES(?, ?, ?)", .integer(zone), .blob(digest),
      .integer(sequence))
  }

  static func isNamed(
    _ digest: Data, zone: Int64, on connection: SQLiteConnection
  ) throws -> Bool {
    try connection.scalar(
      "SELECT 1 FROM value_use WHERE zone = ? AND digest = ?", .integer(zone), .blob(digest)) != nil
  }

  // MARK: - What a purge keeps

  /// A snapshot stands for entries that are about to go: what it names stays, and what only the one before it named goes when
  /// its lease ends. Who calls sets the floor in the same transaction.
  static func use(
    _ values: [LargeValue], bySnapshotOf zone: Int64, at milliseconds: Int64,
    on connection: SQLiteConnection
  ) throws {
    let former = try connection.rows(
      "SELECT digest FROM value_use WHERE zone = ? AND sequence = ?", .integer(zone),
      .integer(bySnapshot)
    ).compactMap { if case .blob(let digest) = $0[0] { digest } else { nil } }
    let named = Set(values.map(\.digest))
    for value in values {
      try noteUse(value.digest, at: bySnapshot, zone: zone, on: connection)
    }
    for digest in former where !named.contains(digest) {
      try forget(digest, at: bySnapshot, zone: zone, milliseconds, on: connection)
    }
  }

  /// Those of some values that no snapshot of a purge is noted to name.
  static func unnoted(
    _ values: [LargeValue], bySnapshotOf zone: Int64, on connection: SQLiteConnection
  ) throws -> [LargeValue] {
    try values.filter { value in
      try connection.scalar(
        "SELECT 1 FROM value_use WHERE zone = ? AND digest = ? AND sequence = ?", .integer(zone),
        .blob(value.digest), .integer(bySnapshot)) == nil
    }
  }

  /// Whether entries up to a floor are still noted as such that name values.
  static func areUsed(
    through floor: UInt64, zone: Int64, on connection: SQLiteConnection
  ) throws -> Bool {
    try connection.scalar(
      "SELECT 1 FROM value_use WHERE zone = ? AND sequence > ? AND sequence <= ? LIMIT 1",
      .integer(zone), .integer(bySnapshot), .integer(Int64(clamping: floor))) != nil
  }

  /// Some entries up to the floor name nothing any more: their change sets are gone.
  ///
  /// - Returns: whether there may be more.
  static func forgetUses(
    through floor: UInt64, zone: Int64, countMax: Int64, at milliseconds: Int64,
    on connection: SQLiteConnection
  ) throws -> Bool {
    let rows = try connection.rows(
      """
      SELECT digest, sequence FROM value_use WHERE zone = ? AND sequence > ? AND sequence <= ?
      LIMIT ?
      """, .integer(zone), .integer(bySnapshot), .integer(Int64(clamping: floor)),
      .integer(countMax))
    for row in rows {
      guard case .blob(let digest) = row[0], case .integer(let sequence) = row[1] else { continue }
      try forget(digest, at: sequence, zone: zone, milliseconds, on: connection)
    }
    return !rows.isEmpty
  }

  /// A value that nothing names any more has a lease: a replica may be about to fetch it.
  private static func forget(
    _ digest: Data, at sequence: Int64, zone: Int64, _ milliseconds: Int64,
    on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "DELETE FROM value_use WHERE zone = ? AND digest = ? AND sequence = ?", .integer(zone),
      .blob(digest), .integer(sequence))
    guard try !isNamed(digest, zone: zone, on: connection) else { return }
    try forgetLost(digest, zone: zone, on: connection)
    try connection.run(
      "UPDATE value SET lease_ms = ? WHERE zone = ? AND digest = ? AND replica = x''",
      .integer(milliseconds + ValueLease.milliseconds), .integer(zone), .blob(digest))
  }

  // MARK: - What is lacking

  static func noteLost(
    _ value: LargeValue, zone: Int64, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "INSERT OR IGNORE INTO value_lost(zone, digest, length) VALUES(?, ?, ?)", .integer(zone),
      .blob(value.digest), .integer(Int64(clamping: value.length)))
  }

  static func forgetLost(
    _ digest: Data, zone: Int64, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "DELETE FROM value_lost WHERE zone = ? AND digest = ?", .integer(zone), .blob(digest))
  }

  static func isLost(
    _ value: LargeValue, zone: Int64, on connection: SQLiteConnection
  ) throws -> Bool {
    try connection.scalar(
      "SELECT 1 FROM value_lost WHERE zone = ? AND digest = ? AND length = ?", .integer(zone),
      .blob(value.digest), .integer(Int64(clamping: value.length))) != nil
  }

  /// Named values that a zone lacks, in the order of their digests, after one.
  static func lost(
    of zone: Int64, after digest: Data, countMax: Int, on connection: SQLiteConnection
  ) throws -> [LargeValue] {
    try connection.rows(
      """
      SELECT digest, length FROM value_lost WHERE zone = ? AND digest > ? ORDER BY digest LIMIT ?
      """, .integer(zone), .blob(digest), .integer(Int64(countMax))
    ).compactMap { row in
      guard case .blob(let digest) = row[0], case .integer(let length) = row[1] else { return nil }
      return LargeValue(digest: digest, length: UInt64(clamping: length))
    }
  }

  /// How many named values a zone lacks, or all do.
  static func lostCount(of zone: Int64?, on connection: SQLiteConnection) throws -> Int64 {
    let count = try connection.scalar(
      "SELECT count(*) FROM value_lost WHERE ?1 IS NULL OR zone = ?1",
      zone.map { .integer($0) } ?? .null)
    guard case .integer(let count)? = count else { return 0 }
    return count
  }

  /// What changes with the values that a zone lacks; nil where it lacks none.
  static func lostMark(of zone: Int64, on connection: SQLiteConnection) throws -> String? {
    let statement = try connection.prepare(
      "SELECT count(*), coalesce(max(id), 0) FROM value_lost WHERE zone = ?")
    defer { statement.reset() }
    statement.bind(zone, at: 1)
    guard try statement.step(), statement.int64(0) > 0 else { return nil }
    return "\(statement.int64(1))-\(statement.int64(0))"
  }

  // MARK: - Zones

  /// A zone begins anew: nothing names its values until replicas offer what they hold, which they need not send again. Those that
  /// its log named take nobody's room meanwhile. What named them leaves with the log.
  static func move(
    from zone: Int64, to next: Int64, _ intent: ZoneIntent, at milliseconds: Int64,
    on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "UPDATE value SET zone = ?, lease_ms = CASE WHEN token = ? THEN ? ELSE ? END WHERE zone = ?",
      .integer(next), .text(ValueLease.nobody),
      .integer(
        milliseconds
          + (intent == .offer ? ValueLease.offeredMilliseconds : ValueLease.milliseconds)),
      .integer(milliseconds + ValueLease.milliseconds), .integer(zone))
  }
}
