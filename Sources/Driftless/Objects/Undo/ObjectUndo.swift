/// Opposites of changes to properties.
extension ManagedObject {
  /// The opposite of a write.
  final func restore(_ old: PropertyValue, at slot: Int) {
    guard let graph else { return }
    var value = old
    if case .reference(let key) = old {
      value = .reference(graph.keys.newest(key, in: shape.planIndex))
    }
    write(value, at: slot)
    if shape.relations[slot] != nil {
      noteMove(at: slot)
      graph.showHiddenMembers()
    }
    graph.noteReplayed(self, .undoUpdate)
  }

  /// The opposite of ``link(_:at:)`` at a to-many end.
  final func undoLink(_ object: ManagedObject, at slot: Int) {
    unlink(object, at: slot)
    graph?.noteReplayed(self, .undoUpdate)
  }

  /// The opposite of ``unlink(_:at:)`` at a to-many end; in an ordered one it stood behind `other`.
  final func undoUnlink(_ object: ManagedObject, after other: ManagedObject?, at slot: Int) {
    // Its own end follows.
    let before = graph?.departing
    graph?.departing = object
    link(object, at: slot)
    if shape.relations[slot]?.isOrdered == true {
      collection(slot, reading: true).place(object.objectKey, after: other?.key)
    }
    graph?.departing = before
    graph?.noteReplayed(self, .undoUpdate)
  }

  /// The opposite of a move within an ordered relationship.
  final func undoMove(_ object: ManagedObject, after other: ManagedObject?, at slot: Int) {
    place(object, after: other, at: slot)
    graph?.noteReplayed(self, .undoUpdate)
  }

  /// Gives the objects of an ordered relationship the places that they had; those that came since go to the end.
  final func rearrange(_ old: [ManagedObject], at slot: Int) {
    let present = destinations(slot)
    let known = Set(old.map { ObjectIdentifier($0) })
    let there = Set(present.map { ObjectIdentifier($0) })
    arrange(
      old.filter { there.contains(ObjectIdentifier($0)) }
        + present.filter { !known.contains(ObjectIdentifier($0)) }, at: slot)
    graph?.noteReplayed(self, .undoUpdate)
  }
}
