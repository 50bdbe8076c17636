/// Who added which object to a to-many relationship without inverse, and did not save that yet: the object itself does not
/// know, and may be let go of meanwhile.
struct MemberClaims {
  /// By the member's key. Who took the addition back since is still among them, and keys of several stores meet here: each
  /// owner says itself what it adds.
  private var owners: [Int64: [ManagedObject]] = [:]

  func owners(of member: Int64) -> [ManagedObject] { owners[member] ?? [] }

  mutating func note(_ owner: ManagedObject, of member: Int64) {
    if owners[member]?.last !== owner { owners[member, default: []].append(owner) }
  }

  /// Members have other keys.
  mutating func rename(_ renamed: [Int64: PlacedKey]) {
    guard !owners.isEmpty else { return }
    for (old, place) in renamed {
      if let former = owners.removeValue(forKey: old) {
        owners[place.key.key, default: []] += former
      }
    }
  }

  mutating func removeAll() { owners = [:] }

  mutating func removeAll(where isDone: (ManagedObject) -> Bool) {
    owners = owners.compactMapValues { owners in
      let others = owners.filter { !isDone($0) }
      return others.isEmpty ? nil : others
    }
  }
}

/// To-many relationships without inverse: members do not know who holds them.
extension ObjectGraph {
  /// The objects that hold another by such a relationship, unsaved changes counted. One at most where that is the rule. Nil in
  /// a replica with pairs.
  func holders(of object: ManagedObject, in relation: Relation) -> [ManagedObject]? {
    var found: [ManagedObject] = []
    var known: Set<ObjectIdentifier> = []
    for owner in ledger.claims.owners(of: object.key)
    where owner.isIn(self) && owner.has(relation, in: object.shape.planIndex) {
      guard owner.collection(ifUsed: relation.slot)?.adds(object.key) == true else { continue }
      if known.insert(ObjectIdentifier(owner)).inserted { found.append(owner) }
    }
    if relation.isExclusive, !found.isEmpty { return found }
    guard !object.isInserted else { return found }
    var keys: [ObjectKey]? = []
    deferError { keys = try source?.storedHolders(of: object, in: relation) }
    guard let keys else { return nil }
    for key in keys {
      let holder = self.object(for: key, in: object.shape.planIndex, adopting: ManagedObject.self)
      guard let holder, holder.collection(ifUsed: relation.slot)?.removed[object.key] == nil else {
        continue
      }
      if known.insert(ObjectIdentifier(holder)).inserted { found.append(holder) }
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
  /// Whether it has such a relationship, and used it, in a store: others of one model have the same relationships, and objects
  /// of the same keys.
  final func has(_ relation: Relation, in plan: Int) -> Bool {
    !collections.isEmpty && shape.planIndex == plan
      && shape.relations.indices.contains(relation.slot)
      && shape.relations[relation.slot]?.description === relation.description
  }

  /// What it holds without having saved that is its claim.
  final func noteClaims() {
    for slot in shape.toManySlots where shape.relations[slot]?.isOneSided == true {
      for member in collection(ifUsed: slot)?.added ?? [] {
        graph?.ledger.claims.note(self, of: member.key)
      }
    }
  }
}
