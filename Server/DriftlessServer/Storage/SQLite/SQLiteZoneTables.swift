import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What the rules of a push read and write, in the transaction of a connection: a row at a time, by statements that are
/// prepared once a transaction.
final class SQLiteZoneTables: ZoneTables {
  let connection: SQLiteConnection
  private let properties = PropertyNames()
  private var readObject: SQLiteStatement?
  private var writeObject: SQLiteStatement?
  private var nameObject: SQLiteStatement?
  private var runBefore: SQLiteStatement?
  private var runInside: SQLiteStatement?
  private var insertRun: SQLiteStatement?
  var stagedSums = StagedSums()

  init(_ connection: SQLiteConnection) { self.connection = connection }

  /// The transaction went back to a savepoint: what is remembered of it may not be there.
  func forget() {
    properties.forget()
    stagedSums.forget()
  }

  /// Rows are read one by one, when they are asked for.
  func ready(for part: Push) {}

  private func prepared(_ place: inout SQLiteStatement?, _ sql: String) throws -> SQLiteStatement {
    if let statement = place { return statement }
    let statement = try connection.prepare(sql)
    place = statement
    return statement
  }

  func zone(named name: String) throws -> ZoneRecord? { try connection.zone(named: name) }

  func place(at sequence: UInt64, of zone: ZoneRecord) throws -> LogMark? {
    try connection.place(at: sequence, of: zone)
  }

  // MARK: - Objects

  func property(_ name: String, zone: Int64, most: Int) throws -> UInt64 {
    try properties.id(of: name, zone: zone, most: most, in: connection)
  }

  func object(_ number: UInt64, zone: Int64) throws -> ObjectState {
    let read = try prepared(
      &readObject,
      """
      SELECT base, deleted, properties, named, named_by, named_before FROM object
      WHERE position = ?
      """)
    defer { read.reset() }
    read.bind(LogPosition.of(zone: zone, number: number), at: 1)
    guard try read.step() else { return ObjectState() }
    return ObjectState(
      base: UInt64(clamping: read.int64(0)), deleted: UInt64(clamping: read.int64(1)),
      properties: try PropertySequences(encoded: read.data(2)),
      named: UInt64(clamping: read.int64(3)), namedBy: read.int64(4),
      namedBefore: UInt64(clamping: read.int64(5)))
  }

  func set(_ number: UInt64, to state: ObjectState, zone: Int64) throws {
    let write = try prepared(
      &writeObject, "INSERT OR REPLACE INTO object VALUES(?, ?, ?, ?, ?, ?, ?)")
    defer { write.reset() }
    write.bind(LogPosition.of(zone: zone, number: number), at: 1)
    write.bind(Int64(clamping: state.base), at: 2)
    write.bind(Int64(clamping: state.deleted), at: 3)
    write.bind(state.properties.encoded, at: 4)
    write.bind(Int64(clamping: state.named), at: 5)
    write.bind(state.namedBy, at: 6)
    write.bind(Int64(clamping: state.namedBefore), at: 7)
    try write.run()
  }

  func name(_ number: UInt64, zone: Int64, sequence: UInt64, by replica: Int64) throws -> UInt64 {
    let write = try prepared(
      &nameObject,
      """
      INSERT INTO object VALUES(?1, 0, 0, x'', ?2, ?3, 0)
      ON CONFLICT(position) DO UPDATE SET
        named_before = CASE WHEN named_by = ?3 THEN named_before ELSE named END,
        named = ?2, named_by = ?3
      RETURNING deleted
      """)
    defer { write.reset() }
    write.bind(LogPosition.of(zone: zone, number: number), at: 1)
    write.bind(Int64(clamping: sequence), at: 2)
    write.bind(replica, at: 3)
    let deleted = try write.step() ? UInt64(clamping: write.int64(0)) : 0
    // The statement writes when it ends.
    while try write.step() {}
    return deleted
  }

  // MARK: - Identities

  func run(atOrBefore identity: UUID, zone: Int64) throws -> KnownRun? {
    let before = try prepared(
      &runBefore,
      """
      SELECT first, count, number FROM identity WHERE zone = ? AND first <= ?
      ORDER BY first DESC LIMIT 1
      """)
    defer { before.reset() }
    before.bind(zone, at: 1)
    before.bind(identity, at: 2)
    guard try before.step(), let first = before.uuid(0) else { return nil }
    return KnownRun(
      first: first, count: UInt64(clamping: before.int64(1)),
      number: UInt64(clamping: before.int64(2)))
  }

  func number(after identity: UUID, through last: UUID, zone: Int64) throws -> UInt64? {
    let inside = try prepared(
      &runInside, "SELECT number FROM identity WHERE zone = ? AND first > ? AND first <= ? LIMIT 1")
    defer { inside.reset() }
    inside.bind(zone, at: 1)
    inside.bind(identity, at: 2)
    inside.bind(last, at: 3)
    return try inside.step() ? UInt64(clamping: inside.int64(0)) : nil
  }

  func insert(_ run: KnownRun, zone: Int64) throws {
    let insert = try prepared(&insertRun, "INSERT INTO identity VALUES(?, ?, ?, ?)")
    defer { insert.reset() }
    insert.bind(zone, at: 1)
    insert.bind(run.first, at: 2)
    insert.bind(Int64(clamping: run.count), at: 3)
    insert.bind(Int64(clamping: run.number), at: 4)
    try insert.run()
  }

  func hasTombstones(zone: Int64) throws -> Bool {
    try hasRow("SELECT 1 FROM tombstone WHERE zone = ? LIMIT 1", zone)
  }

  func tombstones(
    from first: UUID, through last: UUID, after sequence: UInt64, zone: Int64
  ) throws -> [UInt64] {
    let inside = try connection.prepare(
      "SELECT sequence FROM tombstone WHERE zone = ? AND identity BETWEEN ? AND ? AND sequence > ?")
    defer { inside.reset() }
    inside.bind(zone, at: 1)
    inside.bind(first, at: 2)
    inside.bind(last, at: 3)
    inside.bind(Int64(clamping: sequence), at: 4)
    var sequences: [UInt64] = []
    while try inside.step() { sequences.append(UInt64(clamping: inside.int64(0))) }
    return sequences
  }

  func bury(_ identity: UUID, sequence: UInt64, zone: Int64) throws {
    try connection.run(
      "INSERT OR REPLACE INTO tombstone VALUES(?, ?, ?)", .integer(zone), .blob(identity.bytes),
      .integer(Int64(clamping: sequence)))
  }

  // MARK: - Unique keys

  func hasClaims(zone: Int64) throws -> Bool {
    try hasRow("SELECT 1 FROM claim WHERE zone = ? LIMIT 1", zone)
  }

  func keys(of object: UInt64, zone: Int64) throws -> [(hash: Data, constraint: ZoneConstraint)] {
    let statement = try connection.prepare(
      """
      SELECT claim.hash, key_rule.name FROM claim JOIN key_rule ON key_rule.id = claim.rule
      WHERE claim.zone = ? AND claim.object = ?
      """)
    defer { statement.reset() }
    statement.bind(zone, at: 1)
    statement.bind(Int64(clamping: object), at: 2)
    var keys: [(Data, ZoneConstraint)] = []
    while try statement.step() {
      keys.append((statement.data(0), try ConstraintText.constraint(statement.string(1))))
    }
    return keys
  }

  func letGo(_ hash: Data, zone: Int64) throws {
    try connection.run(
      "DELETE FROM claim WHERE zone = ? AND hash = ?", .integer(zone), .blob(hash))
  }

  func take(
    _ hash: Data, for object: UInt64, under constraint: ZoneConstraint, zone: Int64
  ) throws -> UInt64? {
    try connection.run(
      "INSERT OR IGNORE INTO claim VALUES(?, ?, ?, ?)", .integer(zone), .blob(hash),
      .integer(Int64(clamping: object)), .integer(rule(of: constraint)))
    guard connection.changes == 0 else { return nil }
    let holder = try connection.scalar(
      "SELECT object FROM claim WHERE zone = ? AND hash = ?", .integer(zone), .blob(hash))
    guard case .integer(let number)? = holder else { return nil }
    return UInt64(clamping: number)
  }

  private func rule(of constraint: ZoneConstraint) throws -> Int64 {
    let name = try ConstraintText.of(constraint)
    let known = try connection.scalar("SELECT id FROM key_rule WHERE name = ?", .text(name))
    if case .integer(let id)? = known { return id }
    try connection.run("INSERT INTO key_rule(name) VALUES(?)", .text(name))
    return connection.lastInsertRowID
  }

  private func hasRow(_ sql: String, _ zone: Int64) throws -> Bool {
    let any = try connection.prepare(sql)
    defer { any.reset() }
    any.bind(zone, at: 1)
    return try any.step()
  }
}
