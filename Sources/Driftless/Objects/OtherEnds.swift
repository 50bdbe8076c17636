/// What an object's unsaved changes did to the objects at the other ends of its relationships, and how that is given up
/// with them.
extension ManagedObject {
  /// What its to-many relationships hold by what others refer to.
  struct HeldMembers {
    let slot: Int
    let added: [ObjectKey]
    let removed: [ObjectKey]
  }

  /// What it was set to refer to, without having been saved, does not have it any more; what it referred to before has it
  /// again. Whom others were set to refer to is their change, not its own.
  final func leaveOtherEnds() {
    changed.forEach { leaveOtherEnd(at: $0) }
  }

  /// As above, of one property.
  final func leaveOtherEnd(at slot: Int) {
    guard let relation = shape.relations[slot], relation.inverseSlot >= 0 else { return }
    switch (relation.isToMany, relation.inverseIsToMany) {
    case (false, true):
      for case .reference(let end)? in [values[slot], committed?[slot]] {
        forgetChange(at: end, relation.inverseSlot)
      }
    case (true, true):
      guard let state = collection(ifUsed: slot) else { return }
      for end in state.added + state.removed.values { forgetChange(at: end, relation.inverseSlot) }
    case (false, false): leaveOnlyEnd(relation)
    case (true, false): return
    }
  }

  /// Its delete is given up, and with that what the delete rules did at the other ends.
  ///
  /// - Parameter undo: takes back that it is; nil where nothing is to be taken back.
  final func returnToOtherEnds(_ undo: UndoManager?) {
    for case let relation? in shape.relations where relation.inverseSlot >= 0 {
      let slot = relation.inverseSlot
      let ends =
        relation.isToMany
        ? collection(relation.slot, reading: true).content : references(relation.slot)
      for end in ends {
        if relation.inverseIsToMany {
          guard forgetChange(at: end, slot) else { continue }
          guard let undo, let other = graph?.registered(end, in: shape.planIndex) else { continue }
          undo.registerUndo(withTarget: other) { $0.undoLink(self, at: slot) }
        } else if let other = neighbour(.reference(end)), other.values[slot].isNull,
          isReferred(by: other.committed?[slot])
        {
          if undo == nil {
            other.giveUpChange(at: slot)
          } else {
            other.write(.reference(objectKey), at: slot)
          }
        }
      }
    }
  }

  /// Others deleted it: what unsaved changes made refer to it refers to nothing.
  final func cutUnsavedReferences() {
    for case let relation? in shape.relations where relation.inverseSlot >= 0 {
      let slot = relation.slot
      let ends =
        relation.isToMany
        ? collection(ifUsed: slot)?.added ?? [] : changed.contains(slot) ? references(slot) : []
      for end in ends {
        if relation.inverseIsToMany {
          forgetChange(at: end, relation.inverseSlot)
        } else {
          graph?.registered(end, in: shape.planIndex)?.unlink(self, at: relation.inverseSlot)
        }
      }
    }
  }

  private final func references(_ slot: Int) -> [ObjectKey] {
    if case .reference(let key) = values[slot] { [key] } else { [] }
  }

  /// - Returns: whether something had changed there.
  @discardableResult
  private final func forgetChange(at end: ObjectKey, _ slot: Int) -> Bool {
    guard let end = graph?.registered(end, in: shape.planIndex),
      let state = end.collection(ifUsed: slot)
    else { return false }
    let hadChanged = state.removed[key] != nil || state.adds(key)
    state.forgetChange(of: key)
    end.tellObservers(slot)
    return hadChanged
  }

  /// One to one: whom it was set to refer to goes back to the object that it was taken from, and whom it referred to before
  /// comes back from whoever took it.
  private final func leaveOnlyEnd(_ relation: Relation) {
    let (slot, inverse) = (relation.slot, relation.inverseSlot)
    let (taken, former) = (neighbour(values[slot]), neighbour(committed?[slot]))
    guard taken !== former else { return }
    if let taken, taken.refers(to: self, at: inverse) {
      taken.put(.null, at: inverse)
      if let before = taken.neighbour(taken.committed?[inverse]), before !== self,
        before.values[slot].isNull, taken.isReferred(by: before.committed?[slot])
      {
        taken.put(.reference(before.objectKey), at: inverse)
        before.put(.reference(taken.objectKey), at: slot)
      }
    }
    if let former {
      if let other = former.neighbour(former.values[inverse]), other !== self,
        other.refers(to: former, at: slot)
      {
        other.put(.null, at: slot)
      }
      former.put(.reference(objectKey), at: inverse)
    }
  }

  /// The object of a reference, if it is here with its values and is to stay.
  private final func neighbour(_ value: PropertyValue?) -> ManagedObject? {
    guard case .reference(let key)? = value,
      let object = graph?.registered(key, in: shape.planIndex), !object.lacksValues,
      !object.isDeleted
    else { return nil }
    return object
  }

  private final func refers(to object: ManagedObject, at slot: Int) -> Bool {
    object.isReferred(by: values[slot])
  }

  private final func isReferred(by value: PropertyValue?) -> Bool {
    if case .reference(let key)? = value { key.key == self.key } else { false }
  }

  /// Sets an end that follows from a change which was given up: there is nothing to take back.
  private final func put(_ value: PropertyValue, at slot: Int) {
    if !isInserted { keepCommitted() }
    noteChange(slot)
    values[slot] = value
  }

  // MARK: Members that say so themselves

  /// Changes of to-many relationships whose members refer to one object: they stay while the members do.
  final var heldMembers: [HeldMembers] {
    shape.toManySlots.compactMap { slot in
      guard let relation = shape.relations[slot], relation.inverseSlot >= 0,
        !relation.inverseIsToMany, let state = collection(ifUsed: slot), state.hasChanges
      else { return nil }
      return HeldMembers(slot: slot, added: state.added, removed: Array(state.removed.values))
    }
  }

  /// A fault holds members again, and has changes as long as theirs are unsaved.
  final func putBack(_ members: [HeldMembers]) {
    for held in members where !held.added.isEmpty || !held.removed.isEmpty {
      let state = collection(held.slot, reading: false)
      for key in held.removed { state.remove(key) }
      for key in held.added { state.add(key) }
      noteChange(held.slot)
    }
  }

  // MARK: After a save that gave another value

  /// A save gave it these values in place of its own: who holds it is to be read again.
  final func forgetHolders(taking saved: [PropertyValue]?) {
    for slot in shape.toOneSlots {
      guard let relation = shape.relations[slot], relation.inverseSlot >= 0,
        relation.inverseIsToMany
      else { continue }
      let new = saved?[slot] ?? .null
      guard values[slot] != new else { continue }
      for case .reference(let end) in [values[slot], new] {
        guard let end = graph?.registered(end, in: shape.planIndex),
          let state = end.collection(ifUsed: relation.inverseSlot)
        else { continue }
        state.forgetStored()
        end.tellObservers(relation.inverseSlot)
      }
    }
  }
}
