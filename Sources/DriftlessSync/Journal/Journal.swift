import Driftless
import DriftlessSQLite
import Foundation

/// Reads and writes `ZDL_JOURNAL`.
enum Journal {
  static func append(_ entries: [JournalEntry], on connection: SQLiteConnection) throws {
    for entry in entries {
      try connection.perform(
        """
        INSERT INTO ZDL_JOURNAL(object, entity, property, policy, base, local, remote, kept,
          outcome, origin, local_time, remote_time, transaction_number, sequence, explanation)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
          .uuid(entry.object), .text(entry.entity), .optional(entry.property), .text(entry.policy),
          .optional(entry.base), .optional(entry.local), .optional(entry.remote),
          .optional(entry.kept), .text(entry.outcome.rawValue), .uuid(entry.origin),
          .unsigned(entry.localTime.rawValue), .unsigned(entry.remoteTime.rawValue),
          .integer(entry.transaction), .unsigned(entry.sequence), .text(entry.explanation),
        ])
    }
  }

  static func count(on connection: SQLiteConnection) throws -> Int {
    Int(truncatingIfNeeded: try connection.number("SELECT count(*) FROM ZDL_JOURNAL"))
  }

  /// Entries with a number above `number`, oldest first.
  static func entries(
    after number: Int64, limit: Int, on connection: SQLiteConnection
  ) throws -> [JournalEntry] {
    try read(
      "WHERE number > ? ORDER BY number LIMIT ?", [.integer(number), .integer(Int64(limit))],
      on: connection)
  }

  /// Every conflict of one property, and of its object as a whole, oldest first.
  static func entries(
    object: UUID, property: String, on connection: SQLiteConnection
  ) throws -> [JournalEntry] {
    try read(
      "WHERE object = ? AND (property = ? OR property IS NULL) ORDER BY number",
      [.uuid(object), .text(property)], on: connection)
  }

  private static func read(
    _ condition: String, _ values: [SQLiteValue], on connection: SQLiteConnection
  ) throws -> [JournalEntry] {
    var entries: [JournalEntry] = []
    try connection.forEachRow(
      """
      SELECT number, object, entity, property, policy, base, local, remote, kept, outcome, origin,
        local_time, remote_time, transaction_number, sequence, explanation
      FROM ZDL_JOURNAL \(condition)
      """, values
    ) { row in
      guard let object = UUID(networkBytes: row.data(1)),
        let origin = UUID(networkBytes: row.data(10)),
        let outcome = JournalEntry.Outcome(rawValue: row.string(9))
      else { throw SyncError.damaged("a conflict in the journal") }
      func text(_ column: Int32) -> String? { row.isNull(column) ? nil : row.string(column) }
      entries.append(
        JournalEntry(
          number: row.int64(0), object: object, entity: row.string(2), property: text(3),
          policy: row.string(4), base: text(5), local: text(6), remote: text(7), kept: text(8),
          outcome: outcome, origin: origin,
          localTime: HybridTime(rawValue: UInt64(bitPattern: row.int64(11))),
          remoteTime: HybridTime(rawValue: UInt64(bitPattern: row.int64(12))),
          transaction: row.int64(13), sequence: UInt64(bitPattern: row.int64(14)),
          explanation: row.string(15)))
    }
    return entries
  }
}
