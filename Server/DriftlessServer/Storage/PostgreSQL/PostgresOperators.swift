#if PostgreSQL
  import Foundation

  /// Owns the table `operator_token`: who may sign in at the status page.
  enum PostgresOperators {
    static let statement = """
      CREATE TABLE IF NOT EXISTS operator_token(
        id text PRIMARY KEY, hash bytea NOT NULL, name text NOT NULL, created_ms bigint NOT NULL,
        expires_ms bigint, revoked_ms bigint)
      """

    private static let select = """
      SELECT id, hash, name, created_ms, expires_ms, revoked_ms FROM operator_token
      """

    static func one(_ id: String, _ connection: PostgresConnection) throws -> OperatorRecord? {
      let rows = try connection.run(select + " WHERE id = $1", .text(id))
      return rows.count > 0 ? record(rows, 0) : nil
    }

    static func all(_ connection: PostgresConnection) throws -> [OperatorRecord] {
      let rows = try connection.run(select + " ORDER BY created_ms, id")
      return (0..<rows.count).map { record(rows, $0) }
    }

    private static func record(_ rows: PostgresRows, _ row: Int) -> OperatorRecord {
      OperatorRecord(
        id: rows.text(row, 0), hash: rows.data(row, 1), name: rows.text(row, 2),
        createdMilliseconds: rows.int64(row, 3),
        expiresMilliseconds: rows.isNull(row, 4) ? nil : rows.int64(row, 4),
        revokedMilliseconds: rows.isNull(row, 5) ? nil : rows.int64(row, 5))
    }
  }

  extension PostgresAdministration {
    package func operators() throws -> [OperatorRecord] {
      try told { try PostgresOperators.all(connection) }
    }

    @discardableResult package func createOperator(
      name: String, expiresMilliseconds: Int64? = nil,
      handOut: (AccessToken) throws -> Void = { _ in }
    ) throws -> AccessToken {
      try TokenNotes.check(name)
      let token = AccessToken.mint()
      let now = try serverMilliseconds()
      try write {
        try connection.run(
          """
          INSERT INTO operator_token(id, hash, name, created_ms, expires_ms)
          VALUES($1, $2, $3, $4, $5)
          """, .text(token.id), .blob(token.hash), .text(name), .integer(now),
          expiresMilliseconds.map { .integer($0) } ?? .null)
        try note(.operatorCreated, zone: nil, token.id, name)
      }
      do {
        try handOut(token)
      } catch {
        do {
          try write {
            try connection.run("DELETE FROM operator_token WHERE id = $1", .text(token.id))
            try note(.operatorRevoked, zone: nil, token.id, "nobody was given it")
          }
        } catch { throw ServerError.unheldOperator(token.id, error) }
        throw error
      }
      return token
    }

    package func revokeOperator(id: String) throws {
      let now = try serverMilliseconds()
      try write {
        let revoked = try connection.run(
          "UPDATE operator_token SET revoked_ms = coalesce(revoked_ms, $2) WHERE id = $1",
          .text(id), .integer(now))
        guard revoked.changes > 0 else { throw ServerError.noSuchOperator(id) }
        try note(
          .operatorRevoked, zone: nil, id, try PostgresOperators.one(id, connection)?.name)
      }
    }
  }
#endif
