import Foundation

/// Saving: callbacks, validation, one transaction of rows and history, and what follows from it.
extension ManagedObjectContext {
  /// How often `willSave` methods may change objects anew before the save gives up.
  private static let willSaveRounds = 1000

  /// Saves all changes in one transaction with its entry in the history.
  ///
  /// When it throws, nothing is saved and the context keeps its changes.
  /// - Throws: ``ValidationFailure`` with all that is wrong, ``SaveConflictError`` when another
  ///   save changed the same objects and ``mergePolicy`` is `.error`, ``ObjectError`` for what
  ///   accessors could not do, or what the store met.
  public func save() throws {
    processPendingChanges()
    try throwDeferredError()
    guard hasChanges else { return }
    let plan = try plan()
    NotificationCenter.default.post(name: .managedObjectContextWillSave, object: self)
    try runWillSave()
    endEvent()
    try validate()
    try throwDeferredError()

    let info = TransactionInfo(
      author: transactionAuthor, contextName: name, kind: .local, hybridTime: nil)
    let (writer, _) = try plan.store.write(info) { transaction in
      var writer = SaveWriter(context: self, plan: plan)
      try writer.write(to: transaction)
      return writer
    }
    let changes = finishSave(writer)
    persistentStoreCoordinator.publish(changes)
    NotificationCenter.default.post(
      name: .managedObjectContextDidSave, object: self, userInfo: ["changes": changes])
  }

  private func runWillSave() throws {
    for object in changedObjects { object.state.insert(.touched) }
    for _ in 0..<Self.willSaveRounds {
      var isStable = true
      var index = 0
      // The list grows while methods change further objects.
      while index < changedObjects.count {
        let object = changedObjects[index]
        index += 1
        guard object.state.contains(.touched), object.context === self, object.hasChanges else {
          continue
        }
        isStable = false
        object.state.remove(.touched)
        object.willSave()
      }
      if isStable { return }
    }
    throw ObjectError(
      .unstableSave, "willSave keeps changing objects after \(Self.willSaveRounds) rounds",
      suggestion: "Let willSave set a value only when it differs.")
  }

  private func validate() throws {
    var items: [ValidationFailure.Item] = []
    for object in changedObjects where object.context === self && object.hasChanges {
      do {
        if object.isDeleted {
          try object.validateForDelete()
        } else if object.isInserted {
          try object.validateForInsert()
        } else {
          try object.validateForUpdate()
        }
      } catch {
        let errors = (error as? ValidationErrors)?.errors ?? [error]
        items += errors.map { ValidationFailure.Item(objectID: object.objectID, error: $0) }
      }
    }
    if !items.isEmpty { throw ValidationFailure(items: items) }
  }

  /// Makes the objects what the store now has, and lets go of them.
  private func finishSave(_ writer: SaveWriter) -> ContextChanges {
    for object in writer.inserted {
      // An object that took its key along is no longer found by the temporary one.
      let key = writer.newKey(of: object.key)
      if givenTemporaryKeys.contains(object.key) { permanentKeys[object.key] = key }
      if undoManager != nil { renamedKeys[object.objectKey] = key }
      object.commit(key: key.key, version: 1, writer)
      registries[object.shape.hierarchy].insert(object)
    }
    for (object, version) in writer.updated {
      object.commit(key: object.key, version: version, writer)
    }
    for resolution in writer.resolutions { apply(resolution) }
    for object in writer.deleted {
      registries[object.shape.hierarchy].remove(object)
      object.detach()
    }
    let changes = ContextChanges(
      plan: writer.plan, source: number, insertedKeys: writer.inserted.map(\.objectKey),
      updatedKeys: writer.updated.map(\.object.objectKey)
        + writer.resolutions.map(\.object.objectKey),
      deletedKeys: writer.deleted.map(\.objectKey))
    let saved = changedObjects
    changedObjects = []
    temporaryBase += Int64(temporaries.count)
    temporaries = []
    givenTemporaryKeys = []
    identities = [:]
    keysByIdentity = [:]
    for object in saved { object.state.subtract([.listed, .touched]) }
    for object in writer.inserted { object.didSave() }
    for (object, _) in writer.updated { object.didSave() }
    for resolution in writer.resolutions { resolution.object.didSave() }
    for object in writer.deleted { object.didSave() }
    return changes
  }

  private func apply(_ resolution: SaveWriter.Resolution) {
    let object = resolution.object
    object.dropCommitted()
    for state in object.collections { state?.discardChanges() }
    for state in object.collections { state?.forgetStored() }
    object.settle()
    guard let values = resolution.values else {
      registries[object.shape.hierarchy].remove(object)
      object.detach()
      object.state.insert(.deleted)
      return
    }
    object.take(values, version: resolution.version)
  }
}

extension ManagedObject {
  /// Present values are the stored ones from now on.
  fileprivate final func commit(key: Int64, version: Int64, _ writer: SaveWriter) {
    self.key = key
    self.version = version
    dropCommitted()
    for slot in shape.toOneSlots {
      guard case .reference(let reference) = values[slot], reference.key < 0 else { continue }
      values[slot] = writer.renamed(values[slot])
    }
    for state in collections { state?.commit(writer.newKey) }
    settle()
  }
}
