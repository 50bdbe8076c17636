#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  extension PostgresAdministration {
    package func inspectZone(_ name: String) throws -> ZoneReport {
      try told {
        try connection.transaction(.read) {
          guard let row = try connection.zoneRow(named: name) else {
            throw ServerError.noSuchZone(name)
          }
          let zone = row.zone
          let counts = try connection.run(
            """
            SELECT (SELECT count(*) FROM log WHERE zone = $1),
              (SELECT coalesce(sum(size), 0)::bigint FROM log WHERE zone = $1),
              (SELECT count(*) FROM (SELECT uuid FROM replica WHERE zone = $1
                EXCEPT SELECT replica FROM forgotten_replica WHERE zone = $1
                UNION SELECT replica FROM sighting WHERE zone = $1) AS known),
              (SELECT count(*) FROM token WHERE zone = $1 AND revoked_ms IS NULL),
              (SELECT received_ms FROM log WHERE zone = $1 AND sequence = $2),
              (SELECT count(*) FROM value_lost WHERE zone = $1)
            """, .integer(zone.id), .integer(Int64(clamping: zone.head)))
          return ZoneReport(
            zone: zone, createdMilliseconds: row.createdMilliseconds,
            entries: Int(counts.int64(0, 0)), bytes: counts.int64(0, 1),
            objects: max(1, zone.nextObject) - 1, replicas: Int(counts.int64(0, 2)),
            tokens: Int(counts.int64(0, 3)),
            lastPushMilliseconds: counts.isNull(0, 4) ? nil : counts.int64(0, 4),
            floor: try PostgresPurgedLog.floor(of: zone, on: connection),
            lackedValues: counts.int64(0, 5))
        }
      }
    }

    package func replicas(of name: String? = nil) throws -> [ReplicaReport] {
      try told {
        try connection.transaction(.read) {
          let zones = try name.map { [try existing($0)] } ?? connection.zones()
          return try zones.flatMap { try PostgresSightings.all(of: $0, on: connection) }
        }
      }
    }

    package func log(of name: String, from first: UInt64, count: Int) throws -> [LogLine] {
      try told {
        try connection.transaction(.read) {
          let zone = try existing(name)
          let rows = try connection.run(
            """
            SELECT log.sequence, replica.uuid, log.number, log.received_ms, log.first_object,
              log.new_objects, log.size
            FROM log LEFT JOIN replica ON replica.zone = $1 AND replica.id = log.replica
            WHERE log.zone = $1 AND log.sequence >= $2 ORDER BY log.sequence LIMIT $3
            """, .integer(zone.id), .integer(Int64(clamping: first)), .integer(Int64(count)))
          return (0..<rows.count).map { row in
            LogLine(
              sequence: rows.uint64(row, 0),
              replica: rows.isNull(row, 1) ? nil : rows.uuid(row, 1),
              pushNumber: rows.uint64(row, 2), receivedMilliseconds: rows.int64(row, 3),
              firstObject: rows.uint64(row, 4), newObjects: rows.uint64(row, 5),
              bytes: rows.int64(row, 6))
          }
        }
      }
    }

    package func raiseFormat(
      of name: String, to level: UInt16, highest: UInt16
    ) throws -> ZoneRecord {
      try write {
        let zone = try connection.current(existing(name, locks: true))
        guard try zone.canRaiseFormat(to: level, highest: highest) else { return zone }
        try connection.run(
          "UPDATE zone SET format_level = $2 WHERE id = $1", .integer(zone.id),
          .integer(Int64(level)))
        try note(.formatRaised, zone: name, nil, "\(zone.formatLevel) → \(level)")
        return try connection.current(zone)
      }
    }

    package func renameZone(_ name: String, to other: String) throws -> ZoneRecord {
      try ZoneName.check(other)
      do {
        return try write {
          let zone = try existing(name, locks: true)
          guard try connection.zoneRow(named: other) == nil else {
            throw ServerError.zoneExists(other)
          }
          try connection.run(
            "UPDATE zone SET name = $2 WHERE id = $1", .integer(zone.id), .text(other))
          try note(.zoneRenamed, zone: name, other)
          return try connection.current(zone)
        }
      } catch let error as ServerError where error.code == .storage {
        // Another command took the name meanwhile.
        if try zones().contains(where: { $0.name == other }) { throw ServerError.zoneExists(other) }
        throw error
      }
    }

    @discardableResult package func rotateToken(
      id: String, grace: Int64, expiresMilliseconds: Int64?,
      handOut: (AccessToken) throws -> Void = { _ in }
    ) throws -> AccessToken {
      _ = try told { try validToken(id) }
      let token = AccessToken.mint()
      let now = try serverMilliseconds()
      try write {
        // Who waits for a renewal of the zone finds it, and the token, under its new number.
        let zone = try existing(try validToken(id).zoneName, locks: true)
        let old = try validToken(id)
        try connection.run(
          """
          INSERT INTO token(id, hash, zone, verbs, created_ms, name, expires_ms)
          VALUES($1, $2, $3, $4, $5, $6, $7)
          """, .text(token.id), .blob(token.hash), .integer(zone.id),
          .integer(old.verbs.rawValue), .integer(now), old.name.map { .text($0) } ?? .null,
          expiresMilliseconds.map { .integer($0) } ?? .null)
        try PostgresBindings.set(old.binding.renewed, of: token.id, on: connection)
      }
      // The old one goes on being one until somebody has the new one.
      try hand(token, handOut)
      return try write {
        // Of two who rotate or revoke it at once, one comes second.
        try connection.run("SELECT id FROM token WHERE id = $1 FOR UPDATE", .text(id))
        let old = try validToken(id)
        let end = grace > 0 ? now + grace : now
        try connection.run(
          grace > 0
            ? "UPDATE token SET expires_ms = least(coalesce(expires_ms, $2), $2) WHERE id = $1"
            : "UPDATE token SET revoked_ms = coalesce(revoked_ms, $2) WHERE id = $1",
          .text(id), .integer(end))
        try note(.tokenRotated, zone: old.zoneName, id, "by \(token.id)")
        return token
      }
    }

    private func validToken(_ id: String) throws -> TokenRecord {
      guard let token = try connection.token(id: id), token.revokedMilliseconds == nil else {
        throw ServerError.noValidToken(id)
      }
      return token
    }
  }
#endif
