import DriftlessSQLite
import Foundation

/// Owns the tables `zone_limit`, bounds of zones by name and the mark of a log that was put back, and `zone_log`: how many bytes the log of a zone has that has a bound of
/// them, as far as they are counted. A program of before, which knows nothing of them, goes by the server's bounds alone.
enum ZoneBounds {
  /// A program of before deletes a zone without its bounds, and gives another one its number: the UUID tells them apart.
  static let statement = """
    CREATE TABLE IF NOT EXISTS zone_limit(
      zone INTEGER NOT NULL, uuid BLOB NOT NULL, name TEXT NOT NULL, value INTEGER NOT NULL,
      PRIMARY KEY(zone, uuid, name)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS zone_log(
      zone INTEGER PRIMARY KEY, generation BLOB NOT NULL, floor INTEGER NOT NULL,
      through INTEGER NOT NULL, bytes INTEGER NOT NULL)
    """

  /// In the list of what is read of a zone.
  static let column = """
    (SELECT group_concat(zone_limit.name || '=' || zone_limit.value) FROM zone_limit
      WHERE zone_limit.zone = zone.id AND zone_limit.uuid = zone.uuid)
    """

  /// Forgets what is said of zones that are no more.
  static let forgetting = """
    DELETE FROM zone_limit WHERE NOT EXISTS (
      SELECT 1 FROM zone WHERE zone.id = zone_limit.zone AND zone.uuid = zone_limit.uuid);
    DELETE FROM zone_log WHERE zone NOT IN (SELECT id FROM zone)
    """

  /// Writes a zone's bounds, and its mark, as the record has them.
  static func set(of zone: ZoneRecord, on connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM zone_limit WHERE zone = ?", .integer(zone.id))
    for (name, value) in ZoneLimitRows(zone).rows {
      try connection.run(
        "INSERT INTO zone_limit VALUES(?, ?, ?, ?)", .integer(zone.id),
        .blob(zone.zoneID.bytes), .text(name), .integer(Int64(value)))
    }
  }

  /// The zones' logs were put back: replicas bring back what they lack.
  ///
  /// - Parameter renewed: zones whose logs begin anew with that, by their UUIDs.
  static func notePutBack(
    but renewed: Set<UUID> = [], on connection: SQLiteConnection
  ) throws {
    for var zone in try connection.zones() {
      zone.isPutBack = !renewed.contains(zone.zoneID)
      try set(of: zone, on: connection)
    }
  }

  /// A zone's log goes on: nothing that it lost fits behind that.
  static func forgetPutBack(of zone: ZoneRecord, on connection: SQLiteConnection) throws {
    guard zone.isPutBack else { return }
    try connection.run(
      "DELETE FROM zone_limit WHERE zone = ? AND name = ?", .integer(zone.id),
      .text(ZoneLimitRows.putBackName))
  }

  /// Bytes of a zone's entries from its floor to its head, counted a bounded piece further; at least so many there are.
  static func logBytes(of zone: ZoneRecord, on connection: SQLiteConnection) throws -> Int {
    let floor = try PurgedLog.floor(of: zone, on: connection)
    let known = try connection.prepare(
      "SELECT through, bytes FROM zone_log WHERE zone = ? AND generation = ? AND floor = ?")
    defer { known.reset() }
    known.bind([
      .integer(zone.id), .blob(zone.generation.bytes), .integer(Int64(clamping: floor)),
    ])
    var (through, bytes) = (floor, Int64(0))
    if try known.step(), UInt64(clamping: known.int64(0)) <= zone.head {
      (through, bytes) = (UInt64(clamping: known.int64(0)), known.int64(1))
    }
    guard through < zone.head else { return Int(clamping: bytes) }
    let end = min(zone.head, through + UInt64(ZoneLimits.entriesAtOnce))
    let sum = try connection.scalar(
      "SELECT cast(total(size) AS INTEGER) FROM log WHERE position > ? AND position <= ?",
      .integer(LogPosition.of(zone: zone.id, number: through)),
      .integer(LogPosition.of(zone: zone.id, number: end)))
    if case .integer(let more)? = sum { bytes += max(0, more) }
    try connection.run(
      "INSERT OR REPLACE INTO zone_log VALUES(?, ?, ?, ?, ?)", .integer(zone.id),
      .blob(zone.generation.bytes), .integer(Int64(clamping: floor)),
      .integer(Int64(clamping: end)), .integer(bytes))
    return Int(clamping: bytes)
  }
}

extension SQLiteZoneTables {
  func logBytes(of zone: ZoneRecord) throws -> Int {
    try ZoneBounds.logBytes(of: zone, on: connection)
  }
}

extension Administration {
  @discardableResult package func changeLimits(
    of name: String, _ changes: [String: Int?]
  ) throws -> ZoneLimits {
    try writeAtNeed {
      var zone = try existingZone(name)
      let before = zone.limits
      for (bound, value) in changes { try zone.limits.set(bound, to: value) }
      guard zone.limits != before else { return before }
      try ZoneBounds.set(of: zone, on: connection)
      try note(.limitsChanged, zone: name, nil, zone.limits.changes(from: before))
      return zone.limits
    }
  }

  @discardableResult package func markPutBack(_ name: String) throws -> ZoneRecord {
    try writeAtNeed {
      var zone = try existingZone(name)
      guard !zone.isPutBack else { return zone }
      zone.isPutBack = true
      try ZoneBounds.set(of: zone, on: connection)
      try note(.zonePutBack, zone: name)
      return zone
    }
  }
}
