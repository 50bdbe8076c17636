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

  static func keys(
    of key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws -> [ObjectKey]? {
    guard let bytes = try bytes(of: key, property, on: connection) else { return nil }
    return try RowArchive.decodeKeys(bytes)
  }

  /// Every kept set of a relationship of this name, with the object whose it is.
  static func sets(
    named property: String, on connection: SQLiteConnection
  ) throws -> [(ObjectKey, [ObjectKey])] {
    var sets: [(ObjectKey, [ObjectKey])] = []
    try connection.forEachRow(
      "SELECT entity, key, value FROM ZDL_BASE WHERE property = ?", [.text(property)]
    ) { row in
      let key = ObjectKey(entity: Int32(truncatingIfNeeded: row.int64(0)), key: row.int64(1))
      // A property of this name in another entity may hold one value.
      guard let keys = try? RowArchive.decodeKeys(row.data(2)) else { return }
      sets.append((key, keys))
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
      keys.append(ObjectKey(entity: Int32(truncatingIfNeeded: row.int64(0)), key: row.int64(1)))
    }
    return keys
  }

  static func replace(
    _ key: ObjectKey, _ property: String, with value: PropertyValue, on connection: SQLiteConnection
  ) throws {
    try replace(key, property, with: RowArchive.encode([value]), on: connection)
  }

  static func replace(
    _ key: ObjectKey, _ property: String, with keys: [ObjectKey], on connection: SQLiteConnection
  ) throws {
    try replace(key, property, with: RowArchive.encode(keys), on: connection)
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
