#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// Values that are named and not here, and that nobody was told of: a hand, or a disk, took the row.
  extension PostgresLargeValues {
    static func gone(
      from first: Data, through last: Data?, countMax: Int, zone: Int64,
      on connection: PostgresConnection
    ) throws -> [Data] {
      let rows = try connection.run(
        """
        SELECT DISTINCT digest FROM value_use AS used
        WHERE zone = $1 AND digest >= $2 AND digest <= coalesce($3::bytea, digest)
          AND NOT EXISTS (SELECT 1 FROM value WHERE value.zone = used.zone
            AND value.digest = used.digest AND value.replica = ''::bytea)
          AND NOT EXISTS (SELECT 1 FROM value_lost AS lost
            WHERE lost.zone = used.zone AND lost.digest = used.digest)
        ORDER BY digest LIMIT $4
        """, .integer(zone), .blob(first), last.map { .blob($0) } ?? .null,
        .integer(Int64(countMax)))
      return (0..<rows.count).map { rows.data($0, 0) }
    }
  }

  extension PostgresValueTables {
    func gone(from first: Data, through last: Data?, countMax: Int) throws -> [Data] {
      try PostgresLargeValues.gone(
        from: first, through: last, countMax: countMax, zone: zone.id, on: connection)
    }

    func entry(naming digest: Data, after sequence: UInt64) throws -> NamingEntry? {
      let rows = try connection.run(
        """
        SELECT sequence, header || body FROM log WHERE zone = $1 AND sequence IN
          (SELECT sequence FROM value_use WHERE zone = $1 AND digest = $2 AND sequence > $3)
        ORDER BY sequence LIMIT 1
        """, .integer(zone.id), .blob(digest), .integer(Int64(clamping: sequence)))
      guard rows.count > 0 else { return nil }
      return NamingEntry(sequence: rows.uint64(0, 0), frame: rows.data(0, 1))
    }

    func kept() throws -> KeptLog? {
      try PostgresPurgedLog.row(of: zone, on: connection).map { row in
        KeptLog(row, of: zone) { [zone, connection] name in
          try PostgresPurgedLog.bytes(of: name, of: zone, on: connection)
        }
      }
    }
  }
#endif
