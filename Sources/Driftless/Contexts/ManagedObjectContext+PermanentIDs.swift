/// IDs before the first save.
extension ManagedObjectContext {
  /// Gives new objects the IDs that they will have in the store. The objects stay unsaved; an ID whose object is never
  /// saved is not used again.
  ///
  /// It costs a write to the store, so ask for all objects at once.
  /// - Throws: ``ObjectError`` for an object of another context; what kept the store from being written.
  public func obtainPermanentIDs(for objects: [ManagedObject]) throws {
    var byPlan: [Int: [ManagedObject]] = [:]
    for object in objects {
      guard object.isIn(self) else {
        throw ObjectError(
          .foreignObject, "\(object.description) is not of this context",
          suggestion: "Ask the object's own context.")
      }
      if object.isInserted, object.key < 0 {
        byPlan[object.shape.planIndex, default: []].append(object)
      }
    }
    for group in byPlan.values {
      guard let first = group.first else { continue }
      let plan = try plan(of: first.shape)
      // Whoever chooses may read objects, and rows of some are written as they are read.
      let chosen = try (plan.store as? any StandInStore)?.keys(forNew: group)
      let keys = try plan.store.write(batchInfo) { transaction in
        try group.enumerated().map { index, object in
          let number: Int64
          if let chosen {
            number = chosen[index]
            try transaction.reserve(number, for: object.entity)
          } else {
            number = try transaction.allocateKeys(object.entity, count: 1).lowerBound
          }
          let key = ObjectKey(entity: object.shape.number, key: number)
          if let identity = graph.keys.identity(of: object.key) {
            try transaction.assignIdentity(
              key, try transaction.identity(identity, forNew: object.entity))
          }
          return key
        }
      }.0
      name(group, keys, in: plan)
    }
  }

  private func name(_ objects: [ManagedObject], _ keys: [ObjectKey], in plan: ObjectPlan) {
    var renamed: [Int64: PlacedKey] = [:]
    for (object, key) in zip(objects, keys) {
      let (old, place) = (object.objectKey, PlacedKey(plan: plan.index, key: key))
      renamed[old.key] = place
      graph.keys.notePermanent(place, for: old.key)
      if undoManager != nil { graph.keys.noteRenamed(old, key, in: plan.index) }
      graph.keys.removeTemporary(old.key)
      object.key = key.key
      graph.add(object)
    }
    for object in registeredObjects { object.rename { renamed[$0.key]?.key ?? $0 } }
    graph.ledger.claims.rename(renamed)
    tellChildren(renamed)
  }
}
