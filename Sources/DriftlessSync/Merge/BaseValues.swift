import Driftless
import DriftlessSQLite
import Foundation

/// Reads and writes `ZDL_BASE`: values as the zone knows them, kept while a property that needs
/// them is pending.
enum BaseValues {
  static func value(
    of key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws -> PropertyValue? {
    guard let bytes = try bytes(of: key, property, on: connection) else { return nil }
    return try RowArchive.decodeValues(bytes).first
  }

  /// A many-to-many relationship as the zone has it.
  struct ElementSet {
    var elements: [ObjectKey]
    /// Elements that the pending edit adds or removes although the zone did the same, earlier: what the zone did may be
    /// taken back by an edit that is older than this one. Whether it adds or removes, the row says.
    var asserted: [ObjectKey] = []

    fileprivate init(elements: [ObjectKey], asserted: [ObjectKey]) {
      self.elements = elements
      self.asserted = asserted
    }

    /// The elements, and after a null the asserted ones.
    fileprivate init(_ bytes: Data) throws {
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

  static func set(
    of key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws -> ElementSet? {
    try bytes(of: key, property, on: connection).map { try ElementSet($0) }
  }

  static func keys(
    of key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws -> [ObjectKey]? {
    try set(of: key, property, on: connection)?.elements
  }

  /// Every kept set of a relationship of this name, with the object whose it is.
  static func sets(
    named property: String, on connection: SQLiteConnection
  ) throws -> [(ObjectKey, ElementSet)] {
    var sets: [(ObjectKey, ElementSet)] = []
    try connection.forEachRow(
      "SELECT entity, key, value FROM ZDL_BASE WHERE property = ?", [.text(property)]
    ) { row in
      let key = row.objectKey(0, 1)
      // A property of this name in another entity may hold one value.
      sets.append((key, try ElementSet(row.data(2))))
    }
    return sets
  }

  /// Every kept value of a property of this name that refers to an object, with whose it is.
  static func referrers(
    named property: String, to target: ObjectKey, on connection: SQLiteConnection
  ) throws -> [ObjectKey] {
    var keys: [ObjectKey] = []
    try connection.forEachRow(
      "SELECT entity, key, value FROM ZDL_BASE WHERE property = ?", [.text(property)]
    ) { row in
      guard case .reference(let kept)? = try? RowArchive.decodeValues(row.data(2)).first,
        kept == target
      else { return }
      keys.append(row.objectKey(0, 1))
    }
    return keys
  }

  static func replace(
    _ key: ObjectKey, _ property: String, with value: PropertyValue, on connection: SQLiteConnection
  ) throws {
    try replace(key, property, with: RowArchive.encode([value]), on: connection)
  }

  static func replace(
    _ key: ObjectKey, _ property: String, with keys: [ObjectKey],
    asserting asserted: [ObjectKey] = [], on connection: SQLiteConnection
  ) throws {
    try replace(
      key, property, with: ElementSet(elements: keys, asserted: asserted).bytes, on: connection)
  }

  static func drop(
    _ key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws {
    try connection.perform(
      "DELETE FROM ZDL_BASE WHERE entity = ? AND key = ? AND property = ?",
      [.integer(Int64(key.entity)), .integer(key.key), .text(property)])
  }

  private static func bytes(
    of key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws -> Data? {
    var data: Data?
    try connection.forEachRow(
      "SELECT value FROM ZDL_BASE WHERE entity = ? AND key = ? AND property = ?",
      [.integer(Int64(key.entity)), .integer(key.key), .text(property)]
    ) { data = $0.data(0) }
    return data
  }

  private static func replace(
    _ key: ObjectKey, _ property: String, with bytes: Data, on connection: SQLiteConnection
  ) throws {
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_BASE(entity, key, property, value) VALUES (?, ?, ?, ?)",
      [.integer(Int64(key.entity)), .integer(key.key), .text(property), .blob(bytes)])
  }
}
