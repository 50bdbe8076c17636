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

  /// Objects that others deleted are there again: with what they hold here, and held by whom they are held here, as far as
  /// that was read.
  func relateAnew(_ revived: [ManagedObject], _ transaction: WriteTransaction) throws {
    for object in revived {
      for case let relation? in object.shape.relations where relation.isOneSided {
        guard let state = object.collection(ifUsed: relation.slot), state.isRead else { continue }
        _ = try add(state.content.map(newKey), to: relation, of: object, transaction)
      }
    }
    // In a replica with pairs they stayed.
    let relations = plan.oneSidedRelations.filter { $0.isExclusive || !transaction.keepsForSync }
    guard !relations.isEmpty else { return }
    let byKey = Dictionary(grouping: revived, by: \.key)
    for holder in context.graph.keys.savedObjects
    where !holder.isDeleted && !holder.collections.isEmpty {
      for relation in relations where holder.has(relation, in: plan.index) {
        guard let state = holder.collection(ifUsed: relation.slot), state.isRead else { continue }
        let members = state.content.flatMap { byKey[$0.key] ?? [] }
          .filter { $0.shape.isKind(of: relation.destination) }.map(\.objectKey)
        // Others may have deleted the holder as well.
        guard try !members.isEmpty && transaction.hasOwnRow(holder.objectKey),
          try add(members, to: relation, of: holder, transaction)
        else { continue }
        try transaction.recordUpdate(holder.objectKey, PropertyMask([relation.slot]))
      }
    }
  }

  /// Adds members whose rows are there, and which nobody else came to hold alone. False when there is none to add.
  private func add(
    _ members: [ObjectKey], to relation: Relation, of holder: ManagedObject,
    _ transaction: WriteTransaction
  ) throws -> Bool {
    let added = try members.filter { key in
      guard key.key > 0, try transaction.hasOwnRow(key) else { return false }
      let holders = try transaction.sources(holding: key, in: relation.description)
      return relation.isExclusive ? holders.isEmpty : !holders.contains(holder.objectKey)
    }
    guard !added.isEmpty else { return false }
    try transaction.addPairs(relation.description, holder.objectKey, added)
    return true
  }

  /// Objects that this save took members from have fewer: they are read again.
  func refreshFormerHolders() {
    for key in formerHolders {
      guard let object = context.graph.registered(key, in: plan.index) else { continue }
      object.forgetStoredCollections()
    }
  }
}
