/// What becomes of an object that another save changed, before it is saved again.
extension ManagedObjectContext {
  /// Makes an object's changes changes of the row that others wrote, as far as they stand.
  func rebase(_ object: ManagedObject, on row: ReadTransaction.Row, by decision: MergePolicyType) {
    // The policy refreshed it, and gave up what this context changed: its values are read anew.
    if object.lacksValues { return }
    switch (decision, object.isDeleted) {
    case (.error, _): return
    // CONFLICT: deleted here, changed there. RESOLUTION: it is deleted.
    case (.mergeByPropertyObjectTrump, true), (.overwrite, true):
      object.version = row.version
      return
    // CONFLICT: deleted or changed here, changed there. RESOLUTION: it becomes what it is in the store.
    case (.mergeByPropertyStoreTrump, true), (.rollback, _):
      object.leaveOtherEnds()
      object.revert()
      object.forgetStoredCollections()
    // CONFLICT: both saves changed the object. RESOLUTION: what they changed stays.
    case (.mergeByPropertyStoreTrump, false):
      object.changedColumns.forEach { slot in
        guard object.committed?[slot] != row.values[slot] else { return }
        object.leaveOtherEnd(at: slot)
        object.giveUpChange(at: slot)
      }
    // CONFLICT: both saves changed the object. RESOLUTION: what this context changed is written.
    case (.mergeByPropertyObjectTrump, false): break
    // CONFLICT: both saves changed the object. RESOLUTION: it becomes what it is here, all of it.
    case (.overwrite, false):
      for slot in object.shape.layout.slots
      where !slot.isToMany && !slot.isTransient
        && row.values[slot.index] != object.values[slot.index]
      {
        object.keepCommitted()
        object.changed.insert(slot.index)
      }
    }
    object.takeBeneathChanges(row.values, version: row.version)
    awaken(object, .mergePolicy)
  }

  /// Does with an object outside of a save what a save would make of its conflict, by what the store has now. A row that is gone
  /// takes the object along where the store's values win; else a save goes on meeting that.
  ///
  /// - Throws: what kept the row from being read.
  package func settleConflict(of object: ManagedObject, by type: MergePolicyType) throws {
    guard object.isIn(self), !object.isInserted, parent == nil, type != .error else { return }
    let plan = try plan(of: object.shape)
    let row = try read(plan) { try $0.row(object.objectKey, mapsFiles: true) }
    guard let row, row.key.entity == object.shape.number else {
      if type == .mergeByPropertyStoreTrump || type == .rollback,
        countAsDeletedByOthers(object)
      {
        graph.ledger.noteInEvent(object)
        object.state.note(.deletedInEvent)
      }
      return
    }
    if type == .rollback || type == .mergeByPropertyStoreTrump && object.isDeleted {
      return try refresh(object, mergeChanges: false)
    }
    object.forgetHolders(taking: row.values)
    rebase(object, on: row, by: type)
    object.forgetStoredCollections()
    graph.ledger.list(object)
    graph.ledger.noteInEvent(object)
    object.state.note(.refreshedInEvent)
  }

  /// Makes one object of those that meet under a uniqueness constraint, outside of a save, as a save would.
  ///
  /// - Parameters:
  ///   - names: The constrained properties.
  ///   - stored: The object whose row has the values; nil when only unsaved objects do.
  ///   - objects: The objects that are to be saved with them.
  /// - Throws: what kept the row from being read, or what does not fit the object that stays.
  package func settleConstraint(
    _ names: [String], _ stored: ManagedObject?, _ objects: [ManagedObject],
    by type: MergePolicyType
  ) throws {
    let present = objects.filter { $0.isIn(self) }
    guard !present.isEmpty, type != .error else { return }
    if let stored { guard stored.isIn(self) else { return } }
    let merge = ConstraintMerge(
      self, by: type, names, stored: stored === present.first ? nil : stored, present)
    _ = try merge.run { _, _ in }
  }
}
