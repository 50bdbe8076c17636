import DriftlessSQLite
package import Foundation

/// The six random bytes that begin the identities made in a store. A copy needs others than its original.
extension WriteTransaction {
  /// Objects made from now on get identities that no other file gives out; those that are there keep theirs.
  ///
  /// The identities that follow from the old bytes and the keys given out so far are written down: a run for each stretch
  /// of keys, which is one for a hierarchy whose objects were all made here.
  package func renewMintPrefix() throws {
    for root in schema.entities where root.superentity == nil {
      try keepMintedIdentities(root: schema.entityNumber(of: root))
    }
    var prefix: [UInt8]
    repeat {
      prefix = (0..<6).map { _ in UInt8.random(in: .min ... .max) }
    } while try isUsed(prefix)
    try setSetting(StoreSettings.mintPrefix, .blob(Data(prefix)))
    try setSetting(StoreSettings.identitiesKept, .integer(1))
  }

  /// Whether an object that is made here from now on would get this identity: a copy of this store made one under it, or
  /// this one before it was put back.
  package func willMint(_ identity: UUID) throws -> Bool {
    guard let key = try mintedKey(of: identity) else { return false }
    return try key.key > lastKey(root: key.entity)
  }

  /// Gives an object that the zone does not know another identity than the one it was made with: another object of the zone
  /// has that one.
  ///
  /// What it was known by before is the caller's to keep.
  /// - Throws: `StoreError` with code `invalidArgument` for an object that has a zone object number.
  package func remint(_ key: ObjectKey) throws -> UUID {
    let root = schema.rootNumber(of: key.entity)
    if try MintedIdentity.parts(of: identity(of: key), prefix: mintPrefix()) != nil {
      try renewMintPrefix()
    }
    // All keys that were given out have runs now, so nothing else comes by this identity.
    let identity = MintedIdentity.identity(prefix: try mintPrefix(), root: root, key: key.key)
    try replaceIdentity(of: key, by: identity)
    return identity
  }

  /// Writes down the identities that follow from the keys of a hierarchy, before they would follow otherwise.
  private func keepMintedIdentities(root: Int32) throws {
    for gap in try mintedKeys(root: root, through: lastKey(root: root)) {
      // What was deleted here before it was sent, and came from a copy, has its identity there.
      for free in try untaken(gap, root: root) {
        try assignIdentities(
          root: root, firstKey: free.lowerBound, count: Int64(free.count),
          firstIdentity: identity(of: ObjectKey(entity: root, key: free.lowerBound)),
          firstNumber: nil)
      }
    }
  }

  /// The keys of a gap whose minted identities no other key has.
  private func untaken(_ gap: ClosedRange<Int64>, root: Int32) throws -> [ClosedRange<Int64>] {
    let prefix = try mintPrefix()
    func minted(_ key: Int64) -> Data {
      MintedIdentity.identity(prefix: prefix, root: root, key: key).networkBytes
    }
    let taken = try connection.prepareUncached(
      "SELECT identity, count FROM ZDL_IDENTITY WHERE identity BETWEEN ? AND ? ORDER BY identity")
    taken.bind(minted(1), at: 1)
    taken.bind(minted(gap.upperBound), at: 2)
    var free: [ClosedRange<Int64>] = []
    var next = gap.lowerBound
    while try taken.step() {
      guard let identity = UUID(networkBytes: taken.data(0)),
        let first = try mintedKey(of: identity)?.key
      else { continue }
      if next < first { free.append(next...(first - 1)) }
      next = max(next, first.addingReportingOverflow(taken.int64(1)).partialValue)
    }
    if next <= gap.upperBound { free.append(next...gap.upperBound) }
    return free
  }

  /// Whether identities that begin like this are written down.
  private func isUsed(_ prefix: [UInt8]) throws -> Bool {
    let least = Data(prefix + [UInt8](repeating: 0, count: 10))
    let greatest = Data(prefix + [UInt8](repeating: 0xff, count: 10))
    return try connection.scalar(
      "SELECT 1 FROM ZDL_IDENTITY WHERE identity BETWEEN ? AND ?", .blob(least), .blob(greatest)
    ) != nil
  }
}

extension ReadTransaction {
  /// How many objects of an entity have identities that follow from this file's own bytes, and are written down nowhere.
  package func mintedObjects(of entity: EntityDescription) throws -> Int {
    let root = schema.rootNumber(of: schema.entityNumber(of: entity))
    let minted = try mintedKeys(
      root: root, through: PrimaryKeyTable.lastKey(of: Int64(root), on: connection))
    guard !minted.isEmpty else { return 0 }
    var count = 0
    // Both ascend.
    var rest = minted[...]
    try forEachKey(of: entity) { key in
      while let first = rest.first, first.upperBound < key.key { rest.removeFirst() }
      if rest.first?.contains(key.key) == true { count += 1 }
    }
    return count
  }

  /// The keys of a hierarchy that were given out and have no run: their identities follow from the prefix.
  fileprivate func mintedKeys(
    root: Int32, through last: Int64
  ) throws -> [ClosedRange<Int64>] {
    var gaps: [ClosedRange<Int64>] = []
    var next: Int64 = 1
    let statement = try connection.prepareUncached(
      "SELECT first_key, count FROM ZDL_IDENTITY WHERE root_entity = ? ORDER BY first_key")
    statement.bind(Int64(root), at: 1)
    while try statement.step() {
      let (first, count) = (statement.int64(0), statement.int64(1))
      if next < first, next <= last { gaps.append(next...min(first - 1, last)) }
      next = max(next, first.addingReportingOverflow(count).partialValue)
    }
    if next <= last { gaps.append(next...last) }
    return gaps
  }
}
