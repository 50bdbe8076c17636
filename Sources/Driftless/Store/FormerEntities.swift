import DriftlessSQLite
package import Foundation

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
    guard try has("ZDL_REPLICA"),
      case .blob(let bytes)? = try connection.scalar("SELECT zone_id FROM ZDL_REPLICA")
    else { return nil }
    return UUID(networkBytes: Data(bytes))
  }

  fileprivate func has(_ table: String) throws -> Bool {
    try connection.scalar("SELECT 1 FROM sqlite_master WHERE name = ?", .text(table)) != nil
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
      try connection.run(
        "DELETE FROM ZDL_IDENTITY WHERE root_entity = ? AND first_key = ? AND count = 1",
        .integer(Int64(root)), .integer(dead.key))
    }
    return identity
  }

  /// Whether the change set in flight makes an object.
  private func isInFlight(root: Int32, key: Int64) throws -> Bool {
    guard try has("ZDL_OUTBOX"),
      case .blob(let bytes)? = try connection.scalar("SELECT runs FROM ZDL_OUTBOX"),
      let runs = [KeyRun](bytes: bytes)
    else { return false }
    return runs.contains { schema.rootNumber(of: $0.entity) == root && $0.contains(key) }
  }

  /// Notes of which entity an object was that goes (`ZDL_FORMER`): its identity knows the hierarchy alone.
  func noteFormerEntity(of key: ObjectKey) throws {
    guard schema.isOfSeveral(key.entity), try setting("syncing") != nil,
      try !identity(of: key).isMinted
    else { return }
    for other in schema.kin(of: key.entity) where other != key.entity {
      try connection.run(
        "DELETE FROM ZDL_FORMER WHERE entity = ? AND key = ?", .integer(Int64(other)),
        .integer(key.key))
    }
    try connection.run(
      "INSERT OR IGNORE INTO ZDL_FORMER VALUES (?, ?)", .integer(Int64(key.entity)),
      .integer(key.key))
  }

  private func formerEntity(of key: ObjectKey, _ root: Int32) throws -> Int32? {
    try schema.kin(of: root).first { number in
      try connection.scalar(
        "SELECT 1 FROM ZDL_FORMER WHERE entity = ? AND key = ?", .integer(Int64(number)),
        .integer(key.key)) != nil
    }
  }
}

extension UUID {
  /// Whether a store made it (RFC 9562 version 8); any other came from outside, or is derived from one that did.
  package var isMinted: Bool { uuid.6 & 0xf0 == 0x80 && uuid.8 & 0xe0 == 0x80 }
}
