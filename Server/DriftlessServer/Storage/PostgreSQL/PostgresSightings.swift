#if PostgreSQL
  import Foundation
  import Logging
  import Synchronization

  /// Owns the table `sighting`: when a replica was last seen, by any node, how far it had come, by which token, from
  /// where, the name and the format level that it told, and after which place it asked last.
  ///
  /// What is seen is kept in memory and written once a minute, and when the node ends: a request costs no write.
  enum PostgresSightings {
    static let statement = """
      CREATE TABLE IF NOT EXISTS sighting(
        zone bigint NOT NULL, replica uuid NOT NULL, cursor bigint NOT NULL, token text NOT NULL,
        seen_ms bigint NOT NULL, name text, address text, format bigint, asked bigint,
        PRIMARY KEY(zone, replica))
        WITH (fillfactor = 50)
      """

    /// Whether the table is there with the columns that a program of before does not have.
    static func isWhole(_ connection: PostgresConnection) throws -> Bool {
      try connection.run(
        """
        SELECT count(*) FROM information_schema.columns WHERE table_name = 'sighting'
          AND column_name IN ('name', 'address', 'format', 'asked') AND table_schema = ANY (current_schemas(false))
        """
      ).int64(0, 0) >= 4
    }

    /// Makes the table, or gives that of a program of before what it lacks.
    static func make(on connection: PostgresConnection) throws {
      try connection.execute(statement)
      guard try !isWhole(connection) else { return }
      for column in ["name text", "address text", "format bigint", "asked bigint"] {
        try connection.execute("ALTER TABLE sighting ADD COLUMN IF NOT EXISTS \(column)")
      }
    }

    /// Writes what was seen, without what belongs to a log that is no more; the later word of two nodes stays.
    static func write(
      _ seen: [Sightings.Place: Sightings.Sighting], replicasMax: Int,
      on connection: PostgresConnection
    ) throws {
      for (zone, sightings) in Dictionary(grouping: seen, by: \.key.zone) {
        // In one order, so that two nodes do not wait for each other in a ring.
        let sorted = sightings.sorted { $0.key.replica.uuidString < $1.key.replica.uuidString }
        for start in stride(from: 0, to: sorted.count, by: piece) {
          try write(sorted[start..<min(sorted.count, start + piece)], of: zone, on: connection)
        }
        try evict(zone, replicasMax: replicasMax, on: connection)
      }
    }

    /// Sightings in one transaction, in which pushes to the zone wait.
    private static let piece = 1000

    private static func write(
      _ sightings: ArraySlice<(key: Sightings.Place, value: Sightings.Sighting)>, of zone: Int64,
      on connection: PostgresConnection
    ) throws {
      try connection.transaction(.write) {
        // Taken, so that the zone does not begin anew meanwhile.
        let rows = try connection.run(
          "SELECT generation FROM zone WHERE id = $1 FOR SHARE", .integer(zone))
        guard rows.count > 0, let generation = rows.uuid(0, 0) else { return }
        let own = sightings.filter { $0.value.generation == generation }
        guard !own.isEmpty else { return }
        try connection.run(
          """
          INSERT INTO sighting(zone, replica, cursor, token, seen_ms, name, address, format, asked)
          SELECT $1, seen.replica, seen.cursor, convert_from(seen.token, 'UTF8'), seen.ms,
            nullif(convert_from(seen.name, 'UTF8'), ''),
            nullif(convert_from(seen.address, 'UTF8'), ''), nullif(seen.format, 0), seen.asked
          FROM unnest($2::uuid[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[],
              $7::bytea[], $8::bigint[], $9::bigint[])
            AS seen(replica, cursor, token, ms, name, address, format, asked)
          ON CONFLICT (zone, replica) DO UPDATE SET cursor = excluded.cursor,
            token = excluded.token, seen_ms = excluded.seen_ms, name = excluded.name,
            address = excluded.address, format = excluded.format, asked = excluded.asked
          WHERE sighting.seen_ms <= excluded.seen_ms
          """, .integer(zone), .uuids(own.map(\.key.replica)),
          .integers(own.map { Int64(clamping: $0.value.cursor) }),
          .blobs(own.map { Data($0.value.token.utf8) }), .integers(own.map(\.value.milliseconds)),
          .blobs(own.map { Data(($0.value.name ?? "").utf8) }),
          .blobs(own.map { Data(($0.value.address ?? "").utf8) }),
          .integers(own.map { Int64($0.value.format ?? 0) }),
          .integers(own.map { Int64(clamping: $0.value.asked) }))
      }
    }

    /// As `Sightings` does: who says many replica IDs pays for them.
    private static func evict(
      _ zone: Int64, replicasMax: Int, on connection: PostgresConnection
    ) throws {
      while true {
        let count = try connection.run(
          "SELECT count(*) FROM sighting WHERE zone = $1", .integer(zone)
        ).int64(0, 0)
        guard count > Int64(replicasMax) else { return }
        try connection.run(
          """
          DELETE FROM sighting WHERE zone = $1 AND replica IN (
            SELECT replica FROM sighting WHERE zone = $1 AND token = (
              SELECT token FROM sighting WHERE zone = $1
              GROUP BY token ORDER BY count(*) DESC, token LIMIT 1)
            ORDER BY replica IN (SELECT uuid FROM replica WHERE zone = $1), seen_ms LIMIT $2)
          """, .integer(zone), .integer(count - Int64(replicasMax)))
      }
    }

    /// All replicas that are known, those furthest behind first.
    static func all(
      of zone: ZoneRecord, on connection: PostgresConnection
    ) throws -> [ReplicaReport] {
      let rows = try connection.run(
        """
        SELECT known.uuid, sighting.cursor, coalesce(replica.last_push, 0),
          (SELECT max(received_ms) FROM entry WHERE entry.zone = $1
            AND entry.replica = replica.id AND entry.number = replica.last_push),
          sighting.seen_ms, sighting.token, token.name, sighting.name, sighting.address,
          sighting.format
        FROM (SELECT uuid FROM replica WHERE zone = $1
          EXCEPT SELECT replica FROM forgotten_replica WHERE zone = $1
          UNION SELECT replica FROM sighting WHERE zone = $1) AS known
        LEFT JOIN replica ON replica.zone = $1 AND replica.uuid = known.uuid
        LEFT JOIN sighting ON sighting.zone = $1 AND sighting.replica = known.uuid
        LEFT JOIN token ON token.id = sighting.token
        """, .integer(zone.id))
      return (0..<rows.count).compactMap { report(of: zone, rows, $0) }.sorted(
        by: ReplicaReport.isFirst)
    }

    private static func report(
      of zone: ZoneRecord, _ rows: PostgresRows, _ row: Int
    ) -> ReplicaReport? {
      guard let replica = rows.uuid(row, 0) else { return nil }
      return ReplicaReport(
        zone: zone.name, replica: replica,
        cursor: rows.isNull(row, 1) ? nil : rows.uint64(row, 1), head: zone.head,
        pushes: rows.uint64(row, 2),
        lastPushMilliseconds: rows.isNull(row, 3) ? nil : rows.int64(row, 3),
        lastSeenMilliseconds: rows.isNull(row, 4) ? nil : rows.int64(row, 4),
        token: rows.isNull(row, 5) ? nil : rows.text(row, 5),
        tokenName: rows.isNull(row, 6) ? nil : rows.text(row, 6),
        name: rows.isNull(row, 7) ? nil : rows.text(row, 7),
        address: rows.isNull(row, 8) ? nil : rows.text(row, 8),
        formatLevel: rows.isNull(row, 9) ? nil : UInt16(clamping: rows.int64(row, 9)))
    }

    /// Replicas that were seen, those furthest behind first.
    static func reports(
      of zone: ZoneRecord, countMax: Int, on connection: PostgresConnection
    ) throws -> [ReplicaReport] {
      let rows = try connection.run(
        """
        SELECT seen.replica, seen.cursor, coalesce(replica.last_push, 0),
          (SELECT max(received_ms) FROM entry WHERE entry.zone = $1
            AND entry.replica = replica.id AND entry.number = replica.last_push),
          seen.seen_ms, seen.token, token.name, seen.name, seen.address, seen.format
        FROM (SELECT * FROM sighting WHERE zone = $1 ORDER BY cursor, replica LIMIT $2) AS seen
        LEFT JOIN replica ON replica.zone = $1 AND replica.uuid = seen.replica
        LEFT JOIN token ON token.id = seen.token
        ORDER BY seen.cursor, seen.replica
        """, .integer(zone.id), .integer(Int64(countMax)))
      return (0..<rows.count).compactMap { report(of: zone, rows, $0) }
    }
  }
#endif
