import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Values of the zone that this model cannot hold: the object shows what `StandIn` says instead. What
/// the log or an edit sets later strikes them. Owns `ZDL_PARKED_VALUE`.
struct ParkedValues {
  private static let table = "ZDL_PARKED_VALUE"
  private let connection: SQLiteConnection
  /// Whether there may be any: most stores never have one, and then nothing is asked.
  private(set) var mayHaveAny: Bool
  /// What the zone names, and the rows have: a newer word on a property ends that as well.
  var named: NamedCells

  init(_ connection: SQLiteConnection) throws {
    self.connection = connection
    named = try NamedCells(connection)
    mayHaveAny = try connection.number("SELECT EXISTS (SELECT 1 FROM ZDL_PARKED_VALUE)") != 0
  }

  mutating func add(
    _ value: PropertyValue, of key: ObjectKey, _ property: String, reason: String,
    sequence: UInt64, sender: UUID, at time: Date
  ) throws {
    mayHaveAny = true
    try named.strike(key, property)
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_PARKED_VALUE VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      [
        .integer(Int64(key.entity)), .integer(key.key), .text(property),
        .blob(RowArchive.encode([value])), .unsigned(sequence), .uuid(sender), .text(reason),
        .real(time.timeIntervalSince1970),
      ])
  }

  /// The property has a newer value.
  func strike(_ key: ObjectKey, _ property: String) throws {
    try named.strike(key, property)
    guard mayHaveAny else { return }
    try connection.perform(
      "DELETE FROM ZDL_PARKED_VALUE WHERE entity = ? AND key = ? AND property = ?",
      [.integer(Int64(key.entity)), .integer(key.key), .text(property)])
  }

  /// Edits that were made here over parked values, and were left out of a push, are the last word on them: by their times alone
  /// they look like what is offered of the zone's values.
  mutating func strikeEdited(
    _ object: PendingObject, of key: ObjectKey, through transaction: Int64, _ schema: SyncSchema
  ) throws {
    guard mayHaveAny || named.mayHaveAny, let entity = schema.entity(numbered: key.entity) else {
      return
    }
    for edit in object.edits where edit.transaction > 0 && edit.transaction <= transaction {
      for slot in edit.properties.indexes {
        guard let property = entity.property(at: slot) else { continue }
        try strike(key, property.name)
      }
    }
  }

  /// The object is gone.
  func strike(_ key: ObjectKey) throws {
    try named.strike(key)
    guard mayHaveAny else { return }
    try connection.perform(
      "DELETE FROM ZDL_PARKED_VALUE WHERE entity = ? AND key = ?",
      [.integer(Int64(key.entity)), .integer(key.key)])
  }

  /// Lets go of what is parked of objects that are gone: an own delete keeps it until it is settled, since the object may
  /// come back until then.
  static func strikeGone(_ pending: PendingSet, _ transaction: ReadTransaction) throws {
    var keys: [ObjectKey] = []
    try transaction.connection.forEachRow("SELECT DISTINCT entity, key FROM ZDL_PARKED_VALUE") {
      keys.append($0.objectKey(0, 1))
    }
    for key in keys where pending[key]?.whole != .delete {
      guard try transaction.concreteKey(root: key) == nil else { continue }
      try transaction.connection.perform(
        "DELETE FROM ZDL_PARKED_VALUE WHERE entity = ? AND key = ?",
        [.integer(Int64(key.entity)), .integer(key.key)])
    }
  }

  /// The zone's value of a property; nil when the row has it.
  func value(of key: ObjectKey, _ property: String) throws -> PropertyValue? {
    guard mayHaveAny else { return nil }
    var bytes: Data?
    try connection.forEachRow(
      "SELECT value FROM ZDL_PARKED_VALUE WHERE entity = ? AND key = ? AND property = ?",
      [.integer(Int64(key.entity)), .integer(key.key), .text(property)]
    ) { bytes = $0.data(0) }
    return try bytes.flatMap { try RowArchive.decodeValues($0).first }
  }

  /// A property of an object.
  struct Cell: Hashable {
    var key: ObjectKey
    var property: String
  }

  /// Those of them that another table has a row of, by entity, key and property.
  static func cells(alsoIn table: String, on connection: SQLiteConnection) throws -> Set<Cell> {
    guard try EngineTables.has(Self.table, on: connection) else { return [] }
    var cells: Set<Cell> = []
    try connection.forEachRow(
      "SELECT entity, key, property FROM \(table) JOIN ZDL_PARKED_VALUE USING (entity, key, property)"
    ) { cells.insert(Cell(key: $0.objectKey(0, 1), property: $0.string(2))) }
    return cells
  }

  /// The properties of an object whose values its row does not have.
  func properties(of key: ObjectKey) throws -> Set<String> {
    guard mayHaveAny else { return [] }
    var properties: Set<String> = []
    try connection.forEachRow(
      "SELECT property FROM ZDL_PARKED_VALUE WHERE entity = ? AND key = ?",
      [.integer(Int64(key.entity)), .integer(key.key)]
    ) { properties.insert($0.string(0)) }
    return properties
  }

  struct Row {
    var key: ObjectKey
    var property: String
    var value: PropertyValue
    var sequence: UInt64
    var sender: UUID
    var reason: String
    var since: Date
    var bytes: Int
  }

  static func rows(on connection: SQLiteConnection) throws -> [Row] {
    try rows(where: "1", on: connection)
  }

  /// Those whose values are not here, and are told by their names: in a store that fetches values on first use they may be very many.
  static func nameRows(on connection: SQLiteConnection) throws -> [Row] {
    try rows(where: isName, on: connection)
  }

  /// Those of some values, by the index of names: as much work as there are such rows.
  static func nameRows(
    of values: some Sequence<LargeValue>, on connection: SQLiteConnection
  ) throws -> [Row] {
    try values.flatMap { value in
      let names = [false, true].map { isSealed -> SQLiteValue in
        let name = LargeCell.row(for: value, isSealed: isSealed)
        return .blob(Data(RowArchive.encode([.data(Data(name))])))
      }
      return try rows(where: "value IN (?, ?) AND \(isName)", names, on: connection)
    }
  }

  /// All others.
  static func otherRows(on connection: SQLiteConnection) throws -> [Row] {
    try rows(where: "NOT (\(isName))", on: connection)
  }

  /// What a row is with a name for its value: as long as one, and with its mark behind the words of `RowArchive`.
  private static let isName: String = {
    let some = [UInt8](repeating: 0, count: 40)
    let bytes = ValueInZone(name: some, isSealed: false)?.bytes ?? []
    let archive = RowArchive.encode([.data(Data(bytes))])
    let first = archive.count - bytes.count + 1
    let mark = bytes.prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    return "length(value) = \(archive.count) AND substr(value, \(first), 16) = x'\(mark)'"
  }()

  /// How many values are in the zone and not here, and how many bytes they have, each value once. What was set here over one is not
  /// counted.
  ///
  /// - Parameters:
  ///   - pending: what was edited here.
  ///   - hasMore: whether that is not all: rows are asked then.
  ///   - countsMissed: also those that somebody asked for in vain.
  static func inZone(
    _ pending: PendingSet, hasMore: Bool = false, _ transaction: ReadTransaction,
    _ schema: SyncSchema, countsMissed: Bool = false
  ) throws -> (count: Int, bytes: Int64) {
    let connection = transaction.connection
    guard try EngineTables.has(table, on: connection) else { return (0, 0) }
    let missed = countsMissed ? [:] : try MissedValues.digests(on: connection)
    var (count, bytes) = (0, Int64(0))
    var seen: Set<Data> = []
    try connection.forEachRow(
      "SELECT substr(value, -41), entity, key, property FROM ZDL_PARKED_VALUE WHERE \(isName)"
    ) { row in
      let data = row.data(0)
      guard let value = ValueInZone(name: data.dropFirst(), isSealed: data.first == 1),
        isThere(value, missed: missed)
      else { return }
      let key = row.objectKey(1, 2)
      if let property = schema.entity(numbered: key.entity)?.property(named: row.string(3)),
        // A row that shows names has one for as long as nothing was set over it.
        pending[key]?.transaction(of: property.slot) != nil
          || hasMore && property.standIn?.showsNames == true,
        try transaction.knownRow(key)?.values[property.slot].isInZone != true
      {
        return
      }
      count += 1
      if seen.insert(value.digest).inserted {
        bytes = bytes.addingClamped(value.length)
      }
    }
    return (count, bytes)
  }

  /// Whether a value waits in the zone, which has it as far as is known. One that the disk here had no room for does.
  static func isInZone(_ value: PropertyValue, missed: [Data: MissedValues.Reason]) -> Bool {
    ValueInZone(value).map { isThere($0, missed: missed) } ?? false
  }

  private static func isThere(
    _ value: ValueInZone, missed: [Data: MissedValues.Reason]
  ) -> Bool {
    let reason = missed[value.digest]
    return reason == nil || reason == .room
  }

  private static func rows(
    where condition: String, _ values: [SQLiteValue] = [], on connection: SQLiteConnection
  ) throws -> [Row] {
    guard try EngineTables.has(table, on: connection) else { return [] }
    var rows: [Row] = []
    try connection.forEachRow(
      """
      SELECT entity, key, property, value, sequence, sender, reason, since FROM ZDL_PARKED_VALUE
      WHERE \(condition) ORDER BY sequence, entity, key, property
      """, values
    ) { row in
      let bytes = row.data(3)
      guard let value = try RowArchive.decodeValues(bytes).first,
        let sender = UUID(networkBytes: row.data(5))
      else { throw SyncError.damaged("a parked value") }
      rows.append(
        Row(
          key: row.objectKey(0, 1),
          property: row.string(2), value: value, sequence: row.unsigned(4),
          sender: sender, reason: row.string(6),
          since: Date(timeIntervalSince1970: row.double(7)), bytes: bytes.count))
    }
    return rows
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_PARKED_VALUE")
  }

  /// How many there are of one entry, or of all, without what waits in the zone until somebody asks for it.
  static func count(of sequence: UInt64? = nil, on connection: SQLiteConnection) throws -> Int {
    guard try EngineTables.has(table, on: connection) else { return 0 }
    let asked: SQLiteValue = sequence.map { .unsigned($0) } ?? .null
    let others = try connection.number(
      """
      SELECT count(*) FROM ZDL_PARKED_VALUE
      WHERE (sequence = ? OR ? IS NULL) AND NOT (\(isName))
      """, [asked, asked])
    let missed = try MissedValues.digests(on: connection)
    guard !missed.isEmpty else { return Int(truncatingIfNeeded: others) }
    return try Int(truncatingIfNeeded: others)
      + nameRows(on: connection).count {
        (sequence ?? $0.sequence) == $0.sequence && !isInZone($0.value, missed: missed)
      }
  }

  /// Who sent what was let go of is not known any more.
  static let unknownSender = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .text("property"), .bytes("value"), .natural("sequence"), .identity("sender"),
    .text("reason"), .seconds("since"),
  ]
  static let statements = [
    """
    CREATE TABLE IF NOT EXISTS ZDL_PARKED_VALUE(
      entity INTEGER NOT NULL, key INTEGER NOT NULL, property TEXT NOT NULL,
      value BLOB NOT NULL, sequence INTEGER NOT NULL, sender BLOB NOT NULL, reason TEXT NOT NULL,
      since REAL NOT NULL,
      PRIMARY KEY (entity, key, property)\(RowRule.constraints(rules))) WITHOUT ROWID
    """,
    // Where a value belongs is asked for each one that comes.
    """
    CREATE INDEX IF NOT EXISTS ZDL_PARKED_VALUE_NAME ON ZDL_PARKED_VALUE(value) WHERE \(isName)
    """,
  ]
}
