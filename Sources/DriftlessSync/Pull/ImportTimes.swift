import Driftless
import DriftlessSQLite

/// When the changes of an import were made: history knows only when they came. Owns `ZDL_IMPORT`.
///
/// A row holds from which change on, and the time. It is asked when a zone lost what it had, and
/// replicas offer it anew: then the later edit is to win, not the replica that pulled last.
struct ImportTimes {
  static let statement =
    "CREATE TABLE IF NOT EXISTS ZDL_IMPORT(first_change INTEGER PRIMARY KEY, time INTEGER NOT NULL)"

  private let transaction: WriteTransaction
  private var last: HybridTime?

  init(_ transaction: WriteTransaction) {
    self.transaction = transaction
  }

  /// The changes that are made from now on are of this time.
  mutating func note(_ time: HybridTime) throws {
    guard time != last else { return }
    last = time
    try transaction.connection.perform(
      "INSERT OR REPLACE INTO ZDL_IMPORT VALUES (?, ?)",
      [.integer(transaction.nextChange), .unsigned(time.rawValue)])
  }

  /// From which change on which time holds, in the order of history.
  static func all(
    on connection: SQLiteConnection
  ) throws -> [(firstChange: Int64, time: HybridTime)] {
    guard try EngineTables.has("ZDL_IMPORT", on: connection) else { return [] }
    var rows: [(firstChange: Int64, time: HybridTime)] = []
    try connection.forEachRow("SELECT first_change, time FROM ZDL_IMPORT ORDER BY first_change") {
      row in
      rows.append((row.int64(0), HybridTime(rawValue: row.unsigned(1))))
    }
    return rows
  }

  /// Forgets times of changes that history has forgotten.
  static func purge(_ connection: SQLiteConnection) throws {
    try connection.perform(
      """
      DELETE FROM ZDL_IMPORT WHERE first_change < (SELECT max(first_change) FROM ZDL_IMPORT
      WHERE first_change <= (SELECT min(Z_PK) FROM ACHANGE))
      """)
  }
}
