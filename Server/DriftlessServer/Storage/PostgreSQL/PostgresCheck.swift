#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// Reads all of a server's tables in PostgreSQL, and names what is not as the server wrote it. What of the files is damaged
  /// `pg_amcheck` and the database's own checksums tell.
  struct PostgresCheck {
    let connection: PostgresConnection
    var outcome = DatabaseCheck.Outcome()

    /// Checks one state of the database, while nodes may go on writing.
    ///
    /// - Throws: `PostgresError` where it cannot be read on.
    static func run(on connection: PostgresConnection) throws -> DatabaseCheck.Outcome {
      try connection.patiently(idles: true) {
        try connection.transaction(.read) { try read(connection) }
      }
    }

    /// Checks what the transaction sees.
    static func read(_ connection: PostgresConnection) throws -> DatabaseCheck.Outcome {
      var check = PostgresCheck(connection: connection)
      for zone in try check.readableZones() { try check.check(zone) }
      try check.checkOthers()
      return check.outcome
    }

    private init(connection: PostgresConnection) { self.connection = connection }

    private static let byBackup =
      "Put a backup back (driftless-server restore, into an empty schema): replicas bring back what it lacks."

    private static func byRenewal(_ zone: String) -> String {
      "\(byBackup) Or begin the zone anew (driftless-server zone renew \(zone) --yes): replicas offer what they hold."
    }

    /// - Parameter suggestion: nil for what is damaged for good: a backup, or a new life of the zone.
    mutating func note(
      _ table: String, _ zone: String?, _ place: String, _ message: String,
      _ suggestion: String? = nil
    ) {
      guard outcome.damage.count < DatabaseCheck.damageMax else {
        outcome.isCut = true
        return
      }
      outcome.damage.append(
        DatabaseCheck.Damage(
          table: table, zone: zone, place: place, message: message,
          suggestion: suggestion ?? zone.map { Self.byRenewal($0) } ?? Self.byBackup))
    }

    private mutating func readableZones() throws -> [ZoneRecord] {
      let rows = try connection.run(PostgresZoneRow.select + " ORDER BY name")
      var zones: [ZoneRecord] = []
      for row in 0..<rows.count {
        do {
          zones.append(try PostgresZoneRow(rows, row).zone)
        } catch let error as ServerError {
          note("zone", rows.text(row, 1), "row", error.message)
        }
      }
      return zones
    }

    private mutating func check(_ zone: ZoneRecord) throws {
      outcome.zones += 1
      if !ZoneName.isValid(zone.name) { note("zone", zone.name, "row", "its name is none") }
      try checkLog(of: zone)
      try checkObjects(of: zone)
      try checkStaged(of: zone)
      try checkSnapshot(of: zone)
      try checkValues(of: zone)
      for check in Self.checks {
        let rows = try connection.run(
          check.sql + Self.limit, .integer(zone.id), .integer(Int64(clamping: zone.nextObject)),
          .integer(Int64(clamping: zone.head)))
        note(check.table, zone.name, rows)
      }
    }

    /// More rows of one table are not listed anyway.
    private static let limit = "\nLIMIT \(DatabaseCheck.damageMax + 1)"

    private mutating func note(_ table: String, _ zone: String?, _ rows: PostgresRows) {
      for row in 0..<rows.count { note(table, zone, rows.text(row, 0), rows.text(row, 1)) }
    }

    // MARK: - Log

    /// Bytes of the log that are held at one time.
    private static let pageBytes: Int64 = 4 << 20

    private mutating func checkLog(of zone: ZoneRecord) throws {
      var (place, nextObject) = try checkPurged(of: zone)
      while true {
        let rows = try connection.logRows(of: zone.id, after: place.sequence, bytes: Self.pageBytes)
        guard rows.count > 0 else { break }
        for row in 0..<rows.count {
          outcome.entries += 1
          let entry = LogEntry(
            sequence: rows.uint64(row, 0), firstObjectNumber: rows.uint64(row, 3),
            chain: LogChain(bytes: rows.data(row, 6)) ?? .start(generation: UUID()),
            bytes: rows.frame(row, header: 9, body: 10), isHeaderOnly: false)
          let beside = LogRow(
            digest: rows.data(row, 5), size: rows.int64(row, 8),
            namesSize: Int64(rows.data(row, 7).count), replica: rows.data(row, 1),
            number: rows.uint64(row, 2))
          let damages = EntryCheck.damages(
            of: entry, beside: beside, after: place, nextObject: nextObject)
          for damage in damages { note("log", zone.name, "entry \(entry.sequence)", damage) }
          place = LogMark(sequence: entry.sequence, chain: entry.chain)
          nextObject = entry.firstObjectNumber &+ rows.uint64(row, 4)
        }
      }
      checkEnd(of: zone, place, nextObject)
    }

    private mutating func checkEnd(of zone: ZoneRecord, _ place: LogMark, _ nextObject: UInt64) {
      if place.sequence != zone.head {
        note(
          "log", zone.name, "end", "it ends at \(place.sequence), and the zone says \(zone.head)")
      } else if place.chain != zone.chain {
        note("zone", zone.name, "chain", "it is not that of the log")
      }
      if nextObject != zone.nextObject {
        note(
          "zone", zone.name, "next object",
          "the log gave numbers up to \(nextObject &- 1), the zone goes on with \(zone.nextObject)")
      }
    }

    // MARK: - What follows from a log

    private mutating func checkObjects(of zone: ZoneRecord) throws {
      let properties = try connection.run(
        "SELECT coalesce(max(id), 0) FROM name WHERE zone = $1", .integer(zone.id)
      ).uint64(0, 0)
      var last: Int64 = -1
      while true {
        let rows = try connection.run(
          """
          SELECT number, base, deleted, properties, named, named_before, named_by = 0
            OR EXISTS (SELECT 1 FROM replica WHERE replica.zone = $1 AND replica.id = named_by)
          FROM object WHERE zone = $1 AND number > $2 ORDER BY number LIMIT 5000
          """, .integer(zone.id), .integer(last))
        guard rows.count > 0 else { return }
        for row in 0..<rows.count {
          let number = rows.uint64(row, 0)
          for damage in Self.damages(rows, row, zone, properties) {
            note("object", zone.name, "object \(number)", damage)
          }
        }
        last = rows.int64(rows.count - 1, 0)
      }
    }

    private static func damages(
      _ rows: PostgresRows, _ row: Int, _ zone: ZoneRecord, _ properties: UInt64
    ) -> [String] {
      var damages: [String] = []
      let number = rows.uint64(row, 0)
      if number == 0 || number >= zone.nextObject { damages.append("it was never made") }
      if [1, 2, 4, 5].contains(where: { rows.uint64(row, $0) > zone.head }) {
        damages.append("it names an entry that the log does not have")
      }
      if !rows.bool(row, 6) { damages.append("it was named by a replica that is not known") }
      if let list = try? PropertySequences(encoded: rows.data(row, 3)) {
        if list.pairs.contains(where: { $0.sequence > zone.head || $0.property > properties }) {
          damages.append("its properties name what there is not")
        }
      } else {
        damages.append("its list of properties cannot be read")
      }
      return damages
    }

    /// One part at a time: they are large.
    private mutating func checkStaged(of zone: ZoneRecord) throws {
      let parts = try connection.run(
        "SELECT replica, number, part, size FROM staged WHERE zone = $1", .integer(zone.id))
      for row in 0..<parts.count {
        let frame = try connection.run(
          """
          SELECT header || body, digest FROM staged
          WHERE zone = $1 AND replica = $2 AND number = $3 AND part = $4
          """, .integer(zone.id), .blob(parts.data(row, 0)), .integer(parts.int64(row, 1)),
          .integer(parts.int64(row, 2)))
        guard frame.count > 0 else { continue }
        let bytes = frame.data(0, 0)
        guard
          !ChangeSetHeader.isWhole(bytes) || Int64(bytes.count) != parts.int64(row, 3)
            || ChangeSetHeader.storedDigest(of: bytes) != frame.data(0, 1)
        else { continue }
        note(
          "staged", zone.name, "push \(parts.int64(row, 1)), part \(parts.int64(row, 2))",
          "its bytes are not those that came")
      }
    }

    /// Each gives the rows that are wrong: their place in words, and what is wrong. `$1` is the zone, `$2` its next object,
    /// `$3` its head.
    private static let checks: [(table: String, sql: String)] = [
      (
        "identity",
        """
        SELECT 'object ' || least(number, expected), CASE WHEN number > expected
          THEN 'it has no identity' ELSE 'it has two identities' END
        FROM (SELECT number, coalesce(lag(number + count) OVER (ORDER BY number), 1) AS expected
          FROM identity WHERE zone = $1
          UNION ALL SELECT $2::bigint, (SELECT coalesce(max(number + count), 1)
            FROM identity WHERE zone = $1)) AS runs
        WHERE number <> expected AND $3::bigint >= 0
        """
      ),
      (
        "claim",
        """
        SELECT 'object ' || claim.object, CASE
          WHEN name.id IS NULL THEN 'its constraint is not known'
          WHEN claim.object NOT BETWEEN 1 AND $2::bigint - 1 THEN 'the object was never made'
          WHEN object.deleted > 0 THEN 'the object is deleted' ELSE 'its hash is none' END
        FROM claim LEFT JOIN name ON name.zone = $1 AND name.id = claim.rule
        LEFT JOIN object ON object.zone = $1 AND object.number = claim.object
        WHERE claim.zone = $1 AND (name.id IS NULL OR claim.object NOT BETWEEN 1 AND $2::bigint - 1
          OR object.deleted > 0 OR octet_length(claim.hash) <> 16 OR $3::bigint < 0)
        """
      ),
      (
        "tombstone",
        """
        SELECT identity::text, 'it names no entry' FROM tombstone
        WHERE zone = $1 AND (sequence NOT BETWEEN 1 AND $3::bigint OR $2::bigint < 0)
        """
      ),
      (
        "replica",
        """
        SELECT replica.uuid::text, CASE WHEN home.zone IS DISTINCT FROM $1
          THEN 'its home is another zone, or none'
          ELSE 'its last push is ' || last_push || ', and the log has '
            || coalesce(max(entry.number), 0) END
        FROM replica LEFT JOIN entry ON entry.zone = $1 AND entry.replica = replica.id
        LEFT JOIN replica_home AS home ON home.uuid = replica.uuid
        WHERE replica.zone = $1 AND $2::bigint >= 0 AND $3::bigint >= 0
        GROUP BY replica.uuid, last_push, home.zone
        HAVING last_push < coalesce(max(entry.number), 0) OR home.zone IS DISTINCT FROM $1
        """
      ),
      (
        "zone",
        """
        SELECT 'next numbers', 'they were given out already' FROM zone
        WHERE id = $1 AND $2::bigint >= 0 AND $3::bigint >= 0
          AND (next_replica <= (SELECT coalesce(max(id), 0) FROM replica WHERE zone = $1)
            OR next_name <= (SELECT coalesce(max(id), 0) FROM name WHERE zone = $1))
        """
      ),
      (
        "name",
        """
        SELECT 'name ' || id, 'there are several of its number' FROM name
        WHERE zone = $1 AND $2::bigint >= 0 AND $3::bigint >= 0 GROUP BY id HAVING count(*) > 1
        """
      ),
    ]

    /// What belongs to no zone, or to one that there is not.
    private mutating func checkOthers() throws {
      let checks: [(table: String, sql: String)] = [
        (
          "clock",
          """
          SELECT 'row ' || id, 'its time is none' FROM clock
          WHERE given_ms NOT BETWEEN 0 AND \(GivenTimes.latest) OR id <> 1
          """
        ),
        (
          "replica_home",
          """
          SELECT home.uuid::text, 'its zone does not know it' FROM replica_home AS home
          LEFT JOIN replica ON replica.zone = home.zone AND replica.uuid = home.uuid
          WHERE replica.uuid IS NULL
          """
        ),
        (
          "staged",
          """
          SELECT replica::text, 'nothing says since when it waits' FROM staged
          WHERE NOT EXISTS (SELECT 1 FROM staging
            WHERE staging.zone = staged.zone AND staging.replica = staged.replica)
          GROUP BY replica
          """
        ),
      ]
      for check in RowChecks.ofAccess + checks {
        note(check.table, nil, try connection.run(check.sql + Self.limit))
      }
      for table in PostgresSchema.tablesOfLog + ["value"] {
        let rows = try connection.run(
          """
          SELECT 'zone ' || zone, 'it is not there' FROM \(table)
          WHERE zone NOT IN (SELECT id FROM zone) GROUP BY zone\(Self.limit)
          """)
        note(table, nil, rows)
      }
    }
  }

  extension PostgresConnection {
    /// Rows of a zone's log after an entry, until the bytes are used up; at least one, if there is one.
    func logRows(of zone: Int64, after sequence: UInt64, bytes: Int64) throws -> PostgresRows {
      try run(
        """
        WITH few AS (
          SELECT sequence, octet_length(body) AS bytes FROM log
          WHERE zone = $1 AND sequence > $2 ORDER BY sequence LIMIT 1000),
        measured AS (
          SELECT sequence, row_number() OVER (ORDER BY sequence) AS place,
            sum(bytes) OVER (ORDER BY sequence) AS total FROM few)
        SELECT log.sequence, replica.uuid, log.number, first_object, new_objects, digest, chain,
          names, size, header, body, received_ms, log.replica
        FROM measured JOIN log ON log.zone = $1 AND log.sequence = measured.sequence
        LEFT JOIN replica ON replica.zone = $1 AND replica.id = log.replica
        WHERE measured.place = 1 OR measured.total <= $3::bigint ORDER BY log.sequence
        """, .integer(zone), .integer(Int64(clamping: sequence)), .integer(bytes))
    }
  }

  extension PostgresAdministration {
    package func verify() throws -> DatabaseCheck.Outcome {
      try told { try PostgresCheck.run(on: connection) }
    }
  }
#endif
