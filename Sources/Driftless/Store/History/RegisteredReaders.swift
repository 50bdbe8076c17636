import DriftlessSQLite

/// Owns `ZDL_HISTORY_READER`: who reads the history, and how far. A purge stops there.
enum RegisteredReaders {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [.text("name"), .integer("number")]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_HISTORY_READER (name TEXT PRIMARY KEY,
    number INTEGER NOT NULL\(RowRule.constraints(rules))) WITHOUT ROWID
    """

  static func register(
    _ name: String, through number: Int64, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      """
      INSERT INTO ZDL_HISTORY_READER VALUES (?, ?)
      ON CONFLICT DO UPDATE SET number = excluded.number WHERE number <> excluded.number
      """, .text(name), .integer(number))
  }

  static func remove(_ name: String, on connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM ZDL_HISTORY_READER WHERE name = ?", .text(name))
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM ZDL_HISTORY_READER")
  }

  static func all(on connection: SQLiteConnection) throws -> [PersistentHistoryReader] {
    try connection.rows("SELECT name, number FROM ZDL_HISTORY_READER ORDER BY name")
      .compactMap { row in
        guard case .text(let name) = row[0], case .integer(let number) = row[1] else {
          return nil
        }
        return PersistentHistoryReader(name: name, transactionNumber: number)
      }
  }

  /// The last transaction number that every reader has read; nil where nobody is registered.
  static func least(on connection: SQLiteConnection) throws -> Int64? {
    guard
      case .integer(let least)? = try connection.scalar(
        "SELECT MIN(number) FROM ZDL_HISTORY_READER")
    else { return nil }
    return least
  }
}
