#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// Large values of one zone in a database that several nodes write to (`PostgresLargeValues`).
  final class PostgresValueTables: ValueTables {
    let connection: PostgresConnection
    let zone: ZoneRecord
    /// Rows that the open transaction has removed.
    private var gone: [UUID] = []
    /// Whether it waits for rows that others hold.
    private let waits: Bool

    /// Another has a row of the zone that is to be held, and nobody was to wait for it.
    struct IsHeld: Error {}

    /// - Parameter waits: whether it waits for rows that others hold, as long as its connection does.
    init(_ connection: PostgresConnection, _ zone: ZoneRecord, waits: Bool = true) {
      self.connection = connection
      self.zone = zone
      self.waits = waits
    }

    private var locked: String { waits ? "FOR UPDATE" : "FOR UPDATE SKIP LOCKED" }

    private var zoneID: PostgresValue { .integer(zone.id) }

    func transaction<Result>(_ body: () throws -> Result) throws -> Result {
      gone = []
      let result = try connection.transaction(.write, body)
      // What is done is done, whatever becomes of bytes that are nobody's.
      try? PostgresLargeValues.dropPieces(of: gone, zone: zone.id, on: connection)
      return result
    }

    func hold() throws {
      let rows = try connection.run("SELECT uuid FROM zone WHERE id = $1 \(locked)", zoneID)
      guard try rows.count > 0 || waits || generation() == nil else { throw IsHeld() }
      guard rows.count > 0, rows.uuid(0, 0) == zone.zoneID else {
        // It may have begun anew, under another number.
        _ = try connection.current(zone)
        throw ServerError.generationChanged(zone: zone.name)
      }
    }

    func holdAll() throws { try PostgresSchema.hold(connection) }

    func generation() throws -> UUID? {
      let rows = try connection.run("SELECT generation FROM zone WHERE id = $1", zoneID)
      return rows.count > 0 ? rows.uuid(0, 0) : nil
    }

    // MARK: - What comes

    func row(of value: LargeValue, replica: UUID?) throws -> (row: UUID, held: Int)? {
      // An upload has one writer at a time; the whole is never written to.
      let select =
        "SELECT id, held, length FROM value WHERE zone = $1 AND digest = $2 AND replica = $3"
      let key: [PostgresValue] = [
        zoneID, .blob(value.digest), .blob(replica?.bytes ?? Data()),
      ]
      let rows = try connection.run(
        replica == nil ? select : "\(select) \(locked)", key[0], key[1], key[2])
      guard rows.count > 0, let id = rows.uuid(0, 0) else {
        guard !waits, replica != nil else { return nil }
        guard try connection.run(select, key[0], key[1], key[2]).count == 0 else { throw IsHeld() }
        return nil
      }
      guard rows.uint64(0, 2) == value.length else {
        throw PostgresLargeValues.otherLength(value)
      }
      return (id, Int(clamping: rows.int64(0, 1)))
    }

    func begin(_ value: LargeValue, replica: UUID, token: String) throws -> UUID {
      let id = UUID()
      try connection.run(
        """
        INSERT INTO value(zone, id, digest, replica, token, length, held, lease_ms)
        VALUES($1, $2, $3, $4, $5, $6, 0, 0)
        """, zoneID, .uuid(id), .blob(value.digest), .blob(replica.bytes), .text(token),
        .integer(Int64(clamping: value.length)))
      return id
    }

    func add(_ bytes: Data, at first: Int, of row: UUID) throws {
      try PostgresLargeValues.add(bytes, at: first, of: row, zone: zone.id, on: connection)
      try connection.run(
        "UPDATE value SET held = $3 WHERE zone = $1 AND id = $2", zoneID, .uuid(row),
        .integer(Int64(first + bytes.count)))
    }

    func renewLease(of row: UUID, until milliseconds: Int64) throws -> Bool {
      try connection.run(
        "UPDATE value SET lease_ms = greatest(lease_ms, $3) WHERE zone = $1 AND id = $2", zoneID,
        .uuid(row), .integer(milliseconds)
      ).changes == 1
    }

    func hasUploads(of digest: Data) throws -> Bool {
      try connection.run(
        """
        SELECT EXISTS(SELECT 1 FROM value
          WHERE zone = $1 AND digest = $2 AND replica <> ''::bytea)
        """, zoneID, .blob(digest)
      ).bool(0, 0)
    }

    func dropUploads(of digest: Data) throws {
      let rows = try connection.run(
        """
        DELETE FROM value WHERE zone = $1 AND digest = $2 AND replica <> ''::bytea RETURNING id
        """, zoneID, .blob(digest))
      gone += (0..<rows.count).compactMap { rows.uuid($0, 0) }
    }

    func makeWhole(_ row: UUID) throws {
      try connection.run(
        "UPDATE value SET replica = ''::bytea WHERE zone = $1 AND id = $2", zoneID, .uuid(row))
    }

    func remove(_ row: UUID) throws {
      try connection.run("DELETE FROM value WHERE zone = $1 AND id = $2", zoneID, .uuid(row))
      gone.append(row)
    }

    /// Their sum as far as numbers go.
    private static let lengths =
      "SELECT least(coalesce(sum(length), 0), \(Int64.max))::bigint FROM value"

    func declaredBytes() throws -> Int64 {
      try connection.run(
        "\(Self.lengths) WHERE zone = $1", zoneID
      ).int64(0, 0)
    }

    func unnamedBytes(inAll: Bool, token: String?) throws -> Int {
      let sum = "\(Self.lengths) WHERE token <> ''"
      let rows =
        if inAll {
          try connection.run(sum)
        } else if let token {
          try connection.run(sum + " AND zone = $1 AND token = $2", zoneID, .text(token))
        } else {
          try connection.run(sum + " AND zone = $1", zoneID)
        }
      return Int(clamping: rows.int64(0, 0))
    }

    func collect(at milliseconds: Int64) throws -> Bool {
      try PostgresLargeValues.collect(
        at: milliseconds, first: zone.id, isPatient: { waits && $0 == zone.id }, on: connection)
    }

    // MARK: - What is named

    func isNamed(_ digest: Data) throws -> Bool {
      try connection.run(
        "SELECT EXISTS(SELECT 1 FROM value_use WHERE zone = $1 AND digest = $2)", zoneID,
        .blob(digest)
      ).bool(0, 0)
    }

    func keepNamed(_ value: LargeValue) throws {
      try PostgresLargeValues.keepNamed([value], zone: zone.id, on: connection)
    }

    func isLost(_ value: LargeValue) throws -> Bool {
      try connection.run(
        """
        SELECT EXISTS(SELECT 1 FROM value_lost
          WHERE zone = $1 AND digest = $2 AND length = $3)
        """, zoneID, .blob(value.digest), .integer(Int64(clamping: value.length))
      ).bool(0, 0)
    }

    func noteLost(_ value: LargeValue) throws {
      try PostgresLargeValues.noteLost([value], zone: zone.id, on: connection)
    }

    func forgetLost(_ digest: Data) throws {
      try connection.run(
        "DELETE FROM value_lost WHERE zone = $1 AND digest = $2", zoneID, .blob(digest))
    }

    func lost(after digest: Data, countMax: Int) throws -> [LargeValue] {
      let rows = try connection.run(
        """
        SELECT digest, length FROM value_lost WHERE zone = $1 AND digest > $2
        ORDER BY digest LIMIT $3
        """, zoneID, .blob(digest), .integer(Int64(countMax)))
      return (0..<rows.count).compactMap {
        LargeValue(digest: rows.data($0, 0), length: rows.uint64($0, 1))
      }
    }

    // MARK: - What is there

    func missing(_ values: [LargeValue]) throws -> [LargeValue] {
      try PostgresLargeValues.missing(values, zone: zone.id, on: connection)
    }

    func unnamed(_ values: [LargeValue]) throws -> [UUID] {
      try PostgresLargeValues.unnamed(values, zone: zone.id, on: connection)
    }

    func whole(_ digest: Data) throws -> (row: UUID, length: Int64)? {
      let rows = try connection.run(
        "SELECT id, length FROM value WHERE zone = $1 AND digest = $2 AND replica = ''::bytea",
        zoneID, .blob(digest))
      guard rows.count > 0, let id = rows.uuid(0, 0) else { return nil }
      return (id, rows.int64(0, 1))
    }

    func piece(of digest: Data, first: Int, count: Int) throws -> Data? {
      let size = LargeValue.pieceBytesMax
      let rows = try connection.run(
        """
        SELECT substring(piece.bytes FROM ($4::bigint)::integer FOR ($5::bigint)::integer)
        FROM value LEFT JOIN value_piece AS piece
          ON piece.zone = value.zone AND piece.value = value.id AND piece.first = $3
        WHERE value.zone = $1 AND value.digest = $2 AND value.replica = ''::bytea
        """, zoneID, .blob(digest), .integer(Int64(first / size * size)),
        .integer(Int64(first % size + 1)), .integer(Int64(min(count, size))))
      return rows.count > 0 ? rows.data(0, 0) : nil
    }

    func piece(of row: UUID, first: Int) throws -> Data {
      try PostgresLargeValues.piece(of: row, first: first, zone: zone.id, on: connection)
    }
  }

  extension PostgresConnection {
    private static let briefly = 250

    /// Runs `body`, in which a row that another holds is waited for a quarter of a second. The connection is for others then: it may
    /// be held for much longer.
    ///
    /// - Throws: `PostgresValueTables.IsHeld` where it is held for longer, and what `body` throws.
    func waitingBriefly<Result>(_ body: (PostgresConnection) throws -> Result) throws -> Result {
      try execute("SET lock_timeout = \(Self.briefly)")
      defer { if !isBroken { try? execute("SET lock_timeout = DEFAULT") } }
      do {
        return try body(self)
      } catch let error as PostgresError where error.sqlState == "55P03" {
        throw PostgresValueTables.IsHeld()
      }
    }
  }
#endif
