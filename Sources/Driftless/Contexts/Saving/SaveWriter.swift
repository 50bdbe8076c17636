import Foundation

/// Writes a context's changes of one store into a transaction. Objects stay as they are until it has committed.
struct SaveWriter {
  /// What an object becomes after a conflict: nil for deleted.
  struct Resolution {
    let object: ManagedObject
    let values: [PropertyValue]?
    let version: Int64
    /// Whether nothing of this context's changes is left.
    var isTheirs = false
  }

  /// A reference that a new object lost.
  struct Cut {
    let object: ManagedObject
    let slot: Int
    /// What its row has now.
    let version: Int64
  }

  let context: ManagedObjectContext
  let plan: ObjectPlan
  /// Those that wrote to other stores before, in the same save.
  let earlier: [SaveWriter]
  private(set) var transaction: Int64 = 0
  private(set) var inserted: [ManagedObject] = []
  /// The versions of those that come back under keys that had rows before, by temporary key; until they are written, 0.
  private var versionsOfReturned: [Int64: Int64] = [:]
  var updated: [ManagedObject] = []
  /// What the rows of `updated` have now.
  var versions: [Int64] = []
  var deleted: [ManagedObject] = []
  /// What the store worked out of what this save wrote.
  private(set) var derived = DerivedValues()
  var resolutions: [Resolution] = []
  /// References of new objects that the policy's decisions left without an answer.
  var cuts: [Cut] = []
  /// Objects of the context that others had deleted, and that were inserted again.
  var revived: [ManagedObject] = []
  /// Objects that this save took members from by adding these elsewhere, without having changed them here.
  private(set) var formerHolders: [ObjectKey] = []
  /// Changed objects whose rows have other versions, until the merge policy has decided.
  var stale: [(object: ManagedObject, mask: PropertyMask, pairs: PropertyMask)] = []
  /// Deleted ones of the same kind.
  var staleDeletes: [ManagedObject] = []
  /// Those of them that others gave members since, of which the context does not know.
  var lateOwners: Set<ManagedObject> = []
  /// Objects that were deleted along with them.
  var deletedAlong: [ManagedObject] = []
  /// Rows that let go of what is deleted, and were not changed here.
  var freed: [ObjectKey] = []
  /// What the merge policy decided.
  var decided: [ManagedObjectID: MergePolicyType] = [:]
  /// Permanent keys by the place in the temporary one; 0 for objects that are no more.
  private var newKeys: [ObjectKey?]
  /// The identities of new objects that were given one, by temporary key.
  private var identities: [Int64: UUID] = [:]
  /// Those of them that no object of the store ever had; each leaves the set with the object that gets it.
  private var unknown: Set<UUID> = []

  init(context: ManagedObjectContext, plan: ObjectPlan, after earlier: [SaveWriter] = []) {
    self.context = context
    self.plan = plan
    self.earlier = earlier
    newKeys = Array(repeating: nil, count: context.graph.keys.newCount)
  }

  mutating func write(to transaction: WriteTransaction) throws {
    self.transaction = transaction.number
    try settleConstraints(transaction)
    let pending = context.changedObjects.selected { object in
      object.isIn(context) && object.hasChanges && object.shape.planIndex == plan.index
    }
    inserted = pending.selected { $0.isInserted && !$0.isDeleted }
    let others = inserted.count < pending.count ? pending : []
    let changed = others.selected { $0.isUpdated }
    let doomed = others.selected { $0.isDeleted && !$0.isInserted }
    let linked = pending.selected { !$0.isDeleted && !$0.collections.isEmpty }
    try nameInserted(transaction)
    try insertRows(transaction)
    try changed.walk { try update($0, transaction) }
    try resolveUpdates(doomed, transaction)
    try freeMembersOfGone(transaction)
    // Pairs and places come when all rows are there; what leaves a holder does so before it comes to another.
    let dropped = Set(
      resolutions.lazy.filter { $0.isTheirs }.map { ObjectIdentifier($0.object) }
        + deleted.lazy.map { ObjectIdentifier($0) })
    let holders = linked.selected { !dropped.contains(ObjectIdentifier($0)) }
    if plan.oneSidedRelations.contains(where: \.isExclusive) {
      for object in holders { try letMembersGo(of: object, transaction) }
    }
    let absent = keysOfGone
    for object in holders { try writePairs(of: object, without: absent, transaction) }
    if !revived.isEmpty { try relateAnew(revived, transaction) }
    let gone = Set(deleted.lazy.map { ObjectIdentifier($0) })
    // The policy may have refreshed one, and given the delete up.
    let leaving = try doomed.selected { $0.isDeleted && !gone.contains(ObjectIdentifier($0)) }
      .filter { try !isGone($0, transaction) }
    lateOwners = try owners(ofMembersUnknownAmong: leaving, transaction)
    for object in leaving {
      if lateOwners.contains(object) {
        staleDeletes.append(object)
      } else {
        try delete(object, transaction)
      }
    }
    try resolveDeletes(transaction)
    try cutUnansweredReferences(transaction)
    formerHolders = transaction.formerHolders + freed
    if !formerHolders.isEmpty {
      let known = Set((updated + deleted).map(\.objectKey))
      formerHolders.removeAll { known.contains($0) }
    }
    assert(updated.count == versions.count, "each row that was written has the version it got")
    try derived.read(transaction)
  }

  /// The objects whose derived attributes alone changed.
  var derivedOnly: [ObjectKey] { derived.keys(besides: inserted + updated + deleted) }

  // MARK: Keys

  /// Gives all new objects their keys first, so that they can refer to each other.
  private mutating func nameInserted(_ transaction: WriteTransaction) throws {
    // A merge policy may have made further ones.
    while newKeys.count < context.graph.keys.newCount { newKeys.append(nil) }
    if context.graph.keys.hasIdentities { try nameIdentities(transaction) }
    var counts = [Int](repeating: 0, count: plan.numberCount)
    inserted.walk { object in
      guard object.key < 0, newKeys[place(of: object.key)] == nil else { return }
      counts[Int(object.shape.number)] += 1
    }
    var next = [Int64](repeating: 0, count: plan.numberCount)
    for (number, count) in counts.enumerated() where count > 0 {
      guard let shape = plan.shape(numbered: Int32(number)) else { continue }
      next[number] = try transaction.allocateKeys(shape.entity, count: count).lowerBound
    }
    inserted.walk { object in
      guard object.key < 0 else { return }
      let place = place(of: object.key)
      guard newKeys[place] == nil else { return }
      let number = object.shape.number
      newKeys[place] = ObjectKey(entity: number, key: next[Int(number)])
      next[Int(number)] += 1
    }
    for key in context.saving.formerKeys where newKeys.indices.contains(place(of: key)) {
      guard let holder = context.newKeyHolder(of: key) else { continue }
      newKeys[place(of: key)] = newKey(holder.objectKey)
    }
  }

  /// Looks for the identities that new objects were given, all at once: most are nobody's.
  private mutating func nameIdentities(_ transaction: WriteTransaction) throws {
    var given: [UUID: ManagedObject] = [:]
    for object in inserted {
      guard let identity = context.graph.keys.identity(of: object.key) else { continue }
      given[identity] = object
      identities[object.key] = identity
    }
    unknown = Set(given.keys)
    try transaction.forEachKnown(given.keys) { identity in
      unknown.remove(identity)
      if let object = given[identity] { try reuseKey(of: object, transaction) }
    }
  }

  /// An object that comes back under the identity of a deleted one takes its key: to the zone it is the same object.
  private mutating func reuseKey(
    of object: ManagedObject, _ transaction: WriteTransaction
  ) throws {
    guard let given = context.graph.keys.identity(of: object.key) else { return }
    let identity = try transaction.identity(given, forNew: object.entity)
    identities[object.key] = identity
    guard let key = try transaction.key(ofOwnOrAlias: identity) else {
      // One that a key of this store leads to may be another new object's a moment later.
      if try transaction.mintedKey(of: identity) == nil { unknown.insert(identity) }
      return
    }
    guard try transaction.row(key) == nil,
      plan.shape(numbered: key.entity)?.hierarchy == object.shape.hierarchy
    else { return }
    newKeys[place(of: object.key)] = ObjectKey(entity: object.shape.number, key: key.key)
    versionsOfReturned[object.key] = 0
  }

  /// What the row of a new object has, before the object takes its permanent key.
  func version(ofNew object: ManagedObject) -> Int64 { versionsOfReturned[object.key] ?? 1 }

  private func place(of temporaryKey: Int64) -> Int {
    context.graph.keys.place(of: temporaryKey)
  }

  /// The permanent key for a temporary one; 0 when the object is no more.
  func newKey(of key: Int64) -> ObjectKey {
    let place = place(of: key)
    guard newKeys.indices.contains(place) else { return ObjectKey(entity: 0, key: 0) }
    return newKeys[place] ?? ObjectKey(entity: 0, key: 0)
  }

  /// The permanent key, which a new object may have already.
  func newKey(_ key: ObjectKey) -> ObjectKey { key.key < 0 ? newKey(of: key.key) : key }

  /// The reference with its permanent key, or null when the object is no more.
  func renamed(_ value: PropertyValue) -> PropertyValue {
    guard case .reference(let key) = value, key.key < 0 else { return value }
    let permanent = newKey(of: key.key)
    return permanent.key > 0 ? .reference(permanent) : .null
  }

  /// The object's values as they are to be stored.
  func withStoredValues(
    _ object: ManagedObject, _ body: (ValueRow) throws -> Void
  ) rethrows {
    let refersToNew = object.shape.toOneSlots.contains { slot in
      if case .reference(let key) = object.values[slot] { return key.key < 0 }
      return false
    }
    if refersToNew { return try storedValues(object).withRow(body) }
    try body(object.row)
  }

  func storedValues(_ object: ManagedObject) -> [PropertyValue] {
    (0..<object.shape.slotCount).map { renamed(object.values[$0]) }
  }

  /// Adds the keys that new objects got, by their temporary ones.
  func collectNewKeys(_ keys: inout [Int64: PlacedKey]) {
    for (place, key) in newKeys.enumerated() {
      guard let key else { continue }
      keys[context.graph.keys.temporaryKey(at: place)] = PlacedKey(plan: plan.index, key: key)
    }
  }

  // MARK: Rows

  /// Writes new objects, those of one entity that follow each other at once.
  private mutating func insertRows(_ transaction: WriteTransaction) throws {
    var rows = NewRows(
      naming: NewRows.Naming(newKeys: newKeys, base: context.graph.keys.temporaryBase))
    var shape: ObjectShape?
    rows.reserveCapacity(inserted.count)
    try inserted.walk { object in
      if object.shape !== shape {
        if let shape, rows.count > 0 { try transaction.insert(shape.entity, rows) }
        rows.removeAll()
        shape = object.shape
      }
      let key = newKey(object.objectKey).key
      assert(key > 0, "all new objects have their keys before a row refers to one")
      guard versionsOfReturned.isEmpty || versionsOfReturned[object.key] == nil else {
        let values = storedValues(object)
        versionsOfReturned[object.key] = try transaction.insert(
          object.shape.entity, key, values: values)
        return
      }
      rows.append(key, object.row)
    }
    if let shape, rows.count > 0 { try transaction.insert(shape.entity, rows) }
    guard context.graph.keys.hasIdentities else { return }
    for object in inserted {
      if let identity = identities[object.key] {
        try transaction.assignIdentity(
          newKey(object.objectKey), identity, isUnknown: unknown.remove(identity) != nil)
      }
    }
  }

  private mutating func update(_ object: ManagedObject, _ transaction: WriteTransaction) throws {
    var mask = PropertyMask()
    var pairSlots = PropertyMask()
    object.changedSlots.forEach { slot in
      guard object.shape.kinds[slot] == .toMany, let relation = object.shape.relations[slot] else {
        return mask.insert(slot)
      }
      if relation.isManyToMany, relation.isRecorded || relation.isOrdered { pairSlots.insert(slot) }
    }
    if !mask.isEmpty {
      var whole = mask
      whole.formUnion(pairSlots)
      let isCurrent = try matchingVersion {
        try withStoredValues(object) {
          try transaction.update(
            object.objectKey, whole, values: $0, expectedVersion: object.version)
        }
      }
      guard isCurrent else { return stale.append((object, mask, pairSlots)) }
      updated.append(object)
      // A file may say the greatest version that there is.
      versions.append(object.version &+ 1)
    } else {
      // A change of a to-many relationship alone writes no column, and looks for the row all the same.
      guard
        try object.collections.isEmpty || plan.store.readsOutside
          || transaction.hasOwnRow(object.objectKey)
      else {
        guard context.losesOnlyDeleted(object) else {
          return stale.append((object, mask, pairSlots))
        }
        // What is gone has nothing to lose, and is no conflict.
        return resolutions.append(.init(object: object, values: nil, version: 0, isTheirs: true))
      }
      if !pairSlots.isEmpty { try transaction.recordUpdate(object.objectKey, pairSlots) }
      updated.append(object)
      versions.append(object.version)
    }
  }

  mutating func delete(_ object: ManagedObject, _ transaction: WriteTransaction) throws {
    // A fault was not read, so there is nothing that another save could contradict.
    let version = object.version > 0 ? object.version : nil
    let isCurrent = try matchingVersion {
      if try hasAnotherHolder(object, transaction) {
        throw WriteTransaction.conflict(object.objectKey)
      }
      try remove(object, expectedVersion: version, transaction)
    }
    if !isCurrent { staleDeletes.append(object) }
  }

  mutating func remove(
    _ object: ManagedObject, expectedVersion: Int64?, _ transaction: WriteTransaction
  ) throws {
    let key = object.objectKey
    var isChecked = false
    for case let relation? in object.shape.relations where relation.isManyToMany {
      let pairs = try transaction.toManyKeys(of: key, relation.description)
      guard !pairs.isEmpty else { continue }
      // An object that stays keeps its pairs, as does one of another entity that has the key by now.
      if !isChecked { try transaction.require(expectedVersion, of: key) }
      isChecked = true
      try transaction.removePairs(relation.description, key, pairs)
    }
    let holding = plan.oneSidedRelations.filter { object.shape.isKind(of: $0.destination) }
    if !holding.isEmpty {
      if !isChecked { try transaction.require(expectedVersion, of: key) }
      try leaveHolders(object, holding, transaction)
    }
    try transaction.delete(key, expectedVersion: expectedVersion)
    deleted.append(object)
  }

  /// False when the row has another version, or is gone.
  private func matchingVersion(_ body: () throws -> Void) throws -> Bool {
    do {
      try body()
      return true
    } catch let error as StoreError where error.code == .conflict {
      return false
    }
  }

  // MARK: Relationships

  /// Writes the pairs of many-to-many relationships and the places of ordered ones.
  ///
  /// - Parameter absent: Objects without a row, which nothing is to hold.
  func writePairs(
    of object: ManagedObject, without absent: Set<ObjectKey> = [], _ transaction: WriteTransaction
  ) throws {
    guard !object.collections.isEmpty else { return }
    for slot in object.shape.toManySlots {
      guard let state = object.collections[slot], state.hasChanges,
        let relation = object.shape.relations[slot]
      else { continue }
      let source = newKey(object.objectKey)
      if relation.isManyToMany, relation.isRecorded {
        let removed = state.removed.values.map(newKey).filter { $0.key > 0 }
        let added = state.added.map(newKey).filter { $0.key > 0 && !absent.contains($0) }
        if !removed.isEmpty {
          try transaction.removePairs(relation.description, source, removed)
        }
        if !added.isEmpty { try transaction.addPairs(relation.description, source, added) }
      }
      if relation.isOrdered { try writeOrder(of: state, relation, source, transaction) }
    }
  }

  private func writeOrder(
    of state: ToManyState, _ relation: Relation, _ source: ObjectKey,
    _ transaction: WriteTransaction
  ) throws {
    // A join table's new pairs have their places already, at the end.
    if relation.isManyToMany, state.arranged == nil { return }
    let order: [ObjectKey]
    let added = state.added.map(newKey)
    if let arranged = state.arranged {
      order = arranged.map(newKey)
    } else {
      let stored = try transaction.toManyKeys(of: source, relation.description)
      let new = Set(added)
      order = stored.filter { !new.contains($0) } + added
    }
    try transaction.setOrder(
      relation.description, source, order.filter { $0.key > 0 },
      added: relation.isManyToMany ? [] : Set(added.lazy.map(\.key)))
  }
}
