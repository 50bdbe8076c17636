import Foundation

/// Taking changes back, and doing them again.
///
/// Each change registers its opposite: of a property its old value, of a relationship one link at one end, of an insert
/// the delete. Opposites refer to objects, or to keys that the identity map brings up to date, so that
/// they work across saves.
extension ManagedObjectContext {
  /// Takes the last event's changes back. Without an ``undoManager`` it does nothing.
  ///
  /// Changes that were saved are taken back as new changes, which the next save writes.
  public func undo() { replay { $0.undo() } }

  /// Does again what the last ``undo()`` took back.
  public func redo() { replay { $0.redo() } }

  private func replay(_ body: (UndoManager) -> Void) {
    guard let undoManager else { return }
    processPendingChanges()
    body(undoManager)
    processPendingChanges()
  }

  /// Lets objects know that they were changed back, and forgets changes that left nothing changed.
  func endReplay() {
    let objects = graph.ledger.takeReplayed()
    guard !objects.isEmpty else { return }
    for (object, events) in objects where object.isIn(self) {
      for state in object.collections { state?.forgetStoredOrder() }
      if object.isUpdated, object.changedSlots.isEmpty {
        object.dropCommitted()
        object.markUnchanged()
      }
      awaken(object, events)
    }
    if !hasChanges { forgetUnchanged() }
  }

  func awaken(_ object: ManagedObject, _ events: SnapshotEvents) {
    object.whileAwakening { object.awake(fromSnapshotEvents: events) }
  }

  // MARK: Opposites of inserts and deletes

  /// The opposite of an insert.
  func takeBack(_ object: ManagedObject) {
    guard !object.isDeleted else { return }
    // Who is told that its values go has been told that it has them.
    if object.state.contains(.asleep) { object.fire() }
    readForUndo(object)
    graph.ledger.noteInEvent(object)
    object.state.delete()
    object.state.note(.deletedInEvent)
    graph.ledger.list(object)
    if !object.isInserted { graph.moves.note(object) }
    graph.noteReplayed(object, .undoInsertion)
    registerBringingBack(object)
    if object.isInserted { vanish(object) }
  }

  /// Reads what an object has to have when it comes back after its row is gone.
  func readForUndo(_ object: ManagedObject) {
    guard undoManager?.isUndoRegistrationEnabled == true else { return }
    if object.lacksValues { object.fire() }
    for case let relation? in object.shape.relations where relation.isManyToMany {
      _ = object.destinationKeys(relation.slot)
    }
  }

  /// Before rows are deleted: what a refresh or a merge forgot since the delete.
  func readDeletedForUndo() {
    guard undoManager?.isUndoRegistrationEnabled == true else { return }
    for object in changedObjects where object.isDeleted && object.isIn(self) {
      for slot in object.shape.toManySlots where object.collection(ifUsed: slot) != nil {
        _ = object.destinationKeys(slot)
      }
    }
  }

  /// Registers the opposite of a delete, before a new object loses what only the context knows of it.
  func registerBringingBack(_ object: ManagedObject) {
    let identity = graph.keys.identity(of: object.key)
    undoManager?.registerUndo(withTarget: object) { [weak self] in
      self?.bringBack($0, identity: identity)
    }
  }

  /// The opposite of a delete.
  func bringBack(_ object: ManagedObject, identity: UUID?) {
    if object.isIn(self) {
      object.state.undelete()
      graph.ledger.list(object)
    } else {
      guard object.graph == nil else { return }
      graph.deferError { try rejoin(object, identity: identity) }
    }
    graph.showHiddenMembers()
    graph.ledger.noteInEvent(object)
    if object.isInserted { object.state.note(.insertedInEvent) }
    graph.noteReplayed(object, .undoDeletion)
    undoManager?.registerUndo(withTarget: object) { [weak self] in self?.takeBack($0) }
  }

  /// Takes an object back that is in no context any more: it is new again, under its old identity if it was saved.
  private func rejoin(_ object: ManagedObject, identity given: UUID?) throws {
    updatePlans()
    let (old, index) = (object.objectKey, object.shape.planIndex)
    let identity =
      try old.key > 0 ? read(plan(of: object.shape)) { try $0.identity(of: old) } : given
    // It may have been made, and gone, before there was a store.
    let shape = presentShape(for: object.shape)
    guard graph.shapes(at: shape.planIndex) != nil else { throw lostStore(of: shape) }
    if graph.keys.isVacant(old.key) {
      object.join(graph, key: old.key, as: shape)
      graph.keys.fillVacancy(object)
    } else {
      object.join(graph, key: graph.keys.nextTemporaryKey, as: shape)
      graph.keys.addNew(object)
      if old.key < 0, hasChildren {
        tellChildren([old.key: PlacedKey(plan: shape.planIndex, key: object.objectKey)])
      }
    }
    if object.objectKey != old {
      for plan in Set([index, shape.planIndex]) {
        graph.keys.noteRenamed(old, object.objectKey, in: plan)
      }
    }
    if let identity { graph.keys.give(identity, to: object.key) }
    // What it refers to may have got other keys while it was away; it may refer to itself.
    object.rename { key in
      let newest = graph.keys.newest(key, in: index)
      return newest.key < 0 ? graph.keys.object(temporary: newest.key)?.objectKey ?? newest : newest
    }
    graph.ledger.list(object)
    object.noteClaims()
    object.settle(in: graph)
  }
}
