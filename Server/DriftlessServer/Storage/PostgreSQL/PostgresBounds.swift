#if PostgreSQL
  import Foundation

  /// Owns the tables `zone_limit` and `zone_log`: as `ZoneBounds` of a data folder.
  enum PostgresBounds {
    static let statements = [
      """
      CREATE TABLE IF NOT EXISTS zone_limit(
        zone bigint NOT NULL, uuid uuid NOT NULL, name text NOT NULL, value bigint NOT NULL,
        PRIMARY KEY(zone, uuid, name))
      """,
      """
      CREATE TABLE IF NOT EXISTS zone_log(
        zone bigint PRIMARY KEY, generation uuid NOT NULL, through bigint NOT NULL,
        bytes bigint NOT NULL)
      """,
      "ALTER TABLE zone_log ADD COLUMN IF NOT EXISTS floor bigint NOT NULL DEFAULT 0",
    ]

    /// In the list of what is read of a zone.
    static let column = """
      (SELECT string_agg(zone_limit.name || '=' || zone_limit.value, ',') FROM zone_limit
        WHERE zone_limit.zone = zone.id AND zone_limit.uuid = zone.uuid)
      """

    /// Writes a zone's bounds, and its mark, as the record has them.
    static func set(of zone: ZoneRecord, on connection: PostgresConnection) throws {
      try connection.run("DELETE FROM zone_limit WHERE zone = $1", .integer(zone.id))
      for (name, value) in ZoneLimitRows(zone).rows {
        try connection.run(
          "INSERT INTO zone_limit VALUES($1, $2, $3, $4)", .integer(zone.id), .uuid(zone.zoneID),
          .text(name), .integer(Int64(value)))
      }
    }

    /// The logs of all zones, or of a generation's, were put back: replicas bring back what they lack.
    static func notePutBack(
      generation: UUID? = nil, on connection: PostgresConnection
    ) throws {
      try connection.run(
        """
        INSERT INTO zone_limit(zone, uuid, name, value)
        SELECT id, uuid, $2, 1 FROM zone WHERE generation = coalesce($1, generation)
        ON CONFLICT DO NOTHING
        """, generation.map { .uuid($0) } ?? .null, .text(ZoneLimitRows.putBackName))
    }

    /// A zone's log goes on: nothing that it lost fits behind that.
    static func forgetPutBack(of zone: ZoneRecord, on connection: PostgresConnection) throws {
      guard zone.isPutBack else { return }
      try connection.run(
        "DELETE FROM zone_limit WHERE zone = $1 AND name = $2", .integer(zone.id),
        .text(ZoneLimitRows.putBackName))
    }

    static func drop(of zone: ZoneRecord, on connection: PostgresConnection) throws {
      for table in ["zone_limit", "zone_log"] {
        try connection.run("DELETE FROM \(table) WHERE zone = $1", .integer(zone.id))
      }
    }

    /// Bytes of the entries that the database has of a zone, from its floor on, counted a bounded piece further.
    ///
    /// - Parameters:
    ///   - head: the last of those entries.
    ///   - keepsCount: whether how far they are counted is written. Who calls it holds the zone's row then.
    static func logBytes(
      of zone: ZoneRecord, through head: UInt64, keepsCount: Bool,
      on connection: PostgresConnection
    ) throws -> Int {
      let floor = try PostgresPurgedLog.floor(of: zone, on: connection)
      let known = try connection.run(
        "SELECT through, bytes FROM zone_log WHERE zone = $1 AND generation = $2 AND floor = $3",
        .integer(zone.id), .uuid(zone.generation), .integer(Int64(clamping: floor)))
      var (through, bytes) = (floor, Int64(0))
      if known.count > 0, known.uint64(0, 0) <= head {
        (through, bytes) = (known.uint64(0, 0), known.int64(0, 1))
      }
      guard through < head else { return Int(clamping: bytes) }
      let end = min(head, through + UInt64(ZoneLimits.entriesAtOnce))
      bytes += try connection.run(
        """
        SELECT coalesce(sum(size), 0)::bigint FROM log
        WHERE zone = $1 AND sequence > $2 AND sequence <= $3
        """, .integer(zone.id), .integer(Int64(clamping: through)),
        .integer(Int64(clamping: end))
      ).int64(0, 0)
      guard keepsCount else { return Int(clamping: bytes) }
      try connection.run(
        """
        INSERT INTO zone_log(zone, generation, through, bytes, floor)
        VALUES($1, $2, $3, $4, $5) ON CONFLICT (zone) DO UPDATE
        SET generation = excluded.generation, through = excluded.through, bytes = excluded.bytes,
          floor = excluded.floor
        """, .integer(zone.id), .uuid(zone.generation), .integer(Int64(clamping: end)),
        .integer(bytes), .integer(Int64(clamping: floor)))
      return Int(clamping: bytes)
    }
  }

  extension PostgresZoneTables {
    func logBytes(of zone: ZoneRecord) throws -> Int {
      // What this transaction took is in memory until it is written.
      let head = newEntries.first.map { $0.entry.sequence - 1 } ?? zone.head
      let written = try PostgresBounds.logBytes(
        of: zone, through: head, keepsCount: !onlyReads, on: connection)
      return newEntries.reduce(written) { $0 + $1.entry.push.frame.count }
    }
  }

  extension PostgresAdministration {
    @discardableResult package func changeLimits(
      of name: String, _ changes: [String: Int?]
    ) throws -> ZoneLimits {
      try write {
        // Asked anew once the lock is had: what another command set while this one waited is seen.
        var zone = try connection.current(existing(name, locks: true))
        let before = zone.limits
        for (bound, value) in changes { try zone.limits.set(bound, to: value) }
        guard zone.limits != before else { return before }
        try PostgresBounds.set(of: zone, on: connection)
        try note(.limitsChanged, zone: name, nil, zone.limits.changes(from: before))
        return zone.limits
      }
    }

    @discardableResult package func markPutBack(_ name: String) throws -> ZoneRecord {
      try write {
        var zone = try connection.current(existing(name, locks: true))
        guard !zone.isPutBack else { return zone }
        zone.isPutBack = true
        try PostgresBounds.set(of: zone, on: connection)
        try note(.zonePutBack, zone: name)
        return zone
      }
    }
  }
#endif
