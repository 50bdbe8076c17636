/// Objects that others gave members to which a save deletes, without its context knowing of them: they came after the delete
/// rules were followed. No row is left that refers to one that is gone, unless the rule says so.
extension SaveWriter {
  /// Those of the objects that rows refer to which stay.
  func owners(
    ofMembersUnknownAmong doomed: [ManagedObject], _ transaction: WriteTransaction
  ) throws -> Set<ManagedObject> {
    var owners: Set<ManagedObject> = []
    try forEachReference(to: doomed, transaction) { owner, member, _ in
      if context.graph.registered(member, in: plan.index)?.isDeleted != true {
        owners.insert(owner)
      }
    }
    return owners
  }

  /// Hands over which rows refer to the objects, by relationships whose other end has a rule for it: one statement for each.
  private func forEachReference(
    to owners: [ManagedObject], _ transaction: WriteTransaction,
    _ body: (_ owner: ManagedObject, _ member: ObjectKey, _ relation: Relation) throws -> Void
  ) throws {
    guard !owners.isEmpty, !plan.store.readsOutside else { return }
    let byShape = Dictionary(grouping: owners) { $0.shape.number }
    for shape in plan.shapes {
      for case let relation? in shape.relations
      where !relation.isToMany && relation.description.entity === shape.entity {
        guard let inverse = relation.description.inverseRelationship,
          inverse.deleteRule != .noAction,
          let column = transaction.column(of: relation.description)
        else { continue }
        let referred = byShape.values.lazy.filter { $0[0].shape.isKind(of: relation.destination) }
          .flatMap { $0 }
        let keys = referred.map(\.key)
        guard !keys.isEmpty else { continue }
        let objects = Dictionary(
          referred.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        try transaction.forEachReference(
          to: Array(keys), in: column, of: shape.entity
        ) { key, member in
          guard let owner = objects[key] else { return }
          try body(owner, member, relation)
        }
      }
    }
  }

  /// Deletes what the merge policy deletes though others gave it members, and follows its rules for these in the store.
  mutating func deleteWithMembers(_ transaction: WriteTransaction) throws {
    let stay = Set(resolutions.lazy.map(\.object))
    let done = Set(deleted)
    let owners = staleDeletes.filter {
      lateOwners.contains($0) && !stay.contains($0) && !done.contains($0)
    }
    guard !owners.isEmpty else { return }
    try checkNoneDenies(owners, transaction)
    var deletion = try BatchDeletion(transaction, plan, keepsFreed: true)
    defer { deletion.drop() }
    try deletion.add(owners.map(\.objectKey))
    var tally = BatchTally(.objectIDs, plan)
    try deletion.run(&tally)
    noteGone(tally.keys)
    try noteFreed(deletion.freed, transaction)
  }

  /// Objects that others deleted and that stay so, though this save changed them.
  var keysOfGone: Set<ObjectKey> {
    Set(resolutions.lazy.filter { $0.values == nil }.map(\.object.objectKey))
  }

  /// The keys of objects once all is written; 0 for those that are no more.
  var savedKeys: (ObjectKey) -> ObjectKey {
    let gone = keysOfGone
    if gone.isEmpty { return { newKey($0) } }
    return { gone.contains($0) ? ObjectKey(entity: 0, key: 0) : newKey($0) }
  }

  /// This save may have given members to what others deleted: they refer to nothing, or the save fails where they must refer to
  /// something. Where another object has the key by now, they are that one's.
  mutating func freeMembersOfGone(_ transaction: WriteTransaction) throws {
    let gone = try resolutions.lazy.filter { $0.values == nil }.map(\.object).filter {
      try transaction.concreteKey(root: $0.objectKey) == nil
    }
    var members: [(key: ObjectKey, relation: Relation)] = []
    try forEachReference(to: gone, transaction) { members.append(($1, $2)) }
    guard !members.isEmpty else { return }
    let new = Dictionary(
      inserted.map { (newKey($0.objectKey), $0) }, uniquingKeysWith: { first, _ in first })
    var shown: [ObjectKey] = []
    for (key, relation) in members {
      try write(.null, to: key, at: relation.slot, transaction)
      try requireOptional(relation, of: key)
      if let object = new[key], let row = try transaction.ownRow(key) {
        cuts.append(Cut(object: object, slot: relation.slot, version: row.version))
      } else {
        shown.append(key)
      }
    }
    try showRows(of: shown, transaction)
  }

  private func checkNoneDenies(
    _ owners: [ManagedObject], _ transaction: WriteTransaction
  ) throws {
    var items: [ManagedObject: ValidationFailure.Item] = [:]
    try forEachReference(to: owners, transaction) { owner, member, relation in
      guard let inverse = relation.description.inverseRelationship, inverse.deleteRule == .deny,
        context.graph.registered(member, in: plan.index)?.isDeleted != true
      else { return }
      items[owner] = ValidationFailure.Item(
        objectID: owner.objectID,
        error: ValidationError(
          code: ValidationError.relationshipDeniedDelete, property: inverse,
          message: "got objects by another save, and its delete rule is deny"))
    }
    try ValidationFailure.check(Array(items.values))
  }

  /// Objects went along, whatever this save wrote of them.
  private mutating func noteGone(_ keys: [ObjectKey]) {
    let objects = keys.compactMap {
      context.graph.object(for: $0, in: plan.index, adopting: ManagedObject.self)
    }
    forgetWritten(objects)
    deleted += objects
    deletedAlong += objects.filter { !$0.isDeleted }
  }

  /// Objects lost what they referred to.
  private mutating func noteFreed(
    _ freed: [(key: ObjectKey, relation: Relation)], _ transaction: WriteTransaction
  ) throws {
    for (key, relation) in freed { try requireOptional(relation, of: key) }
    try showRows(of: freed.map(\.key), transaction)
  }

  /// What is required cannot be lost.
  func requireOptional(_ relation: Relation, of key: ObjectKey) throws {
    guard !relation.description.isOptional, let id = plan.objectID(key) else { return }
    let error = ValidationError(
      code: ValidationError.missingMandatoryProperty, property: relation.description,
      message: "is required, and what it refers to is deleted")
    try ValidationFailure.check([ValidationFailure.Item(objectID: id, error: error)])
  }

  /// Objects become what their rows are, whatever was written of them before.
  mutating func showRows(of keys: [ObjectKey], _ transaction: WriteTransaction) throws {
    var seen: Set<ObjectKey> = []
    var shown: [Resolution] = []
    for key in keys where seen.insert(key).inserted {
      guard let row = try transaction.ownRow(key) else { continue }
      guard let object = context.graph.registered(key, in: plan.index), !object.lacksValues else {
        freed.append(key)
        continue
      }
      shown.append(.init(object: object, values: row.values, version: row.version))
    }
    forgetWritten(shown.map(\.object))
    resolutions += shown
  }

  private mutating func forgetWritten(_ objects: [ManagedObject]) {
    let objects = Set(objects.lazy.map { ObjectIdentifier($0) })
    guard !objects.isEmpty else { return }
    let kept = updated.indices.filter { !objects.contains(ObjectIdentifier(updated[$0])) }
    if kept.count < updated.count {
      (updated, versions) = (kept.map { updated[$0] }, kept.map { versions[$0] })
    }
    resolutions.removeAll { objects.contains(ObjectIdentifier($0.object)) }
  }

  /// What the merge policy keeps, writes or inserts again may refer to what is deleted, here or by others: the one that took it
  /// along.
  mutating func freeThoseThatStay(_ transaction: WriteTransaction) throws {
    // What a store of the application's own holds is asked of it, and is not here.
    guard !plan.store.readsOutside else { return }
    var freed: [(key: ObjectKey, relation: Relation)] = []
    for resolution in resolutions {
      guard let values = resolution.values else { continue }
      let object = resolution.object
      for slot in object.shape.toOneSlots {
        guard let relation = object.shape.relations[slot],
          let inverse = relation.description.inverseRelationship, inverse.deleteRule != .noAction,
          case .reference(let key) = values[slot], try transaction.concreteKey(root: key) == nil
        else { continue }
        let empty = [PropertyValue](repeating: .null, count: slot + 1)
        try transaction.update(
          object.objectKey, PropertyMask([slot]), values: empty, expectedVersion: nil)
        freed.append((object.objectKey, relation))
      }
    }
    try noteFreed(freed, transaction)
  }
}

extension ManagedObjectContext {
  /// Whether all that was changed of a saved object is that it lost members which this save deletes.
  func losesOnlyDeleted(_ object: ManagedObject) -> Bool {
    guard object.isUpdated, !object.changed.isEmpty else { return false }
    return object.changed.indexes.allSatisfy { slot in
      guard object.shape.kinds[slot] == .toMany, let state = object.collection(ifUsed: slot),
        state.added.isEmpty
      else { return false }
      return state.removed.values.allSatisfy {
        graph.registered($0, in: object.shape.planIndex)?.isDeleted == true
      }
    }
  }

  /// Whether an object's row is gone, and it counts as deleted or only lost members that go as well: there is nothing of it
  /// to check.
  func isGoneAndUnchanged(_ object: ManagedObject) -> Bool {
    object.state.contains(.missing) && (object.isDeleted || losesOnlyDeleted(object))
  }
}
