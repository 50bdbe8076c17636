import DriftlessSQLite
package import Foundation

/// Owns `ZDL_FORMER`: of which entity a deleted object was that had a given identity.
enum FormerEntities {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [.integer("entity"), .integer("key")]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_FORMER (entity INTEGER NOT NULL, key INTEGER NOT NULL,
    PRIMARY KEY (entity, key)\(RowRule.constraints(rules))) WITHOUT ROWID
    """

  static func note(_ key: ObjectKey, on connection: SQLiteConnection) throws {
    try connection.run(
      "INSERT INTO ZDL_FORMER VALUES (?, ?) ON CONFLICT DO NOTHING", .integer(Int64(key.entity)),
      .integer(key.key))
  }

  static func drop(_ key: ObjectKey, on connection: SQLiteConnection) throws {
    try connection.run(
      "DELETE FROM ZDL_FORMER WHERE entity = ? AND key = ?", .integer(Int64(key.entity)),
      .integer(key.key))
  }

  static func has(_ key: ObjectKey, on connection: SQLiteConnection) throws -> Bool {
    try connection.scalar(
      "SELECT 1 FROM ZDL_FORMER WHERE entity = ? AND key = ?", .integer(Int64(key.entity)),
      .integer(key.key)) != nil
  }
}

/// One identity under two entities is two objects. The zone knows the first one by the identity, also when that is deleted;
/// the other goes by one that every replica derives alike (`DerivedIdentity`).
extension ReadTransaction {
  /// What an identity stands for when the object that has it is deleted: one of another entity.
  func successor(of identity: UUID) throws -> ObjectKey? {
    guard let zone = try zoneID() else { return nil }
    for entity in schema.entities where !entity.isAbstract {
      let derived = DerivedIdentity.identity(identity, of: entity.name, in: zone)
      if let key = try key(ofOwn: derived), let living = try concreteKey(root: key) {
        return living
      }
    }
    return nil
  }

  /// The zone's own UUID; nil when the store does not sync.
  fileprivate func zoneID() throws -> UUID? {
    try EngineRows.zoneID(on: connection)
  }
}

extension WriteTransaction {
  /// The identity that a new object gets which is given one: another, when the one given is that of a deleted object of
  /// another entity which the zone knows, or may know by now.
  func identity(_ identity: UUID, forNew entity: EntityDescription) throws -> UUID {
    guard let dead = try key(ofOwn: identity), try concreteKey(root: dead) == nil,
      let zone = try zoneID()
    else { return identity }
    let root = schema.rootNumber(of: dead.entity)
    let isOfHierarchy = root == schema.entityNumber(of: entity.rootEntity)
    if isOfHierarchy {
      guard let former = try formerEntity(of: dead, root), former != schema.entityNumber(of: entity)
      else { return identity }
    }
    let isKnown =
      try isNumbered(root: root, key: dead.key) || isInFlight(root: root, key: dead.key)
    if isKnown { return DerivedIdentity.identity(identity, of: entity.name, in: zone) }
    // Made and deleted before the zone heard of it: the identity is free.
    if !isOfHierarchy {
      try IdentityRuns.dropSingle(root: root, key: dead.key, on: connection)
    }
    return identity
  }

  /// Whether the change set in flight makes an object.
  private func isInFlight(root: Int32, key: Int64) throws -> Bool {
    try EngineRows.runsInFlight(on: connection).contains {
      schema.rootNumber(of: $0.entity) == root && $0.contains(key)
    }
  }

  /// Notes of which entity an object was that goes (`ZDL_FORMER`): its identity knows the hierarchy alone.
  func noteFormerEntity(of key: ObjectKey) throws {
    guard schema.isOfSeveral(key.entity), try setting(StoreSettings.syncing) != nil,
      try !identity(of: key).isMinted
    else { return }
    for other in schema.kin(of: key.entity) where other != key.entity {
      try FormerEntities.drop(ObjectKey(entity: other, key: key.key), on: connection)
    }
    try FormerEntities.note(key, on: connection)
  }

  private func formerEntity(of key: ObjectKey, _ root: Int32) throws -> Int32? {
    try schema.kin(of: root).first { number in
      try FormerEntities.has(ObjectKey(entity: number, key: key.key), on: connection)
    }
  }
}

extension UUID {
  /// Whether a store made it (RFC 9562 version 8); any other came from outside, or is derived from one that did.
  package var isMinted: Bool { uuid.6 & 0xf0 == 0x80 && uuid.8 & 0xe0 == 0x80 }
}
