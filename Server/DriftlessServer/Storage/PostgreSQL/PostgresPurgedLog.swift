#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// Owns the tables `purge`, `purge_file` and `purged`: as `PurgedLog` of a data folder.
  ///
  /// The floor is set by who holds the zone's row, and is read by who holds it, or in one state with the entries that are read:
  /// no node serves or takes what is below the floor that another process has set.
  enum PostgresPurgedLog {
    private static let columns = """
      zone, sequence, replica, number, first_object, new_objects, received_ms, digest, chain, names,
      size
      """

    /// `entry` has a row for each entry of a log, whether the log still has its change set or not.
    static func make(on connection: PostgresConnection) throws {
      try connection.execute(
        """
        CREATE TABLE IF NOT EXISTS purge(
          zone bigint PRIMARY KEY, generation uuid NOT NULL, floor bigint NOT NULL,
          snapshot bytea NOT NULL, purged_ms bigint NOT NULL);
        CREATE TABLE IF NOT EXISTS purge_file(
          zone bigint NOT NULL, name text NOT NULL, bytes bytea NOT NULL, PRIMARY KEY(zone, name));
        CREATE TABLE IF NOT EXISTS purged(
          zone bigint NOT NULL, sequence bigint NOT NULL, replica bigint NOT NULL,
          number bigint NOT NULL, first_object bigint NOT NULL, new_objects bigint NOT NULL,
          received_ms bigint NOT NULL, digest bytea NOT NULL, chain bytea NOT NULL,
          names bytea NOT NULL, size bigint NOT NULL, PRIMARY KEY(zone, sequence));
        CREATE UNIQUE INDEX IF NOT EXISTS purged_push ON purged(zone, replica, number, sequence);
        CREATE OR REPLACE VIEW entry AS
          SELECT \(columns) FROM log UNION ALL SELECT \(columns) FROM purged
        """)
      try PostgresSchema.keepAsItComes("purge_file", "bytes", connection)
    }

    /// The last entry of a zone's log whose change set may be gone; 0 where none was purged.
    static func floor(of zone: ZoneRecord, on connection: PostgresConnection) throws -> UInt64 {
      let rows = try connection.run(
        "SELECT floor FROM purge WHERE zone = $1 AND generation = $2", .integer(zone.id),
        .uuid(zone.generation))
      return rows.count > 0 ? rows.uint64(0, 0) : 0
    }

    /// Nil where no entry was purged.
    ///
    /// - Throws: `ServerError` (`.storage`) where the row cannot be read.
    static func row(of zone: ZoneRecord, on connection: PostgresConnection) throws -> PurgeRow? {
      let rows = try connection.run(
        "SELECT floor, snapshot, purged_ms FROM purge WHERE zone = $1 AND generation = $2",
        .integer(zone.id), .uuid(zone.generation))
      guard rows.count > 0 else { return nil }
      guard let snapshot = Snapshot(note: rows.data(0, 1)) else {
        throw ServerError.purgedIsDamaged("what it came to", zone)
      }
      return PurgeRow(
        floor: rows.uint64(0, 0), snapshot: snapshot, milliseconds: rows.int64(0, 2))
    }

    static func bytes(
      of name: String, of zone: ZoneRecord, on connection: PostgresConnection
    ) throws -> Data? {
      let rows = try connection.run(
        "SELECT bytes FROM purge_file WHERE zone = $1 AND name = $2", .integer(zone.id),
        .text(name))
      return rows.count > 0 ? rows.data(0, 0) : nil
    }

    /// A piece of a file; nil for a name that none has.
    static func piece(
      of name: String, of zone: ZoneRecord, first: Int, count: Int,
      on connection: PostgresConnection
    ) throws -> Data? {
      guard let piece = PostgresSnapshots.FilePiece(name, first: first, count: count) else {
        return nil
      }
      let rows = try connection.run(
        """
        SELECT substring(bytes FROM ($3::bigint)::integer FOR ($4::bigint)::integer)
        FROM purge_file WHERE zone = $1 AND name = $2
        """, .integer(zone.id), .text(name), piece.first, piece.count)
      return rows.count > 0 ? rows.data(0, 0) : nil
    }

    // MARK: - Writing; who calls holds the zone's row

    static func keep(
      _ bytes: Data, as name: String, zone: Int64, on connection: PostgresConnection
    ) throws {
      try connection.run(
        """
        INSERT INTO purge_file(zone, name, bytes) VALUES($1, $2, $3)
        ON CONFLICT (zone, name) DO UPDATE SET bytes = excluded.bytes
        """, .integer(zone), .text(name), .blob(bytes))
    }

    static func setFloor(
      _ floor: UInt64, _ snapshot: Snapshot, of zone: ZoneRecord, at milliseconds: Int64,
      on connection: PostgresConnection
    ) throws {
      try connection.run(
        """
        INSERT INTO purge(zone, generation, floor, snapshot, purged_ms) VALUES($1, $2, $3, $4, $5)
        ON CONFLICT (zone) DO UPDATE SET generation = excluded.generation,
          floor = excluded.floor, snapshot = excluded.snapshot, purged_ms = excluded.purged_ms
        """, .integer(zone.id), .uuid(zone.generation), .integer(Int64(clamping: floor)),
        .blob(snapshot.note), .integer(milliseconds))
    }

    /// Names of files that the present snapshot does not name: of one before, or of a purge that was killed.
    static func unnamedFiles(
      of zone: ZoneRecord, on connection: PostgresConnection
    ) throws -> [String] {
      let named = try Set(row(of: zone, on: connection)?.snapshot.files.map(\.name) ?? [])
      let rows = try connection.run(
        "SELECT name FROM purge_file WHERE zone = $1", .integer(zone.id))
      return (0..<rows.count).map { rows.text($0, 0) }.filter { !named.contains($0) }
    }

    /// Takes the change sets of some entries up to the floor away; what is asked of each of them stays.
    ///
    /// - Returns: whether there may be more.
    static func strip(
      _ zone: ZoneRecord, countMax: Int64, bytesMax: Int64, on connection: PostgresConnection
    ) throws -> Bool {
      let last = try connection.run(
        """
        SELECT max(sequence) FROM (
          SELECT sequence, row_number() OVER (ORDER BY sequence) AS place,
            sum(greatest(0, least(size, $4::bigint))) OVER (ORDER BY sequence) AS total
          FROM (SELECT sequence, size FROM log WHERE zone = $1 AND sequence <= $2
            ORDER BY sequence LIMIT $3) AS few) AS measured
        WHERE place = 1 OR total <= $4::bigint
        """, .integer(zone.id), .integer(Int64(clamping: try floor(of: zone, on: connection))),
        .integer(countMax), .integer(bytesMax))
      guard last.count > 0, !last.isNull(0, 0) else { return false }
      let end = PostgresValue.integer(last.int64(0, 0))
      try connection.run(
        """
        INSERT INTO purged(\(columns))
        SELECT \(columns) FROM log WHERE zone = $1 AND sequence <= $2
        """, .integer(zone.id), end)
      try connection.run(
        "DELETE FROM log WHERE zone = $1 AND sequence <= $2", .integer(zone.id), end)
      return true
    }
  }
#endif
