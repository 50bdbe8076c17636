#if PostgreSQL
  /// Owns the table `zone_number`: the highest number that a zone has had, as `ZoneNumbers` of a data folder.
  enum PostgresZoneNumbers {
    static func make(on connection: PostgresConnection) throws {
      try connection.execute(
        """
        CREATE TABLE IF NOT EXISTS zone_number(id bigint PRIMARY KEY, highest bigint NOT NULL);
        INSERT INTO zone_number SELECT 1, coalesce(max(id), 0) FROM zone ON CONFLICT DO NOTHING
        """)
    }

    /// The number of a new zone. Who calls has a transaction, and others that make zones wait for its end.
    static func take(on connection: PostgresConnection) throws -> Int64 {
      try connection.run(
        """
        INSERT INTO zone_number AS number
        SELECT 1, coalesce(max(id), 0) + 1 FROM zone
        ON CONFLICT (id) DO UPDATE SET highest = greatest(number.highest + 1, excluded.highest)
        RETURNING highest
        """
      ).int64(0, 0)
    }

    /// The row of a zone with that number is about to go.
    static func note(_ number: Int64, on connection: PostgresConnection) throws {
      try connection.run(
        """
        INSERT INTO zone_number AS number VALUES(1, $1)
        ON CONFLICT (id) DO UPDATE SET highest = excluded.highest
        WHERE number.highest < excluded.highest
        """, .integer(number))
    }
  }
#endif
