import DriftlessSQLite

/// Owns the table `token_note`: what an operator says of a token. A program of before, which knows nothing of it, takes a
/// token to have no end.
enum TokenNotes {
  static let statement = """
    CREATE TABLE IF NOT EXISTS token_note(
      id TEXT PRIMARY KEY, name TEXT, expires_ms INTEGER) WITHOUT ROWID
    """

  /// What a token is called stands in lists, a column each, and in lines of the log.
  ///
  /// - Throws: `ServerError` (`.badName`).
  static func check(_ name: String?) throws {
    guard let name else { return }
    let isText = !name.unicodeScalars.contains { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: true
      default: false
      }
    }
    guard isText, name.contains(where: { !$0.isWhitespace }), name.utf8.count <= lengthMax else {
      throw ServerError(
        .badName, "this is not what a token may be called",
        suggestion: "Use 1 to \(lengthMax) bytes of text on one line, without control characters.")
    }
  }

  private static let lengthMax = 200

  static func set(
    _ id: String, name: String?, expiresMilliseconds: Int64?, on connection: SQLiteConnection
  ) throws {
    guard name != nil || expiresMilliseconds != nil else { return }
    try connection.run(
      "INSERT OR REPLACE INTO token_note VALUES(?, ?, ?)", .text(id),
      name.map { .text($0) } ?? .null, expiresMilliseconds.map { .integer($0) } ?? .null)
  }

  static func remove(_ id: String, on connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM token_note WHERE id = ?", .text(id))
  }
}
