import DriftlessSQLite

/// Owns the table `clock`: the last time that the server gave, as far as it is kept.
enum GivenTimes {
  static let statement =
    "CREATE TABLE IF NOT EXISTS clock(id INTEGER PRIMARY KEY CHECK(id = 1), given_ms INTEGER NOT NULL)"

  /// The last time that is known to have been given, by this table or by an entry; 0 for none.
  static func last(_ connection: SQLiteConnection) throws -> Int64 {
    let kept = try connection.integer("SELECT given_ms FROM clock") ?? 0
    // As `LogPosition` has it.
    let received = try connection.integer(
      "SELECT max(received_ms) FROM zone JOIN log ON position = zone.id << 40 | zone.head")
    return max(kept, received ?? 0)
  }

  static func keep(_ milliseconds: Int64, on connection: SQLiteConnection) throws {
    try connection.run(
      """
      INSERT INTO clock VALUES(1, ?) ON CONFLICT(id) DO UPDATE
      SET given_ms = max(given_ms, excluded.given_ms)
      """, .integer(milliseconds))
  }
}
