#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// Owns the tables `value`, `value_piece`, `value_use` and `value_lost`: as `LargeValues` of a data folder. What the rules of
  /// pieces ask of them is in `PostgresValueTables`.
  ///
  /// Who begins, ends, names or lets go of a value holds its zone's row. A piece is added with the row of its upload alone: it
  /// waits for no push, and none for it. Of a value that goes, its row goes first, and its pieces some at a time after that,
  /// since they may be many: one without a row is nobody's.
  enum PostgresLargeValues {
    /// `value`: `id` names a row, and is never another's; `replica` is empty for the zone's own.
    /// `value_lost`: `mark` is drawn at random, so that their sum changes with each change.
    static func make(on connection: PostgresConnection) throws {
      try connection.execute(
        """
        CREATE TABLE IF NOT EXISTS value(
          zone bigint NOT NULL, id uuid NOT NULL, digest bytea NOT NULL, replica bytea NOT NULL,
          token text NOT NULL, length bigint NOT NULL, held bigint NOT NULL,
          lease_ms bigint NOT NULL, PRIMARY KEY(zone, id));
        CREATE UNIQUE INDEX IF NOT EXISTS value_digest ON value(zone, digest, replica);
        CREATE INDEX IF NOT EXISTS value_lease ON value(lease_ms);
        CREATE INDEX IF NOT EXISTS value_unnamed ON value(zone, token, length) WHERE token <> '';
        CREATE TABLE IF NOT EXISTS value_piece(
          zone bigint NOT NULL, value uuid NOT NULL, first bigint NOT NULL, bytes bytea NOT NULL,
          PRIMARY KEY(zone, value, first));
        CREATE TABLE IF NOT EXISTS value_use(
          zone bigint NOT NULL, digest bytea NOT NULL, sequence bigint NOT NULL,
          PRIMARY KEY(zone, digest, sequence));
        CREATE INDEX IF NOT EXISTS value_use_entry ON value_use(zone, sequence);
        CREATE TABLE IF NOT EXISTS value_lost(
          zone bigint NOT NULL, digest bytea NOT NULL, length bigint NOT NULL,
          mark bigint NOT NULL, PRIMARY KEY(zone, digest))
        """)
      try PostgresSchema.keepAsItComes("value_piece", "bytes", connection)
    }

    /// In a condition on `value`.
    private static let isUnnamed = """
      NOT EXISTS (SELECT 1 FROM value_use
        WHERE value_use.zone = value.zone AND value_use.digest = value.digest)
      """

    // MARK: - What is there

    /// - Throws: `ProtocolError` (`.malformed`) for a value of another length than the zone has of its digest.
    static func missing(
      _ values: [LargeValue], zone: Int64, on connection: PostgresConnection
    ) throws -> [LargeValue] {
      guard !values.isEmpty else { return [] }
      let rows = try connection.run(
        """
        SELECT digest, length FROM value
        WHERE zone = $1 AND digest = ANY($2::bytea[]) AND replica = ''::bytea
        """, .integer(zone), .blobs(values.map(\.digest)))
      var lengths: [Data: UInt64] = [:]
      for row in 0..<rows.count { lengths[rows.data(row, 0)] = rows.uint64(row, 1) }
      return try values.filter { value in
        guard let length = lengths[value.digest] else { return true }
        guard length == value.length else { throw otherLength(value) }
        return false
      }
    }

    /// Rows of those values that a zone has whole and nothing names.
    static func unnamed(
      _ values: [LargeValue], zone: Int64, on connection: PostgresConnection
    ) throws -> [UUID] {
      guard !values.isEmpty else { return [] }
      let rows = try connection.run(
        """
        SELECT id FROM value WHERE zone = $1 AND digest = ANY($2::bytea[])
          AND replica = ''::bytea AND \(isUnnamed)
        """, .integer(zone), .blobs(values.map(\.digest)))
      return (0..<rows.count).compactMap { rows.uuid($0, 0) }
    }

    static func otherLength(_ value: LargeValue) -> ProtocolError {
      .malformed("The value \(value.name) has another length than it says")
    }

    /// The bytes of a row from one piece on; empty at its end.
    static func piece(
      of id: UUID, first: Int, zone: Int64, on connection: PostgresConnection
    ) throws -> Data {
      let rows = try connection.run(
        "SELECT bytes FROM value_piece WHERE zone = $1 AND value = $2 AND first = $3",
        .integer(zone), .uuid(id), .integer(Int64(first)))
      return rows.count > 0 ? rows.data(0, 0) : Data()
    }

    static func add(
      _ bytes: Data, at first: Int, of id: UUID, zone: Int64, on connection: PostgresConnection
    ) throws {
      try connection.run(
        "INSERT INTO value_piece(zone, value, first, bytes) VALUES($1, $2, $3, $4)",
        .integer(zone), .uuid(id), .integer(Int64(first)), .blob(bytes))
    }

    /// What a zone has whole, and its log names.
    static func named(of zone: Int64, on connection: PostgresConnection) throws -> NamedValues {
      let rows = try connection.run(
        """
        SELECT count(*), least(coalesce(sum(length), 0), \(Int64.max))::bigint FROM value
        WHERE zone = $1 AND replica = ''::bytea AND NOT (\(isUnnamed))
        """, .integer(zone))
      return NamedValues(count: rows.int64(0, 0), bytes: rows.int64(0, 1))
    }

    /// What the status page and the metrics say of all zones' values.
    static func look(at look: inout StorageLook, on connection: PostgresConnection) throws {
      let rows = try connection.run(
        """
        SELECT coalesce(sum(held), 0)::bigint,
          coalesce(sum(held) FILTER (WHERE \(isUnnamed)), 0)::bigint,
          (SELECT count(*) FROM value_lost) FROM value
        """)
      look.valueBytes = rows.int64(0, 0)
      look.unnamedValueBytes = rows.int64(0, 1)
      look.lostValues = rows.int64(0, 2)
    }

    /// What changes with the values that a zone lacks; nil where it lacks none.
    static func lostMark(of zone: Int64, on connection: PostgresConnection) throws -> String? {
      let rows = try connection.run(
        "SELECT count(*), coalesce(sum(mark), 0)::bigint FROM value_lost WHERE zone = $1",
        .integer(zone))
      return rows.int64(0, 0) > 0 ? "\(rows.int64(0, 1))-\(rows.int64(0, 0))" : nil
    }

    // MARK: - What is named; who calls holds the zone's row

    static func use(
      _ uses: [(value: LargeValue, sequence: UInt64)], zone: Int64,
      on connection: PostgresConnection
    ) throws {
      guard !uses.isEmpty else { return }
      try insert(
        uses.map { ($0.value.digest, Int64(clamping: $0.sequence)) }, zone: zone, on: connection)
      let values = Array(Set(uses.map(\.value)))
      try keepNamed(values, zone: zone, on: connection)
      try noteLost(missing(values, zone: zone, on: connection), zone: zone, on: connection)
    }

    static func insert(
      _ uses: [(digest: Data, sequence: Int64)], zone: Int64, on connection: PostgresConnection
    ) throws {
      try connection.run(
        """
        INSERT INTO value_use(zone, digest, sequence)
        SELECT $1::bigint, * FROM unnest($2::bytea[], $3::bigint[]) ON CONFLICT DO NOTHING
        """, .integer(zone), .blobs(uses.map(\.digest)), .integers(uses.map(\.sequence)))
    }

    static func keepNamed(
      _ values: [LargeValue], zone: Int64, on connection: PostgresConnection
    ) throws {
      try connection.run(
        """
        UPDATE value SET lease_ms = $3, token = ''
        WHERE zone = $1 AND digest = ANY($2::bytea[]) AND replica = ''::bytea
          AND (lease_ms <> $3 OR token <> '')
        """, .integer(zone), .blobs(values.map(\.digest)), .integer(.max))
    }

    static func noteLost(
      _ values: [LargeValue], zone: Int64, on connection: PostgresConnection
    ) throws {
      guard !values.isEmpty else { return }
      try connection.run(
        """
        INSERT INTO value_lost(zone, digest, length, mark)
        SELECT $1::bigint, * FROM unnest($2::bytea[], $3::bigint[], $4::bigint[])
        ON CONFLICT DO NOTHING
        """, .integer(zone), .blobs(values.map(\.digest)),
        .integers(values.map { Int64(clamping: $0.length) }),
        .integers(values.map { _ in Int64.random(in: 1...Int64(UInt32.max)) }))
    }

    // MARK: - What a purge keeps; who calls holds the zone's row

    /// In place of an entry's sequence number: the snapshot that a purge has kept names the value.
    static let bySnapshot: Int64 = 0

    /// A snapshot stands for entries that are about to go: what it names stays, and what only the one before it named goes when
    /// its lease ends. Who calls sets the floor in the same transaction.
    static func use(
      _ values: [LargeValue], bySnapshotOf zone: Int64, at milliseconds: Int64,
      on connection: PostgresConnection
    ) throws {
      let rows = try connection.run(
        "SELECT digest FROM value_use WHERE zone = $1 AND sequence = \(bySnapshot)",
        .integer(zone))
      let named = Set(values.map(\.digest))
      let former = (0..<rows.count).map { rows.data($0, 0) }.filter { !named.contains($0) }
      try insert(values.map { ($0.digest, bySnapshot) }, zone: zone, on: connection)
      try forget(
        former.map { ($0, bySnapshot) }, zone: zone, at: milliseconds, on: connection)
    }

    /// Those of some values that no snapshot of a purge is noted to name.
    static func unnoted(
      _ values: [LargeValue], bySnapshotOf zone: Int64, on connection: PostgresConnection
    ) throws -> [LargeValue] {
      let rows = try connection.run(
        "SELECT digest FROM value_use WHERE zone = $1 AND sequence = \(bySnapshot)",
        .integer(zone))
      let noted = Set((0..<rows.count).map { rows.data($0, 0) })
      return values.filter { !noted.contains($0.digest) }
    }

    /// Some entries up to the floor name nothing any more: their change sets are gone.
    ///
    /// - Returns: whether there may be more.
    static func forgetUses(
      through floor: UInt64, zone: Int64, countMax: Int64, at milliseconds: Int64,
      on connection: PostgresConnection
    ) throws -> Bool {
      let rows = try connection.run(
        """
        SELECT digest, sequence FROM value_use
        WHERE zone = $1 AND sequence > \(bySnapshot) AND sequence <= $2 LIMIT $3
        """, .integer(zone), .integer(Int64(clamping: floor)), .integer(countMax))
      guard rows.count > 0 else { return false }
      try forget(
        (0..<rows.count).map { (rows.data($0, 0), rows.int64($0, 1)) }, zone: zone,
        at: milliseconds, on: connection)
      return true
    }

    /// A value that nothing names any more has a lease: a replica may be about to fetch it.
    private static func forget(
      _ uses: [(digest: Data, sequence: Int64)], zone: Int64, at milliseconds: Int64,
      on connection: PostgresConnection
    ) throws {
      guard !uses.isEmpty else { return }
      let digests = PostgresValue.blobs(uses.map(\.digest))
      try connection.run(
        """
        DELETE FROM value_use WHERE zone = $1 AND (digest, sequence) IN
          (SELECT * FROM unnest($2::bytea[], $3::bigint[]))
        """, .integer(zone), digests, .integers(uses.map(\.sequence)))
      try connection.run(
        """
        DELETE FROM value_lost AS value WHERE zone = $1 AND digest = ANY($2::bytea[])
          AND \(isUnnamed)
        """, .integer(zone), digests)
      try connection.run(
        """
        UPDATE value SET lease_ms = $3 WHERE zone = $1 AND digest = ANY($2::bytea[])
          AND replica = ''::bytea AND \(isUnnamed)
        """, .integer(zone), digests, .integer(milliseconds + ValueLease.milliseconds))
    }

    // MARK: - What goes

    /// So many values that nobody wants any more go in one transaction.
    private static let collectedMax = 16
    /// Pieces that go in one transaction, and as many such transactions as a request waits for.
    private static let piecesAtOnce = 16
    private static let stripsMax = 16

    /// Lets go of some values that nothing names and nobody waits for any more: of one zone, this one first.
    ///
    /// - Parameter isPatient: whether a zone's row is waited for; of another that somebody holds nothing goes.
    /// - Returns: whether some went.
    static func collect(
      at milliseconds: Int64, first zone: Int64, isPatient: (Int64) -> Bool,
      on connection: PostgresConnection
    ) throws -> Bool {
      let isUnwanted = "(replica <> ''::bytea OR \(isUnnamed))"
      let rows = try connection.run(
        """
        SELECT zone, id FROM value WHERE lease_ms < $1 AND \(isUnwanted)
        ORDER BY zone <> $2, zone, lease_ms LIMIT \(collectedMax)
        """, .integer(milliseconds), .integer(zone))
      guard rows.count > 0 else { return false }
      let of = PostgresValue.integer(rows.int64(0, 0))
      let ids = (0..<rows.count).filter { rows.int64($0, 0) == rows.int64(0, 0) }
        .compactMap { rows.uuid($0, 1) }
      let gone = try connection.transaction(.write) { () -> [UUID] in
        // Nobody names one meanwhile; who renews a lease is heard by the condition.
        let skips = isPatient(rows.int64(0, 0)) ? "" : "SKIP LOCKED"
        let held = try connection.run("SELECT id FROM zone WHERE id = $1 FOR UPDATE \(skips)", of)
        guard try held.count > 0 || !isThere(rows.int64(0, 0), on: connection) else { return [] }
        let gone = try connection.run(
          """
          DELETE FROM value WHERE zone = $1 AND id = ANY($2::uuid[]) AND lease_ms < $3
            AND \(isUnwanted) RETURNING id
          """, of, .uuids(ids), .integer(milliseconds))
        return (0..<gone.count).compactMap { gone.uuid($0, 0) }
      }
      try dropPieces(of: gone, zone: rows.int64(0, 0), on: connection)
      return !gone.isEmpty
    }

    private static func isThere(_ zone: Int64, on connection: PostgresConnection) throws -> Bool {
      try connection.run("SELECT id FROM zone WHERE id = $1", .integer(zone)).count > 0
    }

    /// Lets go of bytes of rows that are gone, some at a time; what is left after a while goes with `sweep`.
    static func dropPieces(
      of gone: [UUID], zone: Int64, on connection: PostgresConnection
    ) throws {
      guard !gone.isEmpty else { return }
      for _ in 0..<stripsMax {
        let dropped = try connection.run(
          """
          DELETE FROM value_piece WHERE zone = $1 AND (value, first) IN (
            SELECT value, first FROM value_piece WHERE zone = $1 AND value = ANY($2::uuid[])
            ORDER BY value, first LIMIT \(piecesAtOnce))
          """, .integer(zone), .uuids(gone))
        if dropped.changes < piecesAtOnce { return }
      }
    }

    /// Lets go of some pieces that are of no row any more: what a process left that was killed, or had much to do.
    ///
    /// - Parameter zone: of this one alone; nil for all.
    /// - Returns: whether there may be more.
    static func sweep(of zone: Int64? = nil, on connection: PostgresConnection) throws -> Bool {
      let left = try connection.run(
        """
        SELECT DISTINCT zone, value FROM value_piece AS piece
        WHERE zone = coalesce($1, zone) AND NOT EXISTS (SELECT 1 FROM value
          WHERE value.zone = piece.zone AND value.id = piece.value) LIMIT \(collectedMax)
        """, zone.map { .integer($0) } ?? .null)
      let rows = (0..<left.count).compactMap { row in
        left.uuid(row, 1).map { (zone: left.int64(row, 0), id: $0) }
      }
      for (zone, rows) in Dictionary(grouping: rows, by: \.zone) {
        try dropPieces(of: rows.map(\.id), zone: zone, on: connection)
      }
      return !rows.isEmpty
    }

    /// A zone begins anew: what named its values is gone, and they stay until replicas have offered what they hold, which they
    /// need not send again. Those that its log named take nobody's room meanwhile.
    static func move(
      from zone: Int64, to next: Int64, _ intent: ZoneIntent, at milliseconds: Int64,
      on connection: PostgresConnection
    ) throws {
      // First the rows that who adds a piece holds, so that no piece comes behind.
      try connection.run(
        """
        UPDATE value SET zone = $2, lease_ms = CASE WHEN token = $3 THEN $4::bigint ELSE $5::bigint END
        WHERE zone = $1
        """, .integer(zone), .integer(next), .text(ValueLease.nobody),
        .integer(
          milliseconds
            + (intent == .offer ? ValueLease.offeredMilliseconds : ValueLease.milliseconds)),
        .integer(milliseconds + ValueLease.milliseconds))
      try connection.run(
        "UPDATE value_piece SET zone = $2 WHERE zone = $1", .integer(zone), .integer(next))
    }
  }

  extension PostgresZoneTables {
    func missing(_ values: [LargeValue], zone: Int64) throws -> [LargeValue] {
      try PostgresLargeValues.missing(values, zone: zone, on: connection)
    }

    func use(_ values: [LargeValue], zone: Int64, sequence: UInt64) throws {
      change(\.newUses, to: newUses + values.map { ($0, sequence) })
    }
  }
#endif
