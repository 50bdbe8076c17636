import DriftlessSQLite
package import Foundation

/// Identities of objects.
///
/// A run of `ZDL_IDENTITY` gives `count` keys that follow each other identities that follow each other. An object
/// without a run was made here: its identity (a UUID of version 8) is the store's six random bytes, the number of its
/// root entity and its key, so that a save neither stores nor looks up anything.
extension ReadTransaction {
  package func identity(of key: ObjectKey) throws -> UUID {
    let root = schema.rootNumber(of: key.entity)
    let statement = try connection.prepare(
      """
      SELECT first_key, count, identity FROM ZDL_IDENTITY
      WHERE root_entity = ? AND first_key BETWEEN 1 AND ? ORDER BY first_key DESC LIMIT 1
      """)
    defer { statement.reset() }
    statement.bind(Int64(root), at: 1)
    statement.bind(key.key, at: 2)
    if try statement.step() {
      let distance = key.key &- statement.int64(0)
      if distance >= 0, distance < statement.int64(1),
        let first = statement.uuid(2)
      {
        return first.following(by: UInt64(distance))
      }
    }
    return MintedIdentity.identity(prefix: try mintPrefix(), root: root, key: key.key)
  }

  /// The object with an identity; its key's entity is concrete when the object has a row, else that of the root.
  ///
  /// Nil when the identity is unknown here. A deleted object keeps its key. An identity that went when two objects became
  /// one is that of the one that they are now; that of a deleted object is that of one of another entity.
  package func key(of identity: UUID) throws -> ObjectKey? {
    guard let key = try key(ofOwnOrAlias: identity) else { return nil }
    if try concreteKey(root: key) != nil { return key }
    return try successor(of: identity) ?? key
  }

  /// The objects that have these identities, as ``key(of:)`` says of each. What no object has is left out, as is what a
  /// deleted one has.
  package func livingKeys(of identities: some Sequence<UUID>) throws -> [UUID: ObjectKey] {
    var keys: [UUID: ObjectKey] = [:]
    try forEachKnown(identities) { identity in
      guard let key = try key(of: identity), let living = try concreteKey(root: key) else { return }
      keys[identity] = living
    }
    return keys
  }

  /// Hands over those of the identities that an object has, had, or may get: of others ``key(ofOwnOrAlias:)`` has nothing.
  func forEachKnown(
    _ identities: some Sequence<UUID>, _ body: (UUID) throws -> Void
  ) throws {
    let hasAliases = try EngineRows.haveAliases(on: connection)
    // In the order of the index, so that what is read for one is at hand for the next.
    for identity in identities.sorted() {
      if try hasAliases || mintedKey(of: identity) != nil || keyInRun(identity) != nil {
        try body(identity)
      }
    }
  }

  /// As above, but for an object of another entity.
  func key(ofOwnOrAlias identity: UUID) throws -> ObjectKey? {
    let own = try key(ofOwn: identity)
    if let own, try concreteKey(root: own) != nil { return own }
    return try alias(identity) ?? own
  }

  /// The object that an identity stands for since two became one; nil for one that was never united, or whose
  /// other object is gone.
  private func alias(_ identity: UUID) throws -> ObjectKey? {
    guard let key = try EngineRows.alias(of: identity, on: connection) else { return nil }
    return try concreteKey(root: key)
  }

  /// The object that was made with an identity, whatever it became one with.
  package func key(ofOwn identity: UUID) throws -> ObjectKey? {
    if let root = try keyInRun(identity) { return try concreteKey(root: root) ?? root }
    guard let minted = try mintedKey(of: identity) else { return nil }
    // An object that was given another identity is not known by the one that would follow from its key.
    return try self.identity(of: minted) == identity ? concreteKey(root: minted) : nil
  }

  /// The key, with its root entity, that a run of `ZDL_IDENTITY` gives an identity.
  private func keyInRun(_ identity: UUID) throws -> ObjectKey? {
    // What the index has: most identities that are asked for are in no run.
    let statement = try connection.prepare(
      """
      SELECT root_entity, first_key, identity FROM ZDL_IDENTITY
      WHERE identity <= ? ORDER BY identity DESC LIMIT 1
      """)
    defer { statement.reset() }
    statement.bind(identity, at: 1)
    guard try statement.step(), let start = statement.uuid(2)?.halves else { return nil }
    let (high, low) = identity.halves
    let root = statement.int64(0)
    let firstKey = statement.int64(1)
    guard high == start.high,
      low - start.low < UInt64(max(0, try count(ofRun: firstKey, root)))
    else { return nil }
    return ObjectKey(
      entity: Int32(exactly: root) ?? -1,
      key: firstKey &+ Int64(truncatingIfNeeded: low - start.low))
  }

  private func count(ofRun firstKey: Int64, _ root: Int64) throws -> Int64 {
    let statement = try connection.prepare(
      "SELECT count FROM ZDL_IDENTITY WHERE root_entity = ? AND first_key = ?")
    defer { statement.reset() }
    statement.bind(root, at: 1)
    statement.bind(firstKey, at: 2)
    return try statement.step() ? statement.int64(0) : 0
  }

  /// The root entity and the key that an identity follows from, when it has this store's prefix; whether such an object
  /// ever was, it does not say.
  package func mintedKey(of identity: UUID) throws -> ObjectKey? {
    guard identity.uuid.6 & 0xf0 == 0x80,
      let (root, key) = MintedIdentity.parts(of: identity, prefix: try mintPrefix()),
      schema.entity(numbered: root) != nil
    else { return nil }
    return ObjectKey(entity: root, key: key)
  }

  /// The root entity's number and the key of the object with a zone object number; it may be deleted.
  package func key(ofNumber number: UInt64) throws -> ObjectKey? {
    let statement = try connection.prepare(
      """
      SELECT root_entity, first_key, count, number FROM ZDL_IDENTITY
      WHERE number <= ? ORDER BY number DESC LIMIT 1
      """)
    defer { statement.reset() }
    statement.bind(Int64(bitPattern: number), at: 1)
    guard try statement.step() else { return nil }
    let distance = Int64(bitPattern: number) &- statement.int64(3)
    guard distance >= 0, distance < statement.int64(2) else { return nil }
    return ObjectKey(
      entity: statement.entityNumber(0), key: statement.int64(1) &+ distance)
  }
}

/// Identities that a store makes: RFC 9562 version 8.
enum MintedIdentity {
  static func identity(prefix: [UInt8], root: Int32, key: Int64) -> UUID {
    UUID(
      high: number(prefix) << 16 | 0x8000 | UInt64(UInt32(bitPattern: root) & 0xfff),
      low: 1 << 63 | UInt64(bitPattern: key) & (1 << 62 - 1))
  }

  static func parts(of identity: UUID, prefix: [UInt8]) -> (root: Int32, key: Int64)? {
    let (high, low) = identity.halves
    guard high >> 16 == number(prefix), high >> 12 & 0xf == 8, low >> 62 == 2 else { return nil }
    return (Int32(high & 0xfff), Int64(low & (1 << 62 - 1)))
  }

  /// Six bytes.
  private static func number(_ prefix: [UInt8]) -> UInt64 {
    prefix.reduce(0) { $0 << 8 | UInt64($1) }
  }
}
