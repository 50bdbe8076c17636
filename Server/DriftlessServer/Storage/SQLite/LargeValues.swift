import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Owns the tables `value`, `value_piece`, `value_use` and `value_lost`: large values of zones, and what is there of those that
/// come. What names them is in `LargeValues+Uses.swift`, the rules in `ValueIntake`.
enum LargeValues {
  static let statement = """
    CREATE TABLE IF NOT EXISTS value(
      id INTEGER PRIMARY KEY, zone INTEGER NOT NULL, digest BLOB NOT NULL, replica BLOB NOT NULL,
      token TEXT NOT NULL, length INTEGER NOT NULL, held INTEGER NOT NULL,
      lease_ms INTEGER NOT NULL, UNIQUE(zone, digest, replica));
    CREATE INDEX IF NOT EXISTS value_lease ON value(lease_ms);
    CREATE INDEX IF NOT EXISTS value_unnamed ON value(zone, token, length) WHERE token <> '';
    CREATE TABLE IF NOT EXISTS value_piece(
      value INTEGER NOT NULL, first INTEGER NOT NULL, bytes BLOB NOT NULL,
      PRIMARY KEY(value, first));
    \(useStatement)
    """

  /// In place of a replica: the value is whole, and the zone's.
  static let whole = SQLiteValue.blob(Data())
  /// In place of a zone: nobody wants the value any more, and its bytes go some at a time (`sweep`).
  private static let nowhere = SQLiteValue.integer(0)
  private static let isUnnamed = """
    NOT EXISTS (SELECT 1 FROM value_use
      WHERE value_use.zone = value.zone AND value_use.digest = value.digest)
    """
  /// So many values that nobody wants any more are given up in one transaction, and so many pieces go in one.
  private static let collectedMax = 256
  private static let piecesAtOnce: Int64 = 16

  // MARK: - What comes

  /// What is here of a value, one replica's upload or the whole; nil when nothing is.
  static func row(
    of value: LargeValue, zone: Int64, replica: SQLiteValue, on connection: SQLiteConnection
  ) throws -> (id: Int64, held: Int)? {
    let statement = try connection.prepare(
      "SELECT id, held, length FROM value WHERE zone = ? AND digest = ? AND replica = ?")
    defer { statement.reset() }
    statement.bind([.integer(zone), .blob(value.digest), replica])
    guard try statement.step() else { return nil }
    guard statement.int64(2) == Int64(clamping: value.length) else {
      throw ProtocolError.malformed("The value \(value.name) has another length than it says")
    }
    return (statement.int64(0), Int(clamping: statement.int64(1)))
  }

  static func begin(
    _ value: LargeValue, zone: Int64, replica: UUID, token: String,
    on connection: SQLiteConnection
  ) throws -> Int64 {
    try connection.run(
      """
      INSERT INTO value(zone, digest, replica, token, length, held, lease_ms)
      VALUES(?, ?, ?, ?, ?, 0, 0)
      """, .integer(zone), .blob(value.digest), .blob(replica.bytes), .text(token),
      .integer(Int64(clamping: value.length)))
    return connection.lastInsertRowID
  }

  static func renewLease(
    of id: Int64, until milliseconds: Int64, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "UPDATE value SET lease_ms = max(lease_ms, ?) WHERE id = ?", .integer(milliseconds),
      .integer(id))
  }

  static func add(
    _ bytes: Data, at first: Int, of id: Int64, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "INSERT INTO value_piece VALUES(?, ?, ?)", .integer(id), .integer(Int64(first)),
      .blob(bytes))
    try connection.run(
      "UPDATE value SET held = ? WHERE id = ?", .integer(Int64(first + bytes.count)), .integer(id))
  }

  /// An upload becomes the zone's value.
  static func makeWhole(_ id: Int64, on connection: SQLiteConnection) throws {
    try connection.run("UPDATE value SET replica = x'' WHERE id = ?", .integer(id))
  }

  /// A whole value, of which all pieces are to come.
  static func insertWhole(
    digest: Data, zone: Int64, token: String, length: Int64, leaseMilliseconds: Int64,
    on connection: SQLiteConnection
  ) throws -> Int64 {
    try connection.run(
      """
      INSERT INTO value(zone, digest, replica, token, length, held, lease_ms)
      VALUES(?, ?, x'', ?, ?, 0, ?)
      """, .integer(zone), .blob(digest), .text(token), .integer(length),
      .integer(leaseMilliseconds))
    return connection.lastInsertRowID
  }

  /// What a log names stays, whatever its lease was, and takes nobody's room.
  static func keepNamed(
    _ value: LargeValue, zone: Int64, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "UPDATE value SET lease_ms = ?, token = ? WHERE zone = ? AND digest = ? AND replica = x''",
      .integer(.max), .text(ValueLease.nobody), .integer(zone), .blob(value.digest))
  }

  /// It is nobody's any more, and takes nobody's room.
  static func giveUp(_ id: Int64, on connection: SQLiteConnection) throws {
    try connection.run(
      """
      UPDATE value SET zone = ?, replica = ?, token = ?, length = 0, held = 0, lease_ms = 0
      WHERE id = ?
      """, nowhere, .blob(UUID().bytes), .text(ValueLease.nobody), .integer(id))
  }

  /// What replicas have sent of a value that are no whole.
  static func uploads(
    of digest: Data, zone: Int64, on connection: SQLiteConnection
  ) throws -> [Int64] {
    try connection.rows(
      "SELECT id FROM value WHERE zone = ? AND digest = ? AND replica <> x''", .integer(zone),
      .blob(digest)
    ).compactMap { if case .integer(let id) = $0[0] { id } else { nil } }
  }

  /// Bytes that are waited for, or wait to be named: in a zone or in all, of a token or of any.
  static func unnamedBytes(
    of zone: Int64?, token: String?, on connection: SQLiteConnection
  ) throws -> Int {
    let bytes = try connection.scalar(
      """
      SELECT CAST(total(length) AS INTEGER) FROM value
      WHERE (?1 IS NULL OR zone = ?1) AND (?2 IS NULL OR token = ?2) AND token <> ''
      """, zone.map { .integer($0) } ?? .null, token.map { .text($0) } ?? .null)
    guard case .integer(let bytes)? = bytes else { return 0 }
    return Int(clamping: bytes)
  }

  // MARK: - What is there

  static func missing(
    _ values: [LargeValue], zone: Int64, on connection: SQLiteConnection
  ) throws -> [LargeValue] {
    try values.filter {
      try row(of: $0, zone: zone, replica: whole, on: connection) == nil
    }
  }

  /// A whole value; nil where the zone does not have it.
  static func whole(
    _ digest: Data, zone: Int64, on connection: SQLiteConnection
  ) throws -> (id: Int64, length: Int64)? {
    let statement = try connection.prepare(
      "SELECT id, length FROM value WHERE zone = ? AND digest = ? AND replica = x''")
    defer { statement.reset() }
    statement.bind([.integer(zone), .blob(digest)])
    return try statement.step() ? (statement.int64(0), statement.int64(1)) : nil
  }

  /// Some bytes of a whole value, up to the end of a piece; nil when the zone does not have it.
  static func piece(
    of digest: Data, zone: Int64, first: Int, count: Int, on connection: SQLiteConnection
  ) throws -> Data? {
    let size = LargeValue.pieceBytesMax
    let statement = try connection.prepare(
      """
      SELECT substr(value_piece.bytes, ?, ?) FROM value
      LEFT JOIN value_piece ON value_piece.value = value.id AND value_piece.first = ?
      WHERE zone = ? AND digest = ? AND replica = x''
      """)
    defer { statement.reset() }
    statement.bind([
      .integer(Int64(first % size) + 1), .integer(Int64(min(count, size))),
      .integer(Int64(first / size * size)), .integer(zone), .blob(digest),
    ])
    return try statement.step() ? statement.data(0) : nil
  }

  /// The bytes of an upload from one piece on; empty at its end.
  static func piece(
    of id: Int64, first: Int, on connection: SQLiteConnection
  ) throws -> Data {
    let bytes = try connection.scalar(
      "SELECT bytes FROM value_piece WHERE value = ? AND first = ?", .integer(id),
      .integer(Int64(first)))
    guard case .blob(let bytes)? = bytes else { return Data() }
    return bytes
  }

  /// Bytes that a zone's values have, with what is to come of those that are on their way.
  static func declaredBytes(of zone: Int64, on connection: SQLiteConnection) throws -> Int64 {
    let bytes = try connection.scalar(
      "SELECT CAST(total(length) AS INTEGER) FROM value WHERE zone = ?", .integer(zone))
    guard case .integer(let bytes)? = bytes else { return 0 }
    return bytes
  }

  /// What a zone has whole, and its log names.
  static func named(of zone: Int64, on connection: SQLiteConnection) throws -> NamedValues {
    let row = try connection.rows(
      """
      SELECT count(*), CAST(total(length) AS INTEGER) FROM value
      WHERE zone = ? AND replica = x'' AND NOT \(isUnnamed)
      """, .integer(zone)
    ).first
    guard case .integer(let count)? = row?[0], case .integer(let bytes)? = row?[1] else {
      return NamedValues(count: 0, bytes: 0)
    }
    return NamedValues(count: count, bytes: bytes)
  }

  /// Values that a zone has whole and its log names, in the order of their digests, after one: so each page is read off the index.
  static func namedPage(
    of zone: Int64, after digest: Data, countMax: Int64, on connection: SQLiteConnection
  ) throws -> [(digest: Data, length: Int64, row: Int64)] {
    let statement = try connection.prepare(
      """
      SELECT digest, length, id FROM value
      WHERE zone = ? AND digest > ? AND replica = x'' AND NOT \(isUnnamed)
      ORDER BY digest LIMIT ?
      """)
    defer { statement.reset() }
    statement.bind([.integer(zone), .blob(digest), .integer(countMax)])
    var rows: [(Data, Int64, Int64)] = []
    while try statement.step() {
      rows.append((statement.data(0), statement.int64(1), statement.int64(2)))
    }
    return rows
  }

  /// Bytes of values: of a zone or of all; all of them, or those that nothing names.
  static func bytes(
    of zone: Int64?, isUnnamed: Bool = false, on connection: SQLiteConnection
  ) throws -> Int64 {
    let condition = isUnnamed ? Self.isUnnamed : "1"
    let bytes = try connection.scalar(
      """
      SELECT coalesce(sum(held), 0) FROM value WHERE (?1 IS NULL OR zone = ?1) AND \(condition)
      """, zone.map { .integer($0) } ?? .null)
    guard case .integer(let bytes)? = bytes else { return 0 }
    return bytes
  }

  // MARK: - What goes

  /// Lets go of some values that no entry names and nobody waits for any more, and of uploads that nobody goes on with: of this
  /// zone first, in a transaction of its own. And of some bytes of those that were given up.
  ///
  /// - Returns: whether room was made for others, and whether there may be more to let go of.
  static func collect(
    at milliseconds: Int64, first zone: Int64, on connection: SQLiteConnection
  ) throws -> (isRoomMade: Bool, mayHaveMore: Bool) {
    let gone = try unwanted(at: milliseconds, first: zone, on: connection)
    let isLeft = try connection.scalar("SELECT 1 FROM value WHERE zone = ?", nowhere) != nil
    guard !gone.isEmpty || isLeft else { return (false, false) }
    try connection.transaction(.immediate) {
      for id in gone { try giveUp(id, on: connection) }
      _ = try sweep(on: connection)
    }
    return (!gone.isEmpty, true)
  }

  /// The same within a transaction.
  ///
  /// - Returns: whether there may be more.
  static func collectWithin(
    at milliseconds: Int64, first zone: Int64, on connection: SQLiteConnection
  ) throws -> Bool {
    for id in try unwanted(at: milliseconds, first: zone, on: connection) {
      try giveUp(id, on: connection)
    }
    return try sweep(on: connection)
  }

  /// Lets go of some bytes that are nobody's: however large values are, others wait for no more.
  ///
  /// - Returns: whether some went.
  private static func sweep(on connection: SQLiteConnection) throws -> Bool {
    var left = piecesAtOnce
    while left > 0,
      case .integer(let id)? = try connection.scalar("SELECT id FROM value WHERE zone = ?", nowhere)
    {
      try connection.leavingPages {
        try connection.run(
          """
          DELETE FROM value_piece WHERE rowid IN (
            SELECT rowid FROM value_piece WHERE value = ? ORDER BY first LIMIT ?)
          """, .integer(id), .integer(left))
      }
      // An empty one counts as well.
      left -= max(1, Int64(connection.changes))
      let hasMore = try connection.scalar("SELECT 1 FROM value_piece WHERE value = ?", .integer(id))
      if hasMore == nil { try connection.run("DELETE FROM value WHERE id = ?", .integer(id)) }
    }
    return left < piecesAtOnce
  }

  private static func unwanted(
    at milliseconds: Int64, first zone: Int64, on connection: SQLiteConnection
  ) throws -> [Int64] {
    let statement = try connection.prepare(
      """
      SELECT id FROM value WHERE lease_ms < ?1 AND zone <> 0 AND (replica <> x'' OR \(isUnnamed))
      ORDER BY \(zone > 0 ? "zone <> ?2" : "?2, lease_ms") LIMIT ?3
      """)
    statement.bind([.integer(milliseconds), .integer(zone), .integer(Int64(collectedMax))])
    var gone: [Int64] = []
    while try statement.step() { gone.append(statement.int64(0)) }
    statement.reset()
    return gone
  }

  /// Gives up some values of a zone that is deleted, and lets go of some bytes of those that were given up.
  ///
  /// - Returns: whether there may be more.
  static func giveUpSome(of zone: Int64, on connection: SQLiteConnection) throws -> Bool {
    let ids = try connection.rows(
      "SELECT id FROM value WHERE zone = ? LIMIT ?", .integer(zone), .integer(Int64(collectedMax)))
    for case .integer(let id) in ids.map(\.[0]) { try giveUp(id, on: connection) }
    return try sweep(on: connection) || !ids.isEmpty
  }

  /// Values that are not whole are sent again.
  static func dropUploads(on connection: SQLiteConnection) throws {
    try connection.execute(
      """
      DELETE FROM value_piece WHERE value IN (SELECT id FROM value WHERE replica <> x'');
      DELETE FROM value WHERE replica <> x''
      """)
  }
}

extension SQLiteZoneTables {
  func missing(_ values: [LargeValue], zone: Int64) throws -> [LargeValue] {
    try LargeValues.missing(values, zone: zone, on: connection)
  }

  func use(_ values: [LargeValue], zone: Int64, sequence: UInt64) throws {
    try LargeValues.use(values, zone: zone, sequence: sequence, on: connection)
  }
}
