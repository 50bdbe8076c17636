import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Owns the tables `purge`, `purge_file` and `purged`: up to where the logs of zones were shortened, what they came to, and what
/// is kept of each entry that went.
///
/// Nothing else has what the entries up to a floor said. So the snapshot is in the same database, and whatever becomes of that
/// (a backup, a copy, an older one that is put back) becomes of both.
enum PurgedLog {
  private static let columns = """
    position, replica, number, first_object, new_objects, received_ms, digest, chain, names, size
    """

  /// `entry` has a row for each entry of a log, whether the log still has its change set or not.
  static let statement = """
    CREATE TABLE IF NOT EXISTS purge(
      zone INTEGER PRIMARY KEY, generation BLOB NOT NULL, floor INTEGER NOT NULL,
      snapshot BLOB NOT NULL, purged_ms INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS purge_file(
      zone INTEGER NOT NULL, name TEXT NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY(zone, name));
    CREATE TABLE IF NOT EXISTS purged(
      position INTEGER PRIMARY KEY, replica INTEGER NOT NULL, number INTEGER NOT NULL,
      first_object INTEGER NOT NULL, new_objects INTEGER NOT NULL, received_ms INTEGER NOT NULL,
      digest BLOB NOT NULL, chain BLOB NOT NULL, names BLOB NOT NULL, size INTEGER NOT NULL);
    CREATE UNIQUE INDEX IF NOT EXISTS purged_push ON purged(replica, number, position);
    CREATE VIEW IF NOT EXISTS entry AS
      SELECT \(columns) FROM log UNION ALL SELECT \(columns) FROM purged
    """

  /// The last entry of a zone's log whose change set may be gone; 0 where none was purged.
  static func floor(of zone: ZoneRecord, on connection: SQLiteConnection) throws -> UInt64 {
    let floor = try connection.scalar(
      "SELECT floor FROM purge WHERE zone = ? AND generation = ?", .integer(zone.id),
      .blob(zone.generation.bytes))
    guard case .integer(let number)? = floor else { return 0 }
    return UInt64(clamping: number)
  }

  /// Nil where no entry was purged.
  ///
  /// - Throws: `ServerError` (`.storage`) where the row cannot be read.
  static func row(of zone: ZoneRecord, on connection: SQLiteConnection) throws -> PurgeRow? {
    let statement = try connection.prepare(
      "SELECT floor, snapshot, purged_ms FROM purge WHERE zone = ? AND generation = ?")
    defer { statement.reset() }
    statement.bind([.integer(zone.id), .blob(zone.generation.bytes)])
    guard try statement.step() else { return nil }
    guard let snapshot = Snapshot(note: statement.data(1)) else {
      throw ServerError.purgedIsDamaged("what it came to", zone)
    }
    return PurgeRow(
      floor: UInt64(clamping: statement.int64(0)), snapshot: snapshot,
      milliseconds: statement.int64(2))
  }

  static func bytes(
    of name: String, of zone: ZoneRecord, on connection: SQLiteConnection
  ) throws -> Data? {
    let bytes = try connection.scalar(
      "SELECT bytes FROM purge_file WHERE zone = ? AND name = ?", .integer(zone.id), .text(name))
    guard case .blob(let bytes)? = bytes else { return nil }
    return bytes
  }

  /// A piece of a file; nil for a name that none has.
  static func piece(
    of name: String, of zone: ZoneRecord, first: Int, count: Int,
    on connection: SQLiteConnection
  ) throws -> Data? {
    // SQLite counts bytes from 1 on, in 32 bits; no value has as many.
    let most = Int(Int32.max) - 1
    let bytes = try connection.scalar(
      "SELECT substr(bytes, ?, ?) FROM purge_file WHERE zone = ? AND name = ?",
      .integer(Int64(min(first, most)) + 1), .integer(Int64(min(count, most))), .integer(zone.id),
      .text(name))
    guard case .blob(let bytes)? = bytes else { return nil }
    return bytes
  }

  // MARK: - Writing; who calls has a transaction

  static func keep(
    _ bytes: Data, as name: String, of zone: ZoneRecord, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "INSERT OR REPLACE INTO purge_file VALUES(?, ?, ?)", .integer(zone.id), .text(name),
      .blob(bytes))
  }

  /// From now on the entries up to the floor are those that the snapshot stands for.
  static func setFloor(
    _ floor: UInt64, _ snapshot: Snapshot, of zone: ZoneRecord, at milliseconds: Int64,
    on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "INSERT OR REPLACE INTO purge VALUES(?, ?, ?, ?, ?)", .integer(zone.id),
      .blob(zone.generation.bytes), .integer(Int64(clamping: floor)), .blob(snapshot.note),
      .integer(milliseconds))
  }

  /// Names of files that the present snapshot does not name: of one before, or of a purge that was killed.
  private static func unnamedFiles(
    of zone: ZoneRecord, on connection: SQLiteConnection
  ) throws -> [String] {
    let named = try Set(row(of: zone, on: connection)?.snapshot.files.map(\.name) ?? [])
    return try connection.rows("SELECT name FROM purge_file WHERE zone = ?", .integer(zone.id))
      .compactMap { if case .text(let name) = $0[0], !named.contains(name) { name } else { nil } }
  }

  /// Takes one file away that the snapshot of this very transaction does not name.
  ///
  /// - Returns: whether there was one.
  static func dropUnnamedFile(
    of zone: ZoneRecord, on connection: SQLiteConnection
  ) throws -> Bool {
    guard let name = try unnamedFiles(of: zone, on: connection).first else { return false }
    try connection.run(
      "DELETE FROM purge_file WHERE zone = ? AND name = ?", .integer(zone.id), .text(name))
    return true
  }

  /// Whether a purge was killed that has something to take away yet.
  static func isUnfinished(_ zone: ZoneRecord, on connection: SQLiteConnection) throws -> Bool {
    let floor = try floor(of: zone, on: connection)
    let first = try connection.scalar(
      "SELECT position FROM log WHERE position > ? AND position <= ? LIMIT 1",
      .integer(LogPosition.of(zone: zone.id, number: 0)),
      .integer(LogPosition.of(zone: zone.id, number: floor)))
    return try first != nil || !unnamedFiles(of: zone, on: connection).isEmpty
  }

  /// Takes the change sets of some entries up to the floor away; what is asked of each of them stays.
  ///
  /// - Returns: whether there may be more.
  static func strip(
    _ zone: ZoneRecord, entriesMax: Int64, bytesMax: Int64, on connection: SQLiteConnection
  ) throws -> Bool {
    let floor = try floor(of: zone, on: connection)
    let first = LogPosition.of(zone: zone.id, number: 0)
    let end = LogPosition.of(zone: zone.id, number: floor)
    let rows = try connection.rows(
      """
      SELECT position, size FROM log WHERE position > ? AND position <= ?
      ORDER BY position LIMIT ?
      """, .integer(first), .integer(end), .integer(entriesMax))
    var last: Int64?
    var bytes: Int64 = 0
    for row in rows {
      guard case .integer(let position) = row[0], case .integer(let size) = row[1] else { continue }
      bytes += max(0, min(size, bytesMax))
      last = position
      if bytes >= bytesMax { break }
    }
    guard let last else { return false }
    let range: [SQLiteValue] = [.integer(first), .integer(last)]
    try connection.run(
      "INSERT INTO purged SELECT \(columns) FROM log WHERE position > ? AND position <= ?",
      range[0], range[1])
    try connection.run(
      "DELETE FROM log WHERE position > ? AND position <= ?", range[0], range[1])
    return true
  }
}
