import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Reads of zones, tokens and logs.
extension SQLiteConnection {
  /// Those that are there. It ends in a condition, to which others are added by AND.
  private static let selectZones = """
    SELECT id, name, uuid, generation, head, chain, parent_generation, parent_sequence,
      parent_chain, intent, format_level, next_object, newest_ms, replacements,
      \(ZoneBounds.column) FROM zone WHERE \(LeavingZones.isThere)
    """

  func zone(named name: String) throws -> ZoneRecord? {
    let statement = try prepare(Self.selectZones + " AND name = ?")
    defer { statement.reset() }
    statement.bind(name, at: 1)
    return try statement.step() ? try zoneRecord(statement) : nil
  }

  func zone(id: Int64) throws -> ZoneRecord? {
    let statement = try prepare(Self.selectZones + " AND id = ?")
    defer { statement.reset() }
    statement.bind(id, at: 1)
    return try statement.step() ? try zoneRecord(statement) : nil
  }

  /// The zone as it is now, whatever its name became.
  func current(_ zone: ZoneRecord) throws -> ZoneRecord {
    let statement = try prepare(Self.selectZones + " AND uuid = ?")
    defer { statement.reset() }
    statement.bind(zone.zoneID.bytes, at: 1)
    guard try statement.step() else { throw ServerError.noZone(zone.name) }
    return try zoneRecord(statement)
  }

  func zones() throws -> [ZoneRecord] {
    let statement = try prepare(Self.selectZones + " ORDER BY name")
    defer { statement.reset() }
    var zones: [ZoneRecord] = []
    while try statement.step() { zones.append(try zoneRecord(statement)) }
    return zones
  }

  /// Zones by name, from one on.
  func zones(from name: String, count: Int) throws -> [ZoneRecord] {
    let statement = try prepare(Self.selectZones + " AND name >= ? ORDER BY name LIMIT ?")
    defer { statement.reset() }
    statement.bind([.text(name), .integer(Int64(count))])
    var zones: [ZoneRecord] = []
    while try statement.step() { zones.append(try zoneRecord(statement)) }
    return zones
  }

  /// Those of all zones, read whatever else of them is damaged.
  func generations() throws -> Set<UUID> {
    let statement = try prepare("SELECT generation FROM zone WHERE \(LeavingZones.isThere)")
    defer { statement.reset() }
    var generations: Set<UUID> = []
    while try statement.step() {
      if let generation = UUID(bytes: statement.data(0)) { generations.insert(generation) }
    }
    return generations
  }

  private func zoneRecord(_ statement: SQLiteStatement) throws -> ZoneRecord {
    guard let zoneID = UUID(bytes: statement.data(2)),
      let generation = UUID(bytes: statement.data(3)),
      let chain = LogChain(bytes: statement.data(5))
    else {
      throw ServerError(
        .storage, "the record of zone \(statement.string(1)) is damaged",
        suggestion: "Restore the database from its backup.")
    }
    let noted = ZoneLimitRows(statement.isNull(14) ? nil : statement.string(14))
    return ZoneRecord(
      id: statement.int64(0), name: statement.string(1), zoneID: zoneID, generation: generation,
      parent: try zoneParent(statement),
      intent: ZoneIntent(rawValue: statement.string(9)) ?? .offer,
      replacements: statement.data(13).uuids,
      formatLevel: UInt16(clamping: statement.int64(10)),
      head: UInt64(clamping: statement.int64(4)), chain: chain,
      nextObject: UInt64(clamping: statement.int64(11)),
      newestMilliseconds: UInt64(clamping: statement.int64(12)),
      limits: noted.limits, isPutBack: noted.isPutBack)
  }

  private func zoneParent(_ statement: SQLiteStatement) throws -> ZoneParent? {
    guard let generation = UUID(bytes: statement.data(6)) else { return nil }
    return ZoneParent(
      generation: generation, sequence: UInt64(clamping: statement.int64(7)),
      chain: try chain(statement.data(8)))
  }

  /// Those of zones that are there. It ends in a condition as well.
  private static let selectTokens = """
    SELECT token.id, token.hash, token.zone, zone.name, token.verbs, token.created_ms,
      token.revoked_ms, token_note.name, token_note.expires_ms,
      token_binding.id IS NOT NULL, token_binding.replica
    FROM token JOIN zone ON zone.id = token.zone LEFT JOIN token_note ON token_note.id = token.id
    LEFT JOIN token_binding ON token_binding.id = token.id
    WHERE \(LeavingZones.isThere)
    """

  func token(id: String) throws -> TokenRecord? {
    let statement = try prepare(Self.selectTokens + " AND token.id = ?")
    defer { statement.reset() }
    statement.bind(id, at: 1)
    return try statement.step() ? tokenRecord(statement) : nil
  }

  func tokens() throws -> [TokenRecord] {
    let statement = try prepare(
      Self.selectTokens + " ORDER BY zone.name, token.created_ms, token.id")
    defer { statement.reset() }
    var tokens: [TokenRecord] = []
    while try statement.step() { tokens.append(tokenRecord(statement)) }
    return tokens
  }

  private func tokenRecord(_ statement: SQLiteStatement) -> TokenRecord {
    TokenRecord(
      id: statement.string(0), hash: statement.data(1), zoneID: statement.int64(2),
      zoneName: statement.string(3), verbs: Verbs(rawValue: statement.int64(4)),
      createdMilliseconds: statement.int64(5),
      revokedMilliseconds: statement.isNull(6) ? nil : statement.int64(6),
      name: statement.isNull(7) ? nil : statement.string(7),
      expiresMilliseconds: statement.isNull(8) ? nil : statement.int64(8),
      binding: TokenBindings.binding(statement, at: 9))
  }

  /// Entries after a sequence number, until the bytes are used up; at least one, if there is one. All of it is of one state: the log
  /// may be purged, or begin anew, meanwhile.
  func page(of zone: ZoneRecord, _ request: PageRequest) throws -> LogPage {
    try transaction(.deferred) { try readPage(of: zone, request) }
  }

  private func readPage(of zone: ZoneRecord, _ request: PageRequest) throws -> LogPage {
    // Read anew: the log may have grown while the request waited for news.
    let current = try self.current(zone)
    guard current.generation == zone.generation else {
      throw ServerError.generationChanged(zone: zone.name)
    }
    try check(request.after, in: current)
    if let mark = request.mark { try check(mark, in: current) }
    let floor = try PurgedLog.floor(of: current, on: self)
    guard request.after.sequence >= floor else {
      throw ServerError.purged(at: request.after.sequence, floor: floor, current)
    }
    let own = try request.own.flatMap { try replicaRow($0.replica)?.id }
    let size = try pageSize(of: current, request, own: own)
    if size.count > 0 { try request.reserve?(size.bytes) }
    return LogPage(
      entries: try entries(of: current, request, own: own, size), head: current.head)
  }

  /// How far a page goes, by what the rows say of their sizes: no change set is read for it.
  private func pageSize(
    of zone: ZoneRecord, _ request: PageRequest, own: Int64?
  ) throws -> (count: Int, bytes: Int) {
    let statement = try prepare(
      """
      SELECT CASE WHEN replica = ?1 AND position <= ?2 THEN NULL ELSE size END
      FROM log WHERE position > ?3 AND position < ?4 ORDER BY position LIMIT ?5
      """)
    defer { statement.reset() }
    bind(statement, zone, request, own: own, count: request.entriesMax)
    var (count, bytes) = (0, 0)
    while try statement.step() {
      let next = Self.entrySize(statement.isNull(0) ? nil : statement.int64(0))
      guard count == 0 || bytes + next <= request.bytesMax else { break }
      bytes += next
      count += 1
    }
    return (count, bytes)
  }

  private func entries(
    of zone: ZoneRecord, _ request: PageRequest, own: Int64?, _ page: (count: Int, bytes: Int)
  ) throws -> [LogEntry] {
    guard page.count > 0 else { return [] }
    let statement = try prepare(
      """
      SELECT position, first_object, size, header, chain, replica = ?1 AND position <= ?2,
        CASE WHEN (replica = ?1 AND position <= ?2) OR size > \(Self.smallFrameBytes) THEN NULL
          ELSE body END
      FROM log WHERE position > ?3 AND position < ?4 ORDER BY position LIMIT ?5
      """)
    defer { statement.reset() }
    bind(statement, zone, request, own: own, count: page.count)
    var entries: [LogEntry] = []
    var bytes = 0
    while try statement.step() {
      let isHeaderOnly = statement.int64(5) != 0
      bytes += Self.entrySize(isHeaderOnly ? nil : statement.int64(2))
      // Another log may stand there by now.
      guard entries.isEmpty || bytes <= page.bytes else { break }
      entries.append(
        LogEntry(
          sequence: LogPosition.number(statement.int64(0)),
          firstObjectNumber: UInt64(clamping: statement.int64(1)),
          chain: try chain(statement.data(4)),
          bytes: isHeaderOnly ? statement.data(3) : try frame(statement),
          isHeaderOnly: isHeaderOnly))
    }
    return entries
  }

  /// A frame of so many bytes comes with its row; of a larger one the body is read where it is to lie.
  private static let smallFrameBytes = 64 << 10

  /// The frame of the row at which a statement of `entries` stands.
  private func frame(_ statement: SQLiteStatement) throws -> Data {
    guard statement.int64(2) > Self.smallFrameBytes else {
      return statement.frame(header: 3, body: 6)
    }
    let header = statement.data(3)
    // A row that somebody damaged has none: then the frame is cut off, as its checks say.
    return try blob("body", of: "log", row: statement.int64(0), after: header) ?? header
  }

  private func bind(
    _ statement: SQLiteStatement, _ zone: ZoneRecord, _ request: PageRequest, own: Int64?,
    count: Int
  ) {
    statement.bind(own ?? -1, at: 1)
    statement.bind(LogPosition.of(zone: zone.id, number: request.own?.through ?? 0), at: 2)
    statement.bind(LogPosition.of(zone: zone.id, number: request.after.sequence), at: 3)
    statement.bind(LogPosition.of(zone: zone.id &+ 1, number: 0), at: 4)
    statement.bind(Int64(count), at: 5)
  }

  /// The bytes of an entry on the wire, by what its row says of its frame; nil where only the header goes.
  private static func entrySize(_ frame: Int64?) -> Int {
    PullPage.Entry.headerSize + (frame.map(size) ?? ChangeSetHeader.size)
  }

  /// The bytes of a frame, as a row says that may be damaged.
  private static func size(_ value: Int64) -> Int { Int(min(max(0, value), 1 << 40)) }

  /// - Throws: `ServerError` (`.diverged`) when a place is not the log's own.
  func check(_ place: LogMark, in zone: ZoneRecord) throws {
    guard try isOwn(place, of: zone) else {
      throw ServerError.diverged(at: place.sequence, zone)
    }
  }

  /// The highest of some places that is the log's own; nil when none is.
  func commonPlace(of marks: [LogMark], in zone: ZoneRecord) throws -> LogMark? {
    try marks.sorted { $0.sequence > $1.sequence }.first { try isOwn($0, of: zone) }
  }

  private func isOwn(_ place: LogMark, of zone: ZoneRecord) throws -> Bool {
    try self.place(at: place.sequence, of: zone) == place
  }

  /// A place of the log; nil when the log has none there.
  func place(at sequence: UInt64, of zone: ZoneRecord) throws -> LogMark? {
    guard sequence <= zone.head else { return nil }
    if sequence == 0 { return Cursor.start(generation: zone.generation).mark }
    if sequence == zone.head { return LogMark(sequence: sequence, chain: zone.chain) }
    let statement = try prepare("SELECT chain FROM entry WHERE position = ?")
    defer { statement.reset() }
    statement.bind(LogPosition.of(zone: zone.id, number: sequence), at: 1)
    guard try statement.step() else { return nil }
    return LogMark(sequence: sequence, chain: try chain(statement.data(0)))
  }

  func chain(_ bytes: Data) throws -> LogChain {
    guard let chain = LogChain(bytes: bytes) else {
      throw ServerError(
        .storage, "the chain of a log entry is damaged",
        suggestion: "Restore the database from its backup.")
    }
    return chain
  }

  func replicaRow(_ replica: UUID) throws
    -> (id: Int64, zone: Int64, lastPush: UInt64)?
  {
    let statement = try prepare(
      """
      SELECT id, zone, last_push FROM replica
      WHERE uuid = ? AND \(LeavingZones.hasZone("replica"))
      """)
    defer { statement.reset() }
    statement.bind(replica.bytes, at: 1)
    guard try statement.step() else { return nil }
    return (statement.int64(0), statement.int64(1), UInt64(clamping: statement.int64(2)))
  }
}

extension SQLiteStatement {
  /// The bytes of a change set, of which a row has the header and the rest: copied once, since there may be megabytes of them.
  func frame(header: Int32, body: Int32) -> Data {
    withBytes(header) { header in
      withBytes(body) { body in
        var frame = Data(capacity: header.count + body.count)
        frame.append(contentsOf: header)
        frame.append(contentsOf: body)
        return frame
      }
    }
  }
}

/// A row ID that holds a zone and a sequence or object number: 22 bits and 40 bits.
enum LogPosition {
  static let numberMax = LogBounds.numberMax
  static let zoneMax: Int64 = (1 << 22) - 1

  static func of(zone: Int64, number: UInt64) -> Int64 {
    zone << 40 | Int64(clamping: min(number, numberMax))
  }

  static func number(_ position: Int64) -> UInt64 { UInt64(clamping: position) & numberMax }
}

extension UUID {
  init?(bytes: Data) {
    guard bytes.count == 16 else { return nil }
    var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &value) { $0.copyBytes(from: bytes) }
    self.init(uuid: value)
  }

  var bytes: Data { withUnsafeBytes(of: uuid) { Data($0) } }
}

extension [UUID] {
  /// 16 bytes each, one after the other.
  var bytes: Data { reduce(into: Data()) { $0 += $1.bytes } }
}

extension Data {
  /// UUIDs of 16 bytes each, one after the other.
  var uuids: [UUID] {
    stride(from: 0, to: count / 16 * 16, by: 16).compactMap {
      UUID(bytes: dropFirst($0).prefix(16))
    }
  }
}
