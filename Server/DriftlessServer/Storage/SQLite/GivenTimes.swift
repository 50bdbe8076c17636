import DriftlessSQLite

/// Owns the table `clock`: the last time that the server gave, as far as it is kept.
enum GivenTimes {
  static let statement =
    "CREATE TABLE IF NOT EXISTS clock(id INTEGER PRIMARY KEY CHECK(id = 1), given_ms INTEGER NOT NULL)"

  /// The last time that is known to have been given, by this table or by an entry; 0 for none.
  static func last(_ connection: SQLiteConnection) throws -> Int64 {
    let kept = believable(try connection.integer("SELECT given_ms FROM clock") ?? 0)
    // As `LogPosition` has it.
    let received = try connection.integer(
      "SELECT max(received_ms) FROM zone JOIN log ON position = zone.id << 40 | zone.head")
    return max(kept, believable(received ?? 0))
  }

  /// The end of the year 9999: what is later, or before 1970, nobody gave.
  static let latest: Int64 = 253_402_300_799_999

  /// A time as a database has it, which anybody may have written: within what can be reckoned with.
  private static func believable(_ milliseconds: Int64) -> Int64 {
    min(max(0, milliseconds), latest)
  }

  /// Makes a server go on from a time, whether later or earlier ones are kept.
  static func replace(by milliseconds: Int64, on connection: SQLiteConnection) throws {
    try keep(milliseconds, on: connection)
    try setBack(to: milliseconds, on: connection)
  }

  /// Takes back that later times were given. Of the entries only the last ones are asked for theirs.
  static func setBack(to milliseconds: Int64, on connection: SQLiteConnection) throws {
    try connection.run("UPDATE clock SET given_ms = min(given_ms, ?)", .integer(milliseconds))
    try connection.run(
      """
      UPDATE log SET received_ms = ?1
      WHERE position IN (SELECT id << 40 | head FROM zone) AND received_ms > ?1
      """, .integer(milliseconds))
  }

  static func keep(_ milliseconds: Int64, on connection: SQLiteConnection) throws {
    try connection.run(
      """
      INSERT INTO clock VALUES(1, ?) ON CONFLICT(id) DO UPDATE
      SET given_ms = max(given_ms, excluded.given_ms)
      """, .integer(milliseconds))
  }
}
