import Driftless
import DriftlessSQLite

/// Who made an edit, and in which context.
struct EditOrigin: Hashable {
  var author: String?
  var contextName: String?

  init?(author: String?, contextName: String?) {
    guard author != nil || contextName != nil else { return nil }
    self.author = author
    self.contextName = contextName
  }
}

/// Who made the edits that are pending under their times in place of their transactions (`EditStamp`): owns `ZDL_ORIGIN`.
///
/// What is offered to a zone that lost it, and what stays pending longer than its history, is told with its author all the same.
/// The rows go when nothing is pending under a time any more.
enum StampOrigins {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .integer("stamp", Int64.min ... -1), .text("author", orNull: true),
    .text("context", orNull: true),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_ORIGIN(
      stamp INTEGER PRIMARY KEY, author TEXT, context TEXT\(RowRule.constraints(rules)))
    """

  /// Of two edits of one time the first that is noted stands: they are told as one.
  static func note(
    _ origin: EditOrigin?, of stamp: Int64, on connection: SQLiteConnection
  ) throws {
    guard let origin, stamp < 0 else { return }
    try connection.perform(
      "INSERT INTO ZDL_ORIGIN VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
      [
        .integer(stamp), origin.author.map { .text($0) } ?? .null,
        origin.contextName.map { .text($0) } ?? .null,
      ])
  }

  static func origin(of stamp: Int64, on connection: SQLiteConnection) throws -> EditOrigin? {
    var origin: EditOrigin?
    guard try EngineTables.has("ZDL_ORIGIN", on: connection) else { return nil }
    try connection.forEachRow(
      "SELECT author, context FROM ZDL_ORIGIN WHERE stamp = ?", [.integer(stamp)]
    ) { row in
      origin = EditOrigin(
        author: row.isNull(0) ? nil : row.string(0),
        contextName: row.isNull(1) ? nil : row.string(1))
    }
    return origin
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_ORIGIN")
  }

  /// Forgets all when nothing is pending that history does not have.
  static func trim(on connection: SQLiteConnection) throws {
    if try !PendingState.exist(on: connection) { try removeAll(on: connection) }
  }
}
