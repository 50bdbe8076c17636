import Driftless
import DriftlessSQLite
import Foundation

/// Owns `ZDL_QUARANTINE`: objects that the server refuses for good.
enum Quarantine {
  private static let table = "ZDL_QUARANTINE"
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .text("code"), .text("reason"), .text("suggestion"), .natural("bytes"),
    .integer("last_edit"), .seconds("time"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_QUARANTINE(
      entity INTEGER NOT NULL, key INTEGER NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL,
      suggestion TEXT NOT NULL, bytes INTEGER NOT NULL, last_edit INTEGER NOT NULL,
      time REAL NOT NULL, PRIMARY KEY (entity, key)\(RowRule.constraints(rules))) WITHOUT ROWID
    """

  /// Makes room for the table: an earlier form held whole change sets, and what they hold is pending all the same.
  static func dropFormer(on connection: SQLiteConnection) throws {
    guard try EngineTables.has(column: "frame", of: table, on: connection) else { return }
    try connection.execute("DROP TABLE ZDL_QUARANTINE")
  }

  struct Row {
    var key: ObjectKey
    var entry: QuarantineEntry
    /// When the newest edit was made that was refused: a later one is tried again.
    var lastEdit: HybridTime
  }

  static func rows(_ transaction: ReadTransaction, schema: SyncSchema) throws -> [Row] {
    guard try EngineTables.has(table, on: transaction.connection) else { return [] }
    var rows: [Row] = []
    try transaction.connection.forEachRow(
      """
      SELECT entity, key, code, reason, suggestion, bytes, last_edit, time FROM ZDL_QUARANTINE
      ORDER BY entity, key
      """
    ) { row in
      let key = row.objectKey(0, 1)
      rows.append(
        Row(
          key: key,
          entry: QuarantineEntry(
            object: try transaction.identity(of: key),
            entity: schema.entity(numbered: key.entity)?.name ?? "unknown", code: row.string(2),
            reason: row.string(3), suggestion: row.string(4),
            bytes: row.count(5),
            time: Date(timeIntervalSince1970: row.double(7))),
          lastEdit: HybridTime(rawValue: row.unsigned(6))))
    }
    return rows
  }

  static func add(_ row: Row, on connection: SQLiteConnection) throws {
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_QUARANTINE VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      [
        .integer(Int64(row.key.entity)), .integer(row.key.key), .text(row.entry.code),
        .text(row.entry.reason), .text(row.entry.suggestion), .integer(Int64(row.entry.bytes)),
        .unsigned(row.lastEdit.rawValue), .real(row.entry.time.timeIntervalSince1970),
      ])
  }

  static func remove(_ key: ObjectKey, on connection: SQLiteConnection) throws {
    try connection.perform(
      "DELETE FROM ZDL_QUARANTINE WHERE entity = ? AND key = ?",
      [.integer(Int64(key.entity)), .integer(key.key)])
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_QUARANTINE")
  }

  static func count(on connection: SQLiteConnection) throws -> Int {
    guard try EngineTables.has(table, on: connection) else { return 0 }
    return Int(truncatingIfNeeded: try connection.number("SELECT count(*) FROM ZDL_QUARANTINE"))
  }
}
