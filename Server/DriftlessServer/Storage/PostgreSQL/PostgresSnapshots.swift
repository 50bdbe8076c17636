#if PostgreSQL
  import DriftlessProtocol
  import Foundation
  import Synchronization

  /// Owns the tables `snapshot`, `segment` and `folding`: what zones' logs come to, for all nodes.
  ///
  /// Whoever folds a zone has its row of `folding`, a lease by the database's clock, and takes that row first in each transaction
  /// that writes of the zone here. So does who deletes or renews a zone, after the zone's row: what a fold that was taken
  /// to be dead writes on is refused.
  enum PostgresSnapshots {
    /// `folding`: who folds a zone, and until when nobody else may.
    /// `snapshot`: one row a zone, with what a data folder has in `snapshot.json`.
    /// `segment`: the files of snapshots, by the SHA-256 of their bytes.
    static func make(on connection: PostgresConnection) throws {
      try connection.execute(
        """
        CREATE TABLE IF NOT EXISTS folding(
          zone bigint PRIMARY KEY, holder uuid NOT NULL, ends timestamptz NOT NULL
        ) WITH (fillfactor = 50);
        CREATE TABLE IF NOT EXISTS snapshot(
          zone bigint PRIMARY KEY, generation uuid NOT NULL, sequence bigint NOT NULL,
          bytes bigint NOT NULL, manifest bytea NOT NULL);
        CREATE TABLE IF NOT EXISTS segment(
          zone bigint NOT NULL, name text NOT NULL, content bytea NOT NULL,
          PRIMARY KEY(zone, name))
        """)
      try PostgresSchema.keepAsItComes("segment", "content", connection)
    }

    /// The zone's snapshot; nil when there is none of its present generation, or one that cannot be read: the next fold makes
    /// another.
    static func snapshot(of zone: ZoneRecord, on connection: PostgresConnection) throws -> Snapshot?
    {
      let rows = try connection.run(
        "SELECT manifest FROM snapshot WHERE zone = $1 AND generation = $2", .integer(zone.id),
        .uuid(zone.generation))
      guard rows.count > 0, let snapshot = Snapshot(note: rows.data(0, 0)),
        snapshot.generation == zone.generation
      else { return nil }
      return snapshot
    }

    /// Which bytes of a file are asked for, as PostgreSQL counts them: from 1 on, in 32 bits.
    struct FilePiece {
      let first: PostgresValue
      let count: PostgresValue

      /// Nil for a name that no file has, which may hold what no text of the database may.
      init?(_ name: String, first: Int, count: Int) {
        guard name.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else { return nil }
        let first = min(first, Int(Int32.max) - 1)
        self.first = .integer(Int64(first + 1))
        self.count = .integer(Int64(min(count, Int(Int32.max) - first - 1)))
      }
    }

    /// A piece of a file; nil when there is none.
    static func piece(
      of name: String, of zone: ZoneRecord, first: Int, count: Int,
      on connection: PostgresConnection
    ) throws -> Data? {
      guard let piece = FilePiece(name, first: first, count: count) else { return nil }
      let rows = try connection.run(
        """
        SELECT substring(content FROM ($3::bigint)::integer FOR ($4::bigint)::integer) FROM segment
        WHERE zone = $1 AND name = $2
          AND EXISTS (SELECT 1 FROM snapshot WHERE zone = $1 AND generation = $5)
        """, .integer(zone.id), .text(name), piece.first, piece.count, .uuid(zone.generation))
      return rows.count > 0 ? rows.data(0, 0) : nil
    }

    /// The bytes of a file of a snapshot.
    ///
    /// - Throws: `ProtocolError`: `.damaged` for one that is gone, though the zone's snapshot names it, or that the database
    ///   cannot read; `ServerError` (`.busy`) for one that a newer fold has removed meanwhile.
    static func bytes(
      of file: Snapshot.File, of zone: ZoneRecord, on connection: PostgresConnection
    ) throws -> Data {
      func damaged(_ reason: String) -> ProtocolError {
        ProtocolError(
          .damaged, "The file \(file.name) of the snapshot \(reason)",
          suggestion: "Fold the zone anew.")
      }
      do {
        let rows = try connection.run(
          "SELECT content FROM segment WHERE zone = $1 AND name = $2", .integer(zone.id),
          .text(file.name))
        if rows.count > 0 { return rows.data(0, 0) }
      } catch let error as PostgresError where error.sqlState.hasPrefix("XX") {
        // The database's own word for a damaged page.
        throw damaged("cannot be read by the database: \(error.message)")
      }
      let present = try snapshot(of: zone, on: connection)
      guard present?.files.contains(file) == true else {
        throw ServerError.busy("the zone was added up anew meanwhile")
      }
      throw damaged("is gone")
    }

    /// Whether all files of a snapshot are there in their lengths.
    static func hasFiles(
      of snapshot: Snapshot, _ zone: ZoneRecord, on connection: PostgresConnection
    ) throws -> Bool {
      let rows = try connection.run(
        "SELECT name, octet_length(content) FROM segment WHERE zone = $1", .integer(zone.id))
      var sizes: [String: Int64] = [:]
      for row in 0..<rows.count { sizes[rows.text(row, 0)] = rows.int64(row, 1) }
      return snapshot.files.allSatisfy { sizes[$0.name] == Int64($0.bytes) }
    }

    /// Forgets the snapshot of a generation: another one's is not this zone's to forget.
    static func forget(_ zone: ZoneRecord, on connection: PostgresConnection) throws {
      try connection.run(
        "DELETE FROM snapshot WHERE zone = $1 AND generation = $2", .integer(zone.id),
        .uuid(zone.generation))
    }

    /// Removes what is of zones that are no more: a program of before knows nothing of these tables when it deletes one.
    static func sweep(_ connection: PostgresConnection) throws {
      for table in PostgresSchema.tablesOfSnapshot where table != "segment" {
        try connection.run("DELETE FROM \(table) WHERE zone NOT IN (SELECT id FROM zone)")
      }
      // Files are large: a few at a time, so that no statement runs into its limit.
      while true {
        let left = try connection.run(
          """
          SELECT zone, name FROM segment WHERE zone NOT IN (SELECT id FROM zone)
          LIMIT \(PostgresFold.removedAtOnce)
          """)
        guard left.count > 0 else { return }
        for row in 0..<left.count {
          try connection.run(
            "DELETE FROM segment WHERE zone = $1 AND name = $2", .integer(left.int64(row, 0)),
            .text(left.text(row, 1)))
        }
      }
    }
  }

  /// The right to fold a zone, and the files of its snapshot meanwhile.
  final class PostgresFold: SnapshotFiles, Sendable {
    private let slot: PostgresSlot
    private let zone: ZoneRecord
    private let holder = UUID()
    private let renewed = Mutex(ContinuousClock.now)

    /// How long a fold that was killed stands in the way of others.
    private static let lease = "clock_timestamp() + interval '30 seconds'"
    private static let renewal = Duration.seconds(5)
    private static let triesMax = 6
    /// Files that are removed in one transaction.
    fileprivate static let removedAtOnce = 16

    /// - Throws: `ServerError`: `.locked` while another folds the zone, `.noZone`, `.generationChanged`; `PostgresError`.
    init(_ zone: ZoneRecord, _ slot: PostgresSlot) throws {
      self.zone = zone
      self.slot = slot
      // Another's lease is seen without a lock: pushes of the zone would wait behind whoever waits for it.
      let isOthers = try slot.run { connection in
        let rows = try connection.run(
          "SELECT (ends > clock_timestamp())::integer FROM folding WHERE zone = $1",
          .integer(zone.id))
        return rows.count > 0 && rows.bool(0, 0)
      }
      guard !isOthers else { throw lost }
      let isTaken = try write(renews: false) { [holder] connection in
        // Where two come at once, one gives way soon.
        try connection.execute("SET LOCAL lock_timeout = '200ms'")
        // Nobody deletes the zone, or renews it, before the row is there.
        let there = try connection.run(
          "SELECT generation FROM zone WHERE id = $1 FOR UPDATE", .integer(zone.id))
        guard there.count > 0 else { throw ServerError.noZone(zone.name) }
        guard there.uuid(0, 0) == zone.generation else {
          throw ServerError.generationChanged(zone: zone.name)
        }
        return try connection.run(
          """
          INSERT INTO folding(zone, holder, ends) VALUES($1, $2, \(Self.lease))
          ON CONFLICT (zone) DO UPDATE SET holder = excluded.holder, ends = excluded.ends
          WHERE folding.ends < clock_timestamp() OR folding.holder = excluded.holder
          """, .integer(zone.id), .uuid(holder)
        ).changes == 1
      }
      guard isTaken else { throw lost }
    }

    private var lost: ServerError {
      ServerError(
        .locked, "another process folds the zone \(zone.name)",
        suggestion: "Let it end: it makes the snapshot.")
    }

    /// Lets others fold the zone.
    func release() {
      try? slot.run { connection in
        _ = try connection.run(
          "UPDATE folding SET ends = clock_timestamp() WHERE zone = $1 AND holder = $2",
          .integer(zone.id), .uuid(holder))
      }
    }

    /// - Throws: `ServerError` (`.locked`) where another took the fold to be dead.
    func renewIfDue() throws {
      guard ContinuousClock.now - renewed.withLock({ $0 }) > Self.renewal else { return }
      try write { _ in }
    }

    /// Runs a transaction of who has the lease. It may run more than once.
    private func write<Result: Sendable>(
      renews: Bool = true, _ body: (PostgresConnection) throws -> Result
    ) throws -> Result {
      var tries = 1
      while true {
        do {
          let result = try slot.run { connection in
            try connection.transaction(.write) {
              if renews { try takeRow(connection) }
              return try body(connection)
            }
          }
          renewed.withLock { $0 = .now }
          return result
        } catch let error as PostgresError where error.isContention || error.kind != .statement {
          guard tries < Self.triesMax else { throw error }
          PostgresSlot.pause(after: tries)
          tries += 1
        }
      }
    }

    private func takeRow(_ connection: PostgresConnection) throws {
      let renewed = try connection.run(
        "UPDATE folding SET ends = \(Self.lease) WHERE zone = $1 AND holder = $2",
        .integer(zone.id), .uuid(holder))
      guard renewed.changes == 1 else { throw lost }
    }

    // MARK: - Files

    func snapshot() throws -> Snapshot? {
      try slot.patiently { try PostgresSnapshots.snapshot(of: zone, on: $0) }
    }

    func bytes(of file: Snapshot.File) throws -> Data {
      try slot.patiently { try PostgresSnapshots.bytes(of: file, of: zone, on: $0) }
    }

    /// Forgets the snapshot, as who has the lease.
    func forget() throws {
      try write { try PostgresSnapshots.forget(zone, on: $0) }
    }

    /// Also over one that is there: it may be damaged.
    func keep(_ data: Data, as name: String) throws {
      try write { connection in
        _ = try connection.run(
          """
          INSERT INTO segment(zone, name, content) VALUES($1, $2, $3)
          ON CONFLICT (zone, name) DO UPDATE SET content = excluded.content
          """, .integer(zone.id), .text(name), .blob(data))
      }
    }

    /// - Throws: `ProtocolError` (`.damaged`) where a file is not there: a database that a standby took over may lack it.
    func publish(_ snapshot: Snapshot) throws {
      let note = try snapshot.note
      try write { connection in
        guard try PostgresSnapshots.hasFiles(of: snapshot, zone, on: connection) else {
          throw ProtocolError(
            .damaged, "A file of the snapshot is gone", suggestion: "Fold the zone anew.")
        }
        _ = try connection.run(
          """
          INSERT INTO snapshot(zone, generation, sequence, bytes, manifest)
          VALUES($1, $2, $3, $4, $5) ON CONFLICT (zone) DO UPDATE
          SET generation = excluded.generation, sequence = excluded.sequence,
            bytes = excluded.bytes, manifest = excluded.manifest
          """, .integer(zone.id), .uuid(zone.generation),
          .integer(Int64(clamping: snapshot.place.sequence)),
          .integer(Int64(clamping: snapshot.bytes)), .blob(note))
      }
      try removeFiles(butOf: snapshot)
    }

    /// Removes files that neither the snapshot nor the one before it names.
    func removeFiles(butOf snapshot: Snapshot?) throws {
      let named = Set((snapshot?.files.map(\.name) ?? []) + (snapshot?.former ?? []))
      let there = try slot.run { connection in
        let rows = try connection.run(
          "SELECT name FROM segment WHERE zone = $1", .integer(zone.id))
        return (0..<rows.count).map { rows.text($0, 0) }
      }
      let left = there.filter { !named.contains($0) }
      for start in stride(from: 0, to: left.count, by: Self.removedAtOnce) {
        try write { connection in
          for name in left[start..<min(left.count, start + Self.removedAtOnce)] {
            try connection.run(
              "DELETE FROM segment WHERE zone = $1 AND name = $2", .integer(zone.id), .text(name))
          }
        }
      }
    }
  }
#endif
