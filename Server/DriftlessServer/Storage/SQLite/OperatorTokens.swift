import DriftlessSQLite
import Foundation

/// Owns the table `operator_token`: who may sign in at the status page.
enum OperatorTokens {
  static let statement = """
    CREATE TABLE IF NOT EXISTS operator_token(
      id TEXT PRIMARY KEY, hash BLOB NOT NULL, name TEXT NOT NULL, created_ms INTEGER NOT NULL,
      expires_ms INTEGER, revoked_ms INTEGER) WITHOUT ROWID
    """

  private static let select = """
    SELECT id, hash, name, created_ms, expires_ms, revoked_ms FROM operator_token
    """

  static func one(_ id: String, _ connection: SQLiteConnection) throws -> OperatorRecord? {
    let statement = try connection.prepare(select + " WHERE id = ?")
    defer { statement.reset() }
    statement.bind(id, at: 1)
    return try statement.step() ? record(statement) : nil
  }

  static func all(_ connection: SQLiteConnection) throws -> [OperatorRecord] {
    let statement = try connection.prepare(select + " ORDER BY created_ms, id")
    defer { statement.reset() }
    var records: [OperatorRecord] = []
    while try statement.step() { records.append(record(statement)) }
    return records
  }

  private static func record(_ statement: SQLiteStatement) -> OperatorRecord {
    OperatorRecord(
      id: statement.string(0), hash: statement.data(1), name: statement.string(2),
      createdMilliseconds: statement.int64(3),
      expiresMilliseconds: statement.isNull(4) ? nil : statement.int64(4),
      revokedMilliseconds: statement.isNull(5) ? nil : statement.int64(5))
  }

  static func insert(_ record: OperatorRecord, _ connection: SQLiteConnection) throws {
    try connection.run(
      "INSERT INTO operator_token VALUES(?, ?, ?, ?, ?, ?)", .text(record.id), .blob(record.hash),
      .text(record.name), .integer(record.createdMilliseconds),
      record.expiresMilliseconds.map { .integer($0) } ?? .null,
      record.revokedMilliseconds.map { .integer($0) } ?? .null)
  }

  /// Puts those of another database in the place of all that are here.
  static func replace(by records: [OperatorRecord], on connection: SQLiteConnection) throws {
    try connection.execute("DELETE FROM operator_token")
    for record in records { try insert(record, connection) }
  }
}

extension Administration {
  package func operators() throws -> [OperatorRecord] { try OperatorTokens.all(connection) }

  @discardableResult package func createOperator(
    name: String, expiresMilliseconds: Int64? = nil,
    handOut: (AccessToken) throws -> Void = { _ in }
  ) throws -> AccessToken {
    try TokenNotes.check(name)
    let token = AccessToken.mint()
    try write {
      try OperatorTokens.insert(
        OperatorRecord(
          id: token.id, hash: token.hash, name: name,
          createdMilliseconds: try serverMilliseconds(), expiresMilliseconds: expiresMilliseconds,
          revokedMilliseconds: nil), connection)
      try note(.operatorCreated, zone: nil, token.id, name)
    }
    do {
      try handOut(token)
    } catch {
      do {
        try writeAtNeed {
          try connection.run("DELETE FROM operator_token WHERE id = ?", .text(token.id))
          try note(.operatorRevoked, zone: nil, token.id, "nobody was given it")
        }
      } catch { throw ServerError.unheldOperator(token.id, error) }
      throw error
    }
    return token
  }

  package func revokeOperator(id: String) throws {
    try writeAtNeed {
      try connection.run(
        "UPDATE operator_token SET revoked_ms = coalesce(revoked_ms, ?) WHERE id = ?",
        .integer(try serverMilliseconds()), .text(id))
      guard connection.changes > 0 else { throw ServerError.noSuchOperator(id) }
      try note(.operatorRevoked, zone: nil, id, try OperatorTokens.one(id, connection)?.name)
    }
  }
}
