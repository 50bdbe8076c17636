import Driftless
import DriftlessSQLite

/// When the changes of an import were made (`ZDL_IMPORT`): history knows only when they came.
///
/// A row holds from which change on, and the time. It is asked when a zone lost what it had, and
/// replicas offer it anew: then the later edit is to win, not the replica that pulled last.
struct ImportTimes {
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

  /// Forgets times of changes that history has forgotten.
  static func purge(_ connection: SQLiteConnection) throws {
    try connection.perform(
      """
      DELETE FROM ZDL_IMPORT WHERE first_change < (SELECT max(first_change) FROM ZDL_IMPORT
      WHERE first_change <= (SELECT min(Z_PK) FROM ACHANGE))
      """)
  }
}
