import Driftless
import DriftlessSQLite
import Foundation

/// What the change set in flight leaves out of the history that it covers: it stays pending when the
/// rest is acknowledged. Owns `ZDL_OMITTED`.
///
/// That is what is in quarantine, references to new objects that are, and, while the object that a
/// server refuses is looked for, the other part of a transaction.
struct OmittedParts: Hashable, Sendable {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [.integer("entity"), .integer("key"), .text("property")]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_OMITTED(
      entity INTEGER NOT NULL, key INTEGER NOT NULL, property TEXT NOT NULL,
      PRIMARY KEY (entity, key, property)\(RowRule.constraints(rules))) WITHOUT ROWID
    """

  /// Objects that are left out whole.
  var objects: Set<ObjectKey> = []
  /// Properties of objects whose other changes are sent.
  var properties: [ObjectKey: PropertyMask] = [:]

  var isEmpty: Bool { objects.isEmpty && properties.isEmpty }

  /// Everything that stays pending, whole or in part.
  var keys: Set<ObjectKey> { objects.union(properties.keys) }

  mutating func add(_ slot: Int, of key: ObjectKey) {
    properties[key, default: PropertyMask()].insert(slot)
  }

  static func load(
    from connection: SQLiteConnection, schema: SyncSchema
  ) throws -> OmittedParts {
    var parts = OmittedParts()
    try connection.forEachRow("SELECT entity, key, property FROM ZDL_OMITTED") { row in
      let key = row.objectKey(0, 1)
      let name = row.string(2)
      if name.isEmpty {
        parts.objects.insert(key)
      } else if let property = schema.entity(numbered: key.entity)?.property(namedNowOrBefore: name)
      {
        parts.add(property.slot, of: key)
      }
    }
    return parts
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_OMITTED")
  }

  func save(on connection: SQLiteConnection, schema: SyncSchema) throws {
    try Self.removeAll(on: connection)
    func insert(_ key: ObjectKey, _ property: String) throws {
      try connection.perform(
        "INSERT INTO ZDL_OMITTED VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [.integer(Int64(key.entity)), .integer(key.key), .text(property)])
    }
    for key in objects { try insert(key, "") }
    for (key, mask) in properties {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      for property in entity.properties where mask.contains(property.slot) {
        try insert(key, property.name)
      }
    }
  }
}
