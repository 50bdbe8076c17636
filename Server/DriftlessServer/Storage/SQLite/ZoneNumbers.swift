import DriftlessSQLite

/// Owns the table `zone_number`: the highest number that a zone has had. No number is given again once its zone is gone: what somebody
/// writes under it who has not heard of that is nobody's, and becomes no other zone's.
enum ZoneNumbers {
  /// A program of before gives numbers without a word, so they are looked at as often as the file is opened.
  static let statement = """
    CREATE TABLE IF NOT EXISTS zone_number(id INTEGER PRIMARY KEY, highest INTEGER NOT NULL);
    INSERT OR IGNORE INTO zone_number VALUES(1, 0);
    UPDATE zone_number SET highest = (SELECT max(id) FROM zone)
      WHERE id = 1 AND highest < (SELECT max(id) FROM zone)
    """

  /// The number of a new zone. Who calls has a transaction.
  ///
  /// - Throws: `ServerError` (`.tooLarge`) where there is none any more, `SQLiteError`.
  static func take(on connection: SQLiteConnection) throws -> Int64 {
    let next = try highest(connection) + 1
    guard next <= LogPosition.zoneMax else {
      throw ServerError(
        .tooLarge, "the server has no room for another zone",
        suggestion: "Start another server on a data folder of its own.")
    }
    try note(next, on: connection)
    return next
  }

  /// The highest so far; 0 for none. One that no zone can have had is none.
  static func highest(_ connection: SQLiteConnection) throws -> Int64 {
    let noted = try connection.integer(
      "SELECT highest FROM zone_number WHERE id = 1 AND highest BETWEEN 0 AND \(LogPosition.zoneMax)"
    )
    let there = try connection.integer("SELECT coalesce(max(id), 0) FROM zone")
    return max(noted ?? 0, there ?? 0)
  }

  /// A zone has had that number, here or in the database that this one takes the place of.
  static func note(_ number: Int64, on connection: SQLiteConnection) throws {
    try connection.run(
      "INSERT OR REPLACE INTO zone_number VALUES(1, ?)",
      .integer(max(number, try highest(connection))))
  }
}
