#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// What a purge asks and writes of a zone in PostgreSQL.
  struct PostgresPurgeTables: PurgeTables {
    let administration: PostgresAdministration
    let zone: ZoneRecord

    private var connection: PostgresConnection { administration.connection }
    private var zoneID: PostgresValue { .integer(zone.id) }

    private func number(_ sequence: UInt64) -> PostgresValue { .integer(Int64(clamping: sequence)) }

    // MARK: - What keeps the floor down

    func firstEntry(
      from first: UInt64, before end: UInt64, since milliseconds: Int64
    ) throws -> UInt64? {
      let rows = try connection.run(
        """
        SELECT min(sequence) FROM log
        WHERE zone = $1 AND sequence >= $2 AND sequence < $3 AND received_ms >= $4
        """, zoneID, number(first), number(end), .integer(milliseconds))
      return rows.isNull(0, 0) ? nil : rows.uint64(0, 0)
    }

    func leaps(
      over longest: Int64, until milliseconds: Int64
    ) throws -> [(sequence: UInt64, milliseconds: Int64)] {
      let rows = try connection.run(
        """
        SELECT sequence, span FROM (
          SELECT sequence, received_ms,
            received_ms - lag(received_ms) OVER (ORDER BY sequence) AS span
          FROM log WHERE zone = $1) AS spans
        WHERE span > $2 AND received_ms <= $3 ORDER BY sequence
        """, zoneID, .integer(longest), .integer(milliseconds))
      return (0..<rows.count).map { (rows.uint64($0, 0), rows.int64($0, 1)) }
    }

    func lastSeen() throws -> Int64? {
      let rows = try connection.run("SELECT max(seen_ms) FROM sighting WHERE zone = $1", zoneID)
      return rows.isNull(0, 0) ? nil : rows.int64(0, 0)
    }

    func slowestPlace(since milliseconds: Int64) throws -> UInt64? {
      let rows = try connection.run(
        "SELECT min(coalesce(asked, cursor)) FROM sighting WHERE zone = $1 AND seen_ms >= $2",
        zoneID, .integer(milliseconds))
      return rows.isNull(0, 0) ? nil : rows.uint64(0, 0)
    }

    private func blobs(_ rows: PostgresRows) -> [Data] {
      (0..<rows.count).map { rows.data($0, 0) }
    }

    func lastPushesOfUnseen(since milliseconds: Int64) throws -> [Data] {
      blobs(
        try connection.run(
          """
          SELECT log.header FROM replica
          JOIN log ON log.zone = $1 AND log.replica = replica.id AND log.number = replica.last_push
          WHERE replica.zone = $1 AND log.received_ms >= $2
            AND NOT EXISTS (SELECT 1 FROM sighting
              WHERE sighting.zone = $1 AND sighting.replica = replica.uuid)
            AND NOT EXISTS (SELECT 1 FROM forgotten_replica AS forgotten
              WHERE forgotten.zone = $1 AND forgotten.replica = replica.uuid)
          """, zoneID, .integer(milliseconds)))
    }

    func stagedParts(since milliseconds: Int64) throws -> [Data] {
      blobs(
        try connection.run(
          """
          SELECT header FROM staged WHERE zone = $1 AND NOT EXISTS (SELECT 1 FROM staging
            WHERE staging.zone = $1 AND staging.replica = staged.replica AND touched_ms < $2)
          """, zoneID, .integer(milliseconds)))
    }

    func headers(
      after first: UInt64, through last: UInt64, countMax: Int
    ) throws -> [(sequence: UInt64, header: Data)] {
      let rows = try connection.run(
        """
        SELECT sequence, header FROM log WHERE zone = $1 AND sequence > $2 AND sequence <= $3
        ORDER BY sequence DESC LIMIT $4
        """, zoneID, number(first), number(last), .integer(Int64(countMax)))
      return (0..<rows.count).map { (rows.uint64($0, 0), rows.data($0, 1)) }
    }

    // MARK: - What is told

    func place(at sequence: UInt64) throws -> LogMark? {
      try connection.place(at: sequence, of: zone)
    }

    func sum(after first: UInt64, through last: UInt64) throws -> (entries: Int, bytes: Int64) {
      let rows = try connection.run(
        """
        SELECT count(*), coalesce(sum(size), 0)::bigint FROM log
        WHERE zone = $1 AND sequence > $2 AND sequence <= $3
        """, zoneID, number(first), number(last))
      return (Int(rows.int64(0, 0)), rows.int64(0, 1))
    }

    func replicas() throws -> [ReplicaReport] {
      try PostgresSightings.all(of: zone, on: connection)
    }

    // MARK: - What stands for what goes

    func floor() throws -> UInt64 { try PostgresPurgedLog.floor(of: zone, on: connection) }

    func row() throws -> PurgeRow? { try PostgresPurgedLog.row(of: zone, on: connection) }

    func keep(_ bytes: Data, as name: String) throws {
      try PostgresPurgedLog.keep(bytes, as: name, zone: zone.id, on: connection)
    }

    func bytes(of name: String) throws -> Data? {
      try PostgresPurgedLog.bytes(of: name, of: zone, on: connection)
    }

    func size(of name: String) throws -> Int? {
      let rows = try connection.run(
        "SELECT octet_length(bytes) FROM purge_file WHERE zone = $1 AND name = $2", zoneID,
        .text(name))
      return rows.count > 0 ? Int(rows.int64(0, 0)) : nil
    }

    func setFloor(_ floor: UInt64, _ snapshot: Snapshot, at milliseconds: Int64) throws {
      try PostgresPurgedLog.setFloor(floor, snapshot, of: zone, at: milliseconds, on: connection)
    }

    func use(_ values: [LargeValue], at milliseconds: Int64) throws {
      try PostgresLargeValues.use(
        values, bySnapshotOf: zone.id, at: milliseconds, on: connection)
    }

    func note(_ detail: String) throws {
      try administration.note(.zonePurged, zone: zone.name, nil, detail)
    }

    // MARK: - What goes

    func stripEntries(countMax: Int64, bytesMax: Int64) throws -> Bool {
      try PostgresPurgedLog.strip(
        zone, countMax: countMax, bytesMax: bytesMax, on: connection)
    }

    func forgetUses(countMax: Int64, at milliseconds: Int64) throws -> Bool {
      try PostgresLargeValues.forgetUses(
        through: floor(), zone: zone.id, countMax: countMax, at: milliseconds, on: connection)
    }

    /// A node that serves brings that about.
    func collectValues(at milliseconds: Int64) throws -> Bool { false }

    func dropUnnamedFile() throws -> Bool {
      let names = try PostgresPurgedLog.unnamedFiles(of: zone, on: connection)
      guard let name = names.first else { return false }
      try connection.run(
        "DELETE FROM purge_file WHERE zone = $1 AND name = $2", zoneID, .text(name))
      return true
    }

    func isUnfinished() throws -> Bool {
      let floor = try floor()
      let left = try connection.run(
        """
        SELECT EXISTS(SELECT 1 FROM log WHERE zone = $1 AND sequence <= $2)
          OR EXISTS(SELECT 1 FROM value_use
            WHERE zone = $1 AND sequence > \(PostgresLargeValues.bySnapshot) AND sequence <= $2)
        """, zoneID, number(floor))
      return try left.bool(0, 0)
        || !PostgresPurgedLog.unnamedFiles(of: zone, on: connection).isEmpty
    }
  }
#endif
