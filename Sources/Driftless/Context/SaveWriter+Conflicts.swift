/// What becomes of an object that another save changed, by the context's merge policy.
extension SaveWriter {
  /// The row has another version than the object's values came from, or is gone.
  mutating func resolveUpdate(
    of object: ManagedObject, _ mask: PropertyMask, _ transaction: WriteTransaction
  ) throws {
    let row = try transaction.row(object.objectKey)
    let mine = storedValues(object)
    var write = mask
    var merged = mine
    switch context.mergePolicy {
    // CONFLICT: both saves changed the object.
    // RESOLUTION: none; the save fails and says which objects.
    case .error:
      conflicts.append(conflict(object, mask.indexes, row, isDeletion: false))
      return
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
      if let row {
        merged = row.values
        mask.forEach { merged[$0] = mine[$0] }
      }
    // CONFLICT: both saves changed the object. RESOLUTION: it becomes what it is here, all of it.
    case .overwrite:
      if let row {
        for slot in object.shape.layout.slots
        where !slot.isToMany && !slot.isTransient && row.values[slot.index] != mine[slot.index] {
          write.insert(slot.index)
        }
      }
    // CONFLICT: both saves changed the object. RESOLUTION: it becomes what it is in the store.
    case .rollback:
      resolutions.append(
        .init(
          object: object, values: row?.values, version: row?.version ?? 0, isTheirs: true))
      return
    }
    var version = row?.version ?? 0
    if row == nil {
      try transaction.insert(object.shape.entity, object.key, values: merged)
      version = 1
    } else if !write.isEmpty {
      try transaction.update(
        object.objectKey, write, values: merged, expectedVersion: version)
      version += 1
    }
    resolutions.append(.init(object: object, values: merged, version: version))
  }

  /// The row of an object that is to be deleted has another version, or is gone.
  mutating func resolveDelete(of object: ManagedObject, _ transaction: WriteTransaction) throws {
    // Deleted there too: nothing is left to do.
    guard let row = try transaction.row(object.objectKey) else { return deleted.append(object) }
    switch context.mergePolicy {
    // CONFLICT: deleted here, changed there. RESOLUTION: none; the save fails.
    case .error:
      conflicts.append(conflict(object, [], row, isDeletion: true))
    // CONFLICT: deleted here, changed there. RESOLUTION: the changed object stays.
    case .mergeByPropertyStoreTrump, .rollback:
      resolutions.append(.init(object: object, values: row.values, version: row.version))
    // CONFLICT: deleted here, changed there. RESOLUTION: it is deleted.
    case .mergeByPropertyObjectTrump, .overwrite:
      try remove(object, expectedVersion: nil, transaction)
    }
  }

  private func conflict(
    _ object: ManagedObject, _ slots: [Int], _ row: ReadTransaction.Row?, isDeletion: Bool
  ) -> MergeConflict {
    let layout = object.shape.layout.slots
    var stored: [String: PropertyValue]?
    if let row {
      stored = [:]
      for slot in layout where !slot.isToMany { stored?[slot.name] = row.values[slot.index] }
    }
    return MergeConflict(
      objectID: object.objectID, changedProperties: slots.map { layout[$0].name },
      isDeletion: isDeletion, oldVersionNumber: object.version,
      newVersionNumber: row?.version ?? 0, objectSnapshot: object.committedValues,
      persistedSnapshot: stored)
  }
}
