import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What a purge asks and writes of a zone in a file.
struct SQLitePurgeTables: PurgeTables {
  let administration: Administration
  let zone: ZoneRecord

  private var connection: SQLiteConnection { administration.connection }

  private func position(_ sequence: UInt64) -> SQLiteValue {
    .integer(LogPosition.of(zone: zone.id, number: sequence))
  }

  /// Behind the zone's last entry.
  private var end: SQLiteValue { .integer(LogPosition.of(zone: zone.id &+ 1, number: 0)) }

  // MARK: - What keeps the floor down

  func firstEntry(
    from first: UInt64, before end: UInt64, since milliseconds: Int64
  ) throws -> UInt64? {
    let young = try connection.scalar(
      "SELECT min(position) FROM log WHERE position >= ? AND position < ? AND received_ms >= ?",
      position(first), end < LogBounds.numberMax ? position(end) : self.end,
      .integer(milliseconds))
    guard case .integer(let position)? = young else { return nil }
    return LogPosition.number(position)
  }

  func leaps(
    over longest: Int64, until milliseconds: Int64
  ) throws -> [(sequence: UInt64, milliseconds: Int64)] {
    try connection.rows(
      """
      SELECT position, span FROM (
        SELECT position, received_ms, received_ms - lag(received_ms) OVER (ORDER BY position) AS span
        FROM log WHERE position > ? AND position < ?)
      WHERE span > ? AND received_ms <= ?
      """, position(0), end, .integer(longest), .integer(milliseconds)
    ).compactMap {
      guard case .integer(let position) = $0[0], case .integer(let span) = $0[1] else { return nil }
      return (LogPosition.number(position), span)
    }
  }

  func lastSeen() throws -> Int64? {
    try integer("SELECT max(seen_ms) FROM sighting WHERE zone = ?", .integer(zone.id))
  }

  func slowestPlace(since milliseconds: Int64) throws -> UInt64? {
    try integer(
      "SELECT min(coalesce(asked, cursor)) FROM sighting WHERE zone = ? AND seen_ms >= ?",
      .integer(zone.id), .integer(milliseconds)
    ).map { UInt64(clamping: $0) }
  }

  func lastPushesOfUnseen(since milliseconds: Int64) throws -> [Data] {
    try blobs(
      """
      SELECT log.header FROM replica JOIN log ON log.replica = replica.id
        AND log.number = replica.last_push
      WHERE replica.zone = ?1 AND log.received_ms >= ?2
        AND replica.uuid NOT IN (SELECT replica FROM sighting WHERE zone = ?1)
        AND replica.uuid NOT IN (SELECT replica FROM forgotten_replica WHERE zone = ?1)
      """, .integer(zone.id), .integer(milliseconds))
  }

  func stagedParts(since milliseconds: Int64) throws -> [Data] {
    try blobs(
      """
      SELECT \(StagedHeads.header) FROM staged WHERE zone = ? AND replica NOT IN
        (SELECT replica FROM staging WHERE touched_ms < ?)
      """, .integer(zone.id), .integer(milliseconds))
  }

  func headers(
    after first: UInt64, through last: UInt64, countMax: Int
  ) throws -> [(sequence: UInt64, header: Data)] {
    let statement = try connection.prepare(
      """
      SELECT position, header FROM log WHERE position > ? AND position <= ? AND position < ?
      ORDER BY position DESC LIMIT ?
      """)
    defer { statement.reset() }
    statement.bind([position(first), position(last), end, .integer(Int64(countMax))])
    var headers: [(UInt64, Data)] = []
    while try statement.step() {
      headers.append((LogPosition.number(statement.int64(0)), statement.data(1)))
    }
    return headers
  }

  private func integer(_ sql: String, _ values: SQLiteValue...) throws -> Int64? {
    let statement = try connection.prepare(sql)
    defer { statement.reset() }
    statement.bind(values)
    return try statement.step() && !statement.isNull(0) ? statement.int64(0) : nil
  }

  private func blobs(_ sql: String, _ values: SQLiteValue...) throws -> [Data] {
    let statement = try connection.prepare(sql)
    defer { statement.reset() }
    statement.bind(values)
    var blobs: [Data] = []
    while try statement.step() { blobs.append(statement.data(0)) }
    return blobs
  }

  // MARK: - What is told

  func place(at sequence: UInt64) throws -> LogMark? {
    try connection.place(at: sequence, of: zone)
  }

  func sum(after first: UInt64, through last: UInt64) throws -> (entries: Int, bytes: Int64) {
    let log = try connection.prepare(
      "SELECT count(*), cast(total(size) AS INTEGER) FROM log WHERE position > ? AND position <= ?")
    defer { log.reset() }
    log.bind([position(first), position(last)])
    _ = try log.step()
    return (Int(log.int64(0)), log.int64(1))
  }

  func replicas() throws -> [ReplicaReport] { try administration.replicaReports(of: zone) }

  // MARK: - What stands for what goes

  func floor() throws -> UInt64 { try PurgedLog.floor(of: zone, on: connection) }

  func row() throws -> PurgeRow? { try PurgedLog.row(of: zone, on: connection) }

  func keep(_ bytes: Data, as name: String) throws {
    try PurgedLog.keep(bytes, as: name, of: zone, on: connection)
  }

  func bytes(of name: String) throws -> Data? {
    try PurgedLog.bytes(of: name, of: zone, on: connection)
  }

  func size(of name: String) throws -> Int? {
    try integer(
      "SELECT length(bytes) FROM purge_file WHERE zone = ? AND name = ?", .integer(zone.id),
      .text(name)
    ).map { Int($0) }
  }

  func setFloor(_ floor: UInt64, _ snapshot: Snapshot, at milliseconds: Int64) throws {
    try PurgedLog.setFloor(floor, snapshot, of: zone, at: milliseconds, on: connection)
  }

  func use(_ values: [LargeValue], at milliseconds: Int64) throws {
    try LargeValues.use(values, bySnapshotOf: zone.id, at: milliseconds, on: connection)
  }

  func note(_ detail: String) throws {
    try administration.note(.zonePurged, zone: zone.name, nil, detail)
  }

  // MARK: - What goes

  func stripEntries(countMax: Int64, bytesMax: Int64) throws -> Bool {
    try PurgedLog.strip(zone, entriesMax: countMax, bytesMax: bytesMax, on: connection)
  }

  func forgetUses(countMax: Int64, at milliseconds: Int64) throws -> Bool {
    try LargeValues.forgetUses(
      through: floor(), zone: zone.id, countMax: countMax, at: milliseconds, on: connection)
  }

  func collectValues(at milliseconds: Int64) throws -> Bool {
    try LargeValues.collectWithin(at: milliseconds, first: zone.id, on: connection)
  }

  func dropUnnamedFile() throws -> Bool {
    try PurgedLog.dropUnnamedFile(of: zone, on: connection)
  }

  func isUnfinished() throws -> Bool {
    try PurgedLog.isUnfinished(zone, on: connection)
      || LargeValues.areUsed(through: floor(), zone: zone.id, on: connection)
  }
}
