/// What becomes of an object that another save changed, by the context's merge policy.
extension SaveWriter {
  /// Asks the policy about all objects whose rows have other versions, and writes what it decides about changed ones.
  mutating func resolveUpdates(
    _ doomed: [ManagedObject], _ transaction: WriteTransaction
  ) throws {
    var conflicts: [MergeConflict] = []
    for (object, mask, _) in stale {
      let row = try transaction.ownRow(object.objectKey)
      conflicts.append(conflict(object, mask.indexes, row, isDeletion: false))
    }
    let watched = try watchedConflicts(transaction)
    conflicts += watched.map(\.conflict)
    guard !conflicts.isEmpty else { return }
    // The policy is to see all at once, so deletes are looked at before their time.
    for object in doomed where object.version > 0 && !object.state.contains(.missing) {
      guard let row = try transaction.ownRow(object.objectKey), row.version != object.version else {
        continue
      }
      conflicts.append(conflict(object, [], row, isDeletion: true))
    }
    try decide(&conflicts)
    for (object, _, pairs) in stale { try resolveUpdate(of: object, pairs, transaction) }
    for (object, _) in watched {
      let row = try transaction.ownRow(object.objectKey)
      resolutions.append(
        .init(object: object, values: row?.values, version: row?.version ?? 0, isTheirs: true))
    }
  }

  /// Asks the policy about deleted objects whose rows have other versions, and does what it decides.
  mutating func resolveDeletes(_ transaction: WriteTransaction) throws {
    var conflicts: [MergeConflict] = []
    for object in staleDeletes where decided[object.objectID] == nil {
      guard let row = try transaction.ownRow(object.objectKey) else { continue }
      conflicts.append(conflict(object, [], row, isDeletion: true))
    }
    if !conflicts.isEmpty { try decide(&conflicts) }
    for object in staleDeletes { try resolveDelete(of: object, transaction) }
    try deleteWithMembers(transaction)
    try freeThoseThatStay(transaction)
  }

  /// Objects that the context watches and does not change, and that another save changed.
  private func watchedConflicts(
    _ transaction: WriteTransaction
  ) throws -> [(object: ManagedObject, conflict: MergeConflict)] {
    try context.graph.ledger.watched.compactMap { object in
      guard object.isIn(context), object.shape.planIndex == plan.index, object.version > 0,
        !object.hasChanges
      else { return nil }
      let row = try transaction.ownRow(object.objectKey)
      guard row?.version != object.version else { return nil }
      return (object, conflict(object, [], row, isDeletion: false))
    }
  }

  mutating func decide(_ conflicts: inout [MergeConflict]) throws {
    let all = conflicts
    try asking {
      try context.mergePolicy.resolve(optimisticLockingConflicts: &conflicts, in: context)
    }
    for conflict in conflicts { decided[conflict.objectID] = conflict.resolution }
    let open = all.filter { decided[$0.objectID] ?? .error == .error }
    if !open.isEmpty { throw SaveConflictError(conflicts: open) }
  }

  /// Lets the policy work with the context. What it changes of objects that are written, in this store or one before it, is
  /// written no more.
  func asking(_ policy: () throws -> Void) throws {
    let before = Set(context.graph.ledger.inEvent.lazy.map { ObjectIdentifier($0) })
    let rows = (earlier + [self]).flatMap { $0.inserted + $0.updated }
    let written = rows + (earlier + [self]).flatMap { $0.resolutions.map(\.object) }
    // What is changed from now on is touched, whatever a merge under a constraint did with it in this save.
    for object in written { object.state.beginWillSave() }
    try context.accessing(policy)
    try context.throwRefusal()
    let changed = written.first {
      $0.state.contains(.touched)
        || ($0.state.contains(.inEvent) && !before.contains(ObjectIdentifier($0)))
    }
    guard let object = changed ?? rows.first(where: { !$0.hasChanges }) else { return }
    throw ObjectError(
      .unstableSave,
      "The merge policy changed \(object.description), which is in no conflict and was written",
      suggestion: "Let the policy change objects of its conflicts, and others after the save.")
  }

  /// The row has another version than the object's values came from, or is gone.
  private mutating func resolveUpdate(
    of object: ManagedObject, _ pairs: PropertyMask, _ transaction: WriteTransaction
  ) throws {
    let row = try transaction.ownRow(object.objectKey)
    // The policy deleted it.
    if object.isDeleted {
      guard row != nil else { return deleted.append(object) }
      return try remove(object, expectedVersion: nil, transaction)
    }
    // The policy refreshed it, and gave up what this context changed.
    if object.lacksValues {
      return resolutions.append(
        .init(object: object, values: row?.values, version: row?.version ?? 0, isTheirs: true))
    }
    let mask = object.changedColumns
    // Its values were asked for when it was gone, and none was set: there is nothing that could be inserted again.
    if row == nil, mask.isEmpty, object.state.contains(.missing) {
      return resolutions.append(.init(object: object, values: nil, version: 0, isTheirs: true))
    }
    try requireNames(of: object, mask)
    let mine = storedValues(object)
    var write = mask
    var merged = mine
    switch decided[object.objectID] ?? .error {
    // CONFLICT: both saves changed the object.
    // RESOLUTION: none; the save failed before it came here.
    case .error: return
    // CONFLICT: both saves changed the object. RESOLUTION: what they changed, or deleted, stays;
    // what only this context changed is written.
    case .mergeByPropertyStoreTrump:
      guard let row else {
        return resolutions.append(.init(object: object, values: nil, version: 0, isTheirs: true))
      }
      merged = row.values
      mask.forEach { slot in
        if object.committed?[slot] == row.values[slot] {
          merged[slot] = mine[slot]
        } else {
          write.remove(slot)
        }
      }
    // CONFLICT: both saves changed the object. RESOLUTION: what this context changed is written,
    // the rest is theirs; an object that they deleted is inserted again.
    case .mergeByPropertyObjectTrump:
      if row == nil { try checkVacancy(of: object, transaction) }
      if let row {
        merged = row.values
        mask.forEach { merged[$0] = mine[$0] }
      }
    // CONFLICT: both saves changed the object. RESOLUTION: it becomes what it is here, all of it.
    case .overwrite:
      if row == nil { try checkVacancy(of: object, transaction) }
      if let row {
        for slot in object.shape.layout.slots
        where !slot.isToMany && !slot.isTransient && row.values[slot.index] != mine[slot.index] {
          write.insert(slot.index)
        }
      }
    // CONFLICT: both saves changed the object. RESOLUTION: it becomes what it is in the store.
    case .rollback:
      return resolutions.append(
        .init(
          object: object, values: row?.values, version: row?.version ?? 0, isTheirs: true))
    }
    var version = row?.version ?? 0
    if row == nil {
      version = try transaction.insert(object.shape.entity, object.key, values: merged)
      revived.append(object)
    } else if !write.isEmpty {
      // Pairs are written and kept whatever becomes of the rest.
      write.formUnion(pairs)
      try transaction.update(
        object.objectKey, write, values: merged, expectedVersion: version)
      version &+= 1
    } else if !pairs.isEmpty {
      try transaction.recordUpdate(object.objectKey, pairs)
    }
    resolutions.append(.init(object: object, values: merged, version: version))
  }

  /// What the policy set it to refer to must be part of the save.
  private func requireNames(of object: ManagedObject, _ mask: PropertyMask) throws {
    for slot in object.shape.toOneSlots where mask.contains(slot) {
      guard case .reference(let key) = object.values[slot], key.key < 0,
        newKey(of: key.key).key == 0,
        let new = context.graph.keys.object(temporary: key.key), new.isInserted
      else { continue }
      throw ObjectError(
        .unstableSave,
        "The merge policy made \(object.description) refer to \(new.description), which is newer "
          + "than the save",
        suggestion: "Insert objects before the save, or after it.")
    }
  }

  /// An object whose row is gone is inserted again under its key, which may be another object's by now.
  private func checkVacancy(
    of object: ManagedObject, _ transaction: WriteTransaction
  ) throws {
    guard let other = try transaction.concreteKey(root: object.objectKey) else { return }
    throw object.isAnother(plan.shape(numbered: other.entity)?.entity)
  }

  /// The row of an object that is to be deleted has another version, or is gone.
  private mutating func resolveDelete(
    of object: ManagedObject, _ transaction: WriteTransaction
  ) throws {
    // Deleted there too: nothing is left to do.
    guard let row = try transaction.ownRow(object.objectKey) else { return deleted.append(object) }
    // The policy refreshed it, and gave the delete up.
    guard object.isDeleted else {
      return resolutions.append(
        .init(object: object, values: row.values, version: row.version, isTheirs: true))
    }
    switch decided[object.objectID] ?? .error {
    // CONFLICT: deleted here, changed there. RESOLUTION: none; the save failed before it came here.
    case .error: return
    // CONFLICT: deleted here, changed there. RESOLUTION: the changed object stays.
    case .mergeByPropertyStoreTrump, .rollback:
      resolutions.append(.init(object: object, values: row.values, version: row.version))
    // CONFLICT: deleted here, changed there. RESOLUTION: it is deleted.
    case .mergeByPropertyObjectTrump, .overwrite:
      // With its rules followed for the members that others gave it.
      if lateOwners.contains(object) { return }
      try remove(object, expectedVersion: nil, transaction)
    }
  }

  /// Settles an object that counts as deleted because its row was gone when it was read. One that came back since, which nobody
  /// here asked to delete, stays.
  mutating func isGone(_ object: ManagedObject, _ transaction: WriteTransaction) throws -> Bool {
    guard object.state.contains(.missing) else { return false }
    if let row = try transaction.ownRow(object.objectKey) {
      resolutions.append(
        .init(object: object, values: row.values, version: row.version, isTheirs: true))
    } else {
      deleted.append(object)
    }
    return true
  }

  func conflict(
    _ object: ManagedObject, _ slots: [Int], _ row: ReadTransaction.Row?, isDeletion: Bool
  ) -> MergeConflict {
    let layout = object.shape.layout.slots
    return MergeConflict(
      objectID: object.objectID, changedProperties: slots.map { layout[$0].name },
      isDeletion: isDeletion, oldVersionNumber: object.version,
      newVersionNumber: row?.version ?? 0, objectSnapshot: object.committedValues,
      persistedSnapshot: row.map { object.shape.snapshot($0.values) })
  }
}

extension ManagedObjectContext {
  /// Makes the next save see to it that no other save changed this object, though this context does not change it: what
  /// it decided after a look at the object must still hold.
  ///
  /// A save that writes something then treats the object like one that both changed: by ``mergePolicy`` it fails with a
  /// ``SaveConflictError``, or the object takes the store's values. A fault's values are read now. A child context does
  /// not look; its parent may.
  /// - Throws: what kept the fault from being read.
  public func detectConflicts(for object: ManagedObject) throws {
    guard object.isIn(self), !object.isInserted else { return }
    if object.lacksValues { try read(object) }
    graph.ledger.watch(object)
  }
}
