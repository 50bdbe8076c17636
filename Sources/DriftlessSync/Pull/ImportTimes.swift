import Driftless
import DriftlessSQLite

/// When the changes of an import were made, and by whom: history knows only when they came. Owns `ZDL_IMPORT`.
///
/// A row holds from which change on, the time, the author and the context. It is asked when a zone lost what it had, and
/// replicas offer it anew: then the later edit is to win, not the replica that pulled last.
struct ImportTimes {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .integer("first_change", 1...Int64.max), .integer("time"), .text("author", orNull: true),
    .text("context", orNull: true),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_IMPORT(
      first_change INTEGER PRIMARY KEY, time INTEGER NOT NULL, author TEXT,
      context TEXT\(RowRule.constraints(rules)))
    """

  /// Gives a table of an earlier version the columns that it lacks.
  static func complete(on connection: SQLiteConnection) throws {
    for column in ["author", "context"]
    where try !EngineTables.has(column: column, of: "ZDL_IMPORT", on: connection) {
      try connection.execute("ALTER TABLE ZDL_IMPORT ADD COLUMN \(column) TEXT")
    }
  }

  private let transaction: WriteTransaction
  private var last: (time: HybridTime, origin: EditOrigin?)?

  init(_ transaction: WriteTransaction) {
    self.transaction = transaction
  }

  /// The changes that are made from now on are of this time and author.
  mutating func note(_ time: HybridTime, by origin: EditOrigin?) throws {
    if let last, last == (time, origin) { return }
    last = (time, origin)
    try transaction.connection.perform(
      "INSERT OR REPLACE INTO ZDL_IMPORT (first_change, time, author, context) VALUES (?, ?, ?, ?)",
      [
        .integer(transaction.nextChange), .unsigned(time.rawValue),
        origin?.author.map { .text($0) } ?? .null, origin?.contextName.map { .text($0) } ?? .null,
      ])
  }

  struct Row {
    let firstChange: Int64
    let time: HybridTime
    let origin: EditOrigin?
  }

  /// From which change on which time holds, in the order of history.
  static func all(on connection: SQLiteConnection) throws -> [Row] {
    guard try EngineTables.has("ZDL_IMPORT", on: connection) else { return [] }
    let hasOrigins = try EngineTables.has(column: "author", of: "ZDL_IMPORT", on: connection)
    let origin = hasOrigins ? "author, context" : "NULL, NULL"
    var rows: [Row] = []
    try connection.forEachRow(
      "SELECT first_change, time, \(origin) FROM ZDL_IMPORT ORDER BY first_change"
    ) { row in
      rows.append(
        Row(
          firstChange: row.int64(0), time: HybridTime(rawValue: row.unsigned(1)),
          origin: EditOrigin(
            author: row.isNull(2) ? nil : row.string(2),
            contextName: row.isNull(3) ? nil : row.string(3))))
    }
    return rows
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_IMPORT")
  }

  /// Forgets times of changes that history has forgotten.
  static func purge(_ connection: SQLiteConnection) throws {
    try connection.perform(
      """
      DELETE FROM ZDL_IMPORT WHERE first_change < (SELECT max(first_change) FROM ZDL_IMPORT
      WHERE first_change <= \(ChangeTable.oldestSQL))
      """)
  }
}
