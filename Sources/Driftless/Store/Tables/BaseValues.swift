package import DriftlessSQLite
import Foundation

/// Owns `ZDL_BASE`: values as the zone knows them, kept while a property that needs them is
/// pending.
package enum BaseValues {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [.text("property"), .bytes("value")]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_BASE (entity INTEGER NOT NULL, key INTEGER NOT NULL,
    property TEXT NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (entity, key, property)\(RowRule.constraints(rules))) WITHOUT ROWID
    """

  /// A many-to-many relationship as the zone has it.
  package struct ElementSet {
    package var elements: [ObjectKey]
    /// Elements that the pending edit adds or removes although the zone did the same, earlier: what the zone did may be
    /// taken back by an edit that is older than this one. Whether it adds or removes, the row says.
    package var asserted: [ObjectKey] = []

    fileprivate init(elements: [ObjectKey], asserted: [ObjectKey]) {
      self.elements = elements
      self.asserted = asserted
    }

    /// The elements, and after a null the asserted ones.
    init(_ bytes: Data) throws {
      let parts = try RowArchive.decodeValues(bytes).split(
        separator: .null, maxSplits: 1, omittingEmptySubsequences: false)
      func keys(_ part: Int) -> [ObjectKey] {
        guard parts.indices.contains(part) else { return [] }
        return parts[part].compactMap { if case .reference(let key) = $0 { key } else { nil } }
      }
      self.init(elements: keys(0), asserted: keys(1))
    }

    fileprivate var bytes: Data {
      guard !asserted.isEmpty else { return RowArchive.encode(elements) }
      func references(_ keys: [ObjectKey]) -> [PropertyValue] { keys.map { .reference($0) } }
      return RowArchive.encode(references(elements) + [.null] + references(asserted))
    }
  }

  // MARK: Reading

  /// Whether anything is kept at all.
  package static func exist(on connection: SQLiteConnection) throws -> Bool {
    try connection.scalar("SELECT 1 FROM ZDL_BASE LIMIT 1") != nil
  }

  package static func value(
    of key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws -> PropertyValue? {
    guard let bytes = try bytes(of: key, property, on: connection) else { return nil }
    return try RowArchive.decodeValues(bytes).first
  }

  package static func set(
    of key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws -> ElementSet? {
    try bytes(of: key, property, on: connection).map { try ElementSet($0) }
  }

  package static func keys(
    of key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws -> [ObjectKey]? {
    try set(of: key, property, on: connection)?.elements
  }

  /// Hands over each property of which something is kept. The body must not ask for the same.
  package static func forEachProperty(
    on connection: SQLiteConnection, _ body: (ObjectKey, String) throws -> Void
  ) throws {
    let statement = try connection.prepare("SELECT entity, key, property FROM ZDL_BASE")
    defer { statement.reset() }
    while try statement.step() { try body(statement.objectKey(0, 1), statement.string(2)) }
  }

  static func forEach(
    named property: String, on connection: SQLiteConnection,
    _ body: (ObjectKey, Data) throws -> Void
  ) throws {
    let statement = try connection.prepare(
      "SELECT entity, key, value FROM ZDL_BASE WHERE property = ?")
    defer { statement.reset() }
    statement.bind(property, at: 1)
    while try statement.step() { try body(statement.objectKey(0, 1), statement.data(2)) }
  }

  private static func bytes(
    of key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws -> Data? {
    let statement = try connection.prepare(
      "SELECT value FROM ZDL_BASE WHERE entity = ? AND key = ? AND property = ?")
    defer { statement.reset() }
    statement.bind(Int64(key.entity), at: 1)
    statement.bind(key.key, at: 2)
    statement.bind(property, at: 3)
    return try statement.step() ? statement.data(0) : nil
  }

  // MARK: Writing

  /// Keeps what a property had before its first pending edit: a value that is kept already stays.
  static func keep(
    _ value: Data, of key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "INSERT INTO ZDL_BASE VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
      .integer(Int64(key.entity)),
      .integer(key.key), .text(property), .blob(value))
    if connection.changes > 0 { try BaseHolders.tell(key, property, value, on: connection) }
  }

  /// Whether something is kept of a property.
  package static func isKept(
    of key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws -> Bool {
    try connection.scalar(
      "SELECT 1 FROM ZDL_BASE WHERE entity = ? AND key = ? AND property = ?",
      .integer(Int64(key.entity)), .integer(key.key), .text(property)) != nil
  }

  package static func replace(
    _ key: ObjectKey, _ property: String, with value: PropertyValue, on connection: SQLiteConnection
  ) throws {
    try replace(key, property, with: RowArchive.encode([value]), on: connection)
  }

  package static func replace(
    _ key: ObjectKey, _ property: String, with keys: [ObjectKey],
    asserting asserted: [ObjectKey] = [], on connection: SQLiteConnection
  ) throws {
    try replace(
      key, property, with: ElementSet(elements: keys, asserted: asserted).bytes, on: connection)
  }

  private static func replace(
    _ key: ObjectKey, _ property: String, with bytes: Data, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "INSERT OR REPLACE INTO ZDL_BASE VALUES (?, ?, ?, ?)", .integer(Int64(key.entity)),
      .integer(key.key), .text(property), .blob(bytes))
    try BaseHolders.tell(key, property, bytes, on: connection)
  }

  package static func drop(
    _ key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "DELETE FROM ZDL_BASE WHERE entity = ? AND key = ? AND property = ?",
      .integer(Int64(key.entity)), .integer(key.key), .text(property))
    try BaseHolders.tell(key, property, nil, on: connection)
  }

  /// The object is gone.
  package static func drop(_ key: ObjectKey, on connection: SQLiteConnection) throws {
    try connection.run(
      "DELETE FROM ZDL_BASE WHERE entity = ? AND key = ?", .integer(Int64(key.entity)),
      .integer(key.key))
    try BaseHolders.tell(key, nil, nil, on: connection)
  }

  package static func dropAll(on connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM main.ZDL_BASE")
    connection.follower = nil
  }
}
