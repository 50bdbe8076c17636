import Driftless
import DriftlessSQLite
import Foundation

/// Values of the zone that this model cannot hold: the object shows what `StandIn` says instead. What
/// the log or an edit sets later strikes them. Owns `ZDL_PARKED_VALUE`.
struct ParkedValues {
  private static let table = "ZDL_PARKED_VALUE"
  private let connection: SQLiteConnection
  /// Whether there may be any: most stores never have one, and then nothing is asked.
  private(set) var mayHaveAny: Bool

  init(_ connection: SQLiteConnection) throws {
    self.connection = connection
    mayHaveAny = try connection.number("SELECT EXISTS (SELECT 1 FROM ZDL_PARKED_VALUE)") != 0
  }

  mutating func add(
    _ value: PropertyValue, of key: ObjectKey, _ property: String, reason: String,
    sequence: UInt64, sender: UUID, at time: Date
  ) throws {
    mayHaveAny = true
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
    guard mayHaveAny, let entity = schema.entity(numbered: key.entity) else { return }
    for edit in object.edits where edit.transaction > 0 && edit.transaction <= transaction {
      for slot in edit.properties.indexes {
        guard let property = entity.property(at: slot) else { continue }
        try strike(key, property.name)
      }
    }
  }

  /// The object is gone.
  func strike(_ key: ObjectKey) throws {
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
    guard try EngineTables.has(table, on: connection) else { return [] }
    var rows: [Row] = []
    try connection.forEachRow(
      """
      SELECT entity, key, property, value, sequence, sender, reason, since FROM ZDL_PARKED_VALUE
      ORDER BY sequence, entity, key, property
      """
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

  /// How many there are of one entry, or of all.
  static func count(of sequence: UInt64? = nil, on connection: SQLiteConnection) throws -> Int {
    guard try EngineTables.has(table, on: connection) else { return 0 }
    let asked: SQLiteValue = sequence.map { .unsigned($0) } ?? .null
    return Int(
      truncatingIfNeeded: try connection.number(
        "SELECT count(*) FROM ZDL_PARKED_VALUE WHERE sequence = ? OR ? IS NULL", [asked, asked]))
  }

  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .text("property"), .bytes("value"), .natural("sequence"), .identity("sender"),
    .text("reason"), .seconds("since"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_PARKED_VALUE(
      entity INTEGER NOT NULL, key INTEGER NOT NULL, property TEXT NOT NULL,
      value BLOB NOT NULL, sequence INTEGER NOT NULL, sender BLOB NOT NULL, reason TEXT NOT NULL,
      since REAL NOT NULL,
      PRIMARY KEY (entity, key, property)\(RowRule.constraints(rules))) WITHOUT ROWID
    """
}
