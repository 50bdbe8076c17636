import DriftlessSQLite
package import Foundation

/// Owns the table `token_binding`: tokens that one replica may use, and which, once it has. A program of before, which knows nothing
/// of it, takes a token to be anybody's.
enum TokenBindings {
  static let statement = """
    CREATE TABLE IF NOT EXISTS token_binding(id TEXT PRIMARY KEY, replica BLOB) WITHOUT ROWID
    """

  /// A binding of a row: whether there is one, and its replica.
  static func binding(_ statement: SQLiteStatement, at column: Int32) -> TokenBinding {
    guard statement.int64(column) != 0 else { return .none }
    guard !statement.isNull(column + 1) else { return .first }
    // A replica that cannot be read is nobody's: the token is none's then.
    return .to(UUID(bytes: statement.data(column + 1)) ?? UUID())
  }

  static func set(
    _ binding: TokenBinding, of id: String, on connection: SQLiteConnection
  ) throws {
    guard binding != .none else { return try remove(id, on: connection) }
    try connection.run(
      "INSERT OR REPLACE INTO token_binding VALUES(?, ?)", .text(id),
      binding.replica.map { .blob($0.bytes) } ?? .null)
  }

  /// Binds a token to a replica, where it is to be bound and nobody has used it so far.
  ///
  /// - Returns: whether it was.
  static func bind(
    _ id: String, to replica: UUID, on connection: SQLiteConnection
  ) throws -> Bool {
    try connection.run(
      "UPDATE token_binding SET replica = ? WHERE id = ? AND replica IS NULL",
      .blob(replica.bytes), .text(id))
    return connection.changes > 0
  }

  static func remove(_ id: String, on connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM token_binding WHERE id = ?", .text(id))
  }

  /// In a new generation of their zone replicas take other IDs: who uses a token first has it again.
  static func begin(anewIn zone: Int64, on connection: SQLiteConnection) throws {
    try connection.run(
      """
      UPDATE token_binding SET replica = NULL
      WHERE id IN (SELECT id FROM token WHERE zone = ?)
      """, .integer(zone))
  }

  /// Forgets what is said of tokens that are no more. Programs of before leave that where they delete a zone.
  static let forgetting = "DELETE FROM token_binding WHERE id NOT IN (SELECT id FROM token)"
}

extension SQLiteZoneStorage {
  package func bind(_ token: TokenRecord, to replica: UUID) async throws -> TokenBinding {
    try await writer.perform { [clock] connection in
      try connection.transaction(.immediate) {
        if try TokenBindings.bind(token.id, to: replica, on: connection) {
          try AuditLog.add(token.bound(to: replica, at: clock.now()), on: connection)
        }
        return try connection.token(id: token.id)?.binding ?? .none
      }
    }
  }
}
