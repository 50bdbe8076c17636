/// To-many relationships without inverse: members do not know who holds them.
extension SaveWriter {
  /// Writes which members an object lets go of.
  func letMembersGo(of object: ManagedObject, _ transaction: WriteTransaction) throws {
    for case let relation? in object.shape.relations where relation.isExclusive {
      guard let state = object.collection(ifUsed: relation.slot), !state.removed.isEmpty else {
        continue
      }
      let removed = state.removed.values.map(newKey).filter { $0.key > 0 }
      try transaction.removePairs(relation.description, newKey(object.objectKey), removed)
    }
  }

  /// Whether an object that is deleted because its holder is has been given to another since, which stays.
  func hasAnotherHolder(
    _ object: ManagedObject, _ transaction: WriteTransaction
  ) throws -> Bool {
    guard object.state.contains(.cascaded) else { return false }
    for relation in plan.oneSidedRelations
    where relation.isExclusive && relation.description.deleteRule == .cascade
      && object.shape.isKind(of: relation.destination)
    {
      for holder in try transaction.sources(holding: object.objectKey, in: relation.description) {
        if context.graph.registered(holder, in: plan.index)?.isDeleted != true { return true }
      }
    }
    return false
  }

  /// An object that is deleted leaves those that came to hold it since, of which the context does not know.
  func leaveHolders(
    _ object: ManagedObject, _ relations: [Relation], _ transaction: WriteTransaction
  ) throws {
    for relation in relations {
      try transaction.leaveHolders(object.objectKey, relation.description) { holder in
        context.graph.registered(holder, in: plan.index)?.isDeleted != true
      }
    }
  }

  /// An object that others deleted is there again: with what it holds here, and held by whom it is held here, as far as
  /// that was read.
  func relateAnew(_ object: ManagedObject, _ transaction: WriteTransaction) throws {
    for case let relation? in object.shape.relations where relation.isOneSided {
      guard let state = object.collection(ifUsed: relation.slot), state.isRead else { continue }
      try add(state.content.map(newKey), to: relation, of: object, transaction)
    }
    // In a replica with pairs they stayed.
    for relation in plan.oneSidedRelations
    where object.shape.isKind(of: relation.destination)
      && (relation.isExclusive || !transaction.keepsForSync)
    {
      for holder in context.graph.keys.savedObjects
      where !holder.isDeleted && holder.holds(object.key, by: relation) {
        try add([object.objectKey], to: relation, of: holder, transaction)
        try transaction.recordUpdate(holder.objectKey, PropertyMask([relation.slot]))
      }
    }
  }

  /// Adds members whose rows are there, and which nobody else came to hold alone.
  private func add(
    _ members: [ObjectKey], to relation: Relation, of holder: ManagedObject,
    _ transaction: WriteTransaction
  ) throws {
    let present = try members.filter { key in
      guard key.key > 0, try transaction.row(key) != nil else { return false }
      return try !relation.isExclusive
        || transaction.sources(holding: key, in: relation.description).isEmpty
    }
    guard !present.isEmpty else { return }
    try transaction.addPairs(relation.description, holder.objectKey, present)
  }

  /// Objects that this save took members from have fewer: they are read again.
  func refreshFormerHolders() {
    for key in formerHolders {
      guard let object = context.graph.registered(key, in: plan.index) else { continue }
      object.forgetStoredCollections()
    }
  }
}

extension ManagedObject {
  /// Whether it has a member by this relationship, as far as that was read.
  fileprivate final func holds(_ key: Int64, by relation: Relation) -> Bool {
    guard has(relation), let state = collection(ifUsed: relation.slot), state.isRead else {
      return false
    }
    return state.contains(key)
  }
}
