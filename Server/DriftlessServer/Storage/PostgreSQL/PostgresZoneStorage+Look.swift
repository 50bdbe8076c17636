#if PostgreSQL
  import DriftlessProtocol
  import Foundation
  import Logging

  extension PostgresZoneStorage {
    package func operatorToken(id: String) async throws -> OperatorRecord? {
      try await read { try PostgresOperators.one(id, $0) }
    }

    package func look(from name: String, count: Int) async throws -> StorageLook {
      await writeSightings()
      return try await read { [sizes] connection in
        var look = try connection.transaction(.read) {
          try Self.look(connection, from: name, count: count, sizes)
        }
        look.databaseBytes = try Self.size(connection)
        return look
      }
    }

    private static func look(
      _ connection: PostgresConnection, from name: String, count: Int, _ sizes: LogSizes
    ) throws -> StorageLook {
      // One more, to know whether there are more. By bytes, as names of zones are compared elsewhere.
      let rows = try connection.run(
        PostgresZoneRow.select + """
           AND convert_to(name, 'UTF8') >= convert_to($1, 'UTF8')
          ORDER BY convert_to(name, 'UTF8') LIMIT $2
          """, .text(name), .integer(Int64(count + 1)))
      var looks = try (0..<min(rows.count, count)).map {
        ZoneLook(try PostgresZoneRow(rows, $0).zone)
      }
      for index in looks.indices { try look(connection, at: &looks[index]) }
      try sizes.count(&looks) { zone, after, through in
        try connection.run(
          """
          SELECT coalesce(sum(size), 0)::bigint FROM log
          WHERE zone = $1 AND sequence > $2 AND sequence <= $3
          """, .integer(zone.id), .integer(Int64(clamping: after)),
          .integer(Int64(clamping: through))
        ).uint64(0, 0)
      }
      var look = StorageLook(
        zones: looks,
        zoneCount: Int(
          try connection.run(
            "SELECT count(*) FROM zone WHERE \(PostgresLeavingZones.isThere)"
          ).int64(0, 0)),
        hasMore: rows.count > count,
        stagedBytes: try PostgresStagedParts.allBytes(on: connection))
      try PostgresLargeValues.look(at: &look, on: connection)
      return look
    }

    /// Of the database; nil where it does not say.
    private static func size(_ connection: PostgresConnection) throws -> Int64? {
      do {
        return try connection.run("SELECT pg_database_size(current_database())").int64(0, 0)
      } catch let error as PostgresError where error.kind == .statement {
        return nil
      }
    }

    private static func look(_ connection: PostgresConnection, at look: inout ZoneLook) throws {
      let rows = try connection.run(
        """
        SELECT (SELECT count(*) FROM (SELECT 1 FROM sighting WHERE zone = $1 LIMIT $2) AS few),
          (SELECT min(cursor) FROM (SELECT cursor FROM sighting WHERE zone = $1 LIMIT $2) AS few),
          (SELECT max(seen_ms) FROM (SELECT seen_ms FROM sighting WHERE zone = $1 LIMIT $2) AS few),
          (SELECT received_ms FROM log WHERE zone = $1 AND sequence = $3),
          (SELECT sequence FROM snapshot WHERE zone = $1 AND generation = $4),
          (SELECT bytes FROM snapshot WHERE zone = $1 AND generation = $4)
        """, .integer(look.zone.id), .integer(Int64(ZoneLook.replicasMax)),
        .integer(Int64(clamping: look.zone.head)), .uuid(look.zone.generation))
      look.replicas = Int(rows.int64(0, 0))
      if !rows.isNull(0, 1) { look.slowestCursor = rows.uint64(0, 1) }
      if !rows.isNull(0, 2) { look.lastSeenMilliseconds = rows.int64(0, 2) }
      if !rows.isNull(0, 3) { look.lastPushMilliseconds = rows.int64(0, 3) }
      if !rows.isNull(0, 4) { look.snapshot = (rows.uint64(0, 4), Int(rows.int64(0, 5))) }
      guard let purged = try PostgresPurgedLog.row(of: look.zone, on: connection) else { return }
      look.floor = purged.floor
      let kept = purged.snapshot
      if kept.place.sequence > look.snapshot?.sequence ?? 0 {
        look.snapshot = (kept.place.sequence, kept.bytes)
      }
    }

    package func replicas(of zone: ZoneRecord, countMax: Int) async throws -> [ReplicaReport]? {
      await writeSightings()
      return try await read { connection in
        try connection.transaction(.read) {
          try PostgresSightings.reports(
            of: connection.current(zone), countMax: countMax, on: connection)
        }
      }
    }

    package func noteSeen(_ visit: Visit, in zone: ZoneRecord) async {
      let due = sightings.note(visit, in: zone, milliseconds: clock.now())
      guard let due else { return }
      Task { [weak self] in
        try? await Task.sleep(for: .seconds(due))
        await self?.writeSightings()
      }
    }

    /// What was seen since the last time.
    package func writeSightings() async {
      let seen = sightings.taken()
      guard !seen.isEmpty else { return }
      do {
        try await pool.perform { [limits] connection in
          try PostgresSightings.write(
            seen, replicasMax: limits.replicasPerZoneMax, on: connection)
        }
      } catch {
        logger.warning("when replicas were seen was not kept", metadata: ["error": "\(error)"])
      }
    }
  }
#endif
