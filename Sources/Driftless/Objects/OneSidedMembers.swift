/// To-many relationships without inverse: members do not know who holds them.
extension ObjectGraph {
  /// The objects that hold another by such a relationship, unsaved changes counted. One at most where that is the rule. Nil in
  /// a replica with pairs.
  func holders(of object: ManagedObject, in relation: Relation) -> [ManagedObject]? {
    var found: [ManagedObject] = []
    if object.state.contains(.claimed) {
      for owner in ledger.changed where owner.isIn(self) && owner.has(relation) {
        if owner.collection(ifUsed: relation.slot)?.adds(object.key) == true { found.append(owner) }
      }
      if relation.isExclusive, !found.isEmpty { return found }
    }
    guard !object.isInserted else { return found }
    var keys: [ObjectKey]? = []
    deferError { keys = try source?.storedHolders(of: object, in: relation) }
    guard let keys else { return nil }
    for key in keys {
      let holder = self.object(for: key, in: object.shape.planIndex, adopting: ManagedObject.self)
      guard let holder, holder.collection(ifUsed: relation.slot)?.removed[object.key] == nil else {
        continue
      }
      if !found.contains(where: { $0 === holder }) { found.append(holder) }
    }
    return found
  }

  /// An object goes: those who hold it let go of it, and hold it again when it comes back.
  func leaveHolders(of object: ManagedObject) {
    guard let shapes = shapes(at: object.shape.planIndex) else { return }
    for relation in shapes.oneSidedRelations where object.shape.isKind(of: relation.destination) {
      // Who goes as well keeps what it had, for the same reason.
      for holder in holders(of: object, in: relation) ?? [] where !holder.isDeleted {
        holder.unlink(object, at: relation.slot)
      }
    }
  }
}

extension ManagedObject {
  /// Whether it has such a relationship, and used it.
  final func has(_ relation: Relation) -> Bool {
    !collections.isEmpty && shape.relations.indices.contains(relation.slot)
      && shape.relations[relation.slot]?.description === relation.description
  }
}
