#if PostgreSQL
  package import Foundation

  /// Owns the table `token_binding`: as `TokenBindings` of a data folder.
  enum PostgresBindings {
    static let statement = """
      CREATE TABLE IF NOT EXISTS token_binding(id text PRIMARY KEY, replica uuid)
      """

    /// A binding of a row: whether there is one, and its replica.
    static func binding(_ rows: PostgresRows, _ row: Int, at column: Int) -> TokenBinding {
      guard rows.bool(row, column) else { return .none }
      return rows.isNull(row, column + 1)
        ? .first : .to(rows.uuid(row, column + 1) ?? UUID())
    }

    static func set(
      _ binding: TokenBinding, of id: String, on connection: PostgresConnection
    ) throws {
      guard binding != .none else { return }
      try connection.run(
        "INSERT INTO token_binding VALUES($1, $2)", .text(id),
        binding.replica.map { .uuid($0) } ?? .null)
    }

    static func remove(_ id: String, on connection: PostgresConnection) throws {
      try connection.run("DELETE FROM token_binding WHERE id = $1", .text(id))
    }

    /// In a new generation of their zone replicas take other IDs: who uses a token first has it again.
    static func begin(anewIn zone: Int64, on connection: PostgresConnection) throws {
      try connection.run(
        """
        UPDATE token_binding SET replica = NULL
        WHERE id IN (SELECT id FROM token WHERE zone = $1)
        """, .integer(zone))
    }
  }

  extension PostgresZoneStorage {
    package func bind(_ token: TokenRecord, to replica: UUID) async throws -> TokenBinding {
      try await read { [clock] connection in
        try connection.transaction(.write) {
          let bound = try connection.run(
            "UPDATE token_binding SET replica = $2 WHERE id = $1 AND replica IS NULL",
            .text(token.id), .uuid(replica))
          if bound.changes > 0 {
            try PostgresAudit.add(token.bound(to: replica, at: clock.now()), on: connection)
          }
          return try connection.token(id: token.id)?.binding ?? .none
        }
      }
    }
  }
#endif
