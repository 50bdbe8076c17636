import Foundation

/// Saving: callbacks, validation, one transaction of rows and history, and what follows from it.
extension ManagedObjectContext {
  /// How often `willSave` methods may change objects anew before the save gives up.
  private static let willSaveRounds = 1000

  /// Saves all changes in one transaction with its entry in the history; those of a child context go to its parent.
  ///
  /// Changes of several stores are written in a transaction each, and none is committed before all are written: only a
  /// store that cannot commit then, for want of space say, stays behind the others.
  ///
  /// Without changes nothing is written, and observers are told of a save of nothing; what one that is told before inserts is saved.
  /// A save without changes by one that is being told of a save is told to nobody.
  /// When it throws, nothing is saved and the context keeps its changes. An error that an accessor met keeps being thrown until ``rollback()`` or ``clearAccessorErrors()``.
  /// - Throws: ``ValidationFailure`` with all that is wrong, or an error of an override as it is when it is the only one,
  ///   ``SaveConflictError`` when another save changed the same objects and ``ConstraintConflictError`` when a uniqueness
  ///   constraint would be broken, unless ``mergePolicy`` resolves it, ``ObjectError`` for what an accessor could
  ///   not do and ``AccessorFailure`` for several such errors, or what the store met.
  public func save() throws {
    // Objects that only the context held go with what they changed.
    defer { graph.takeInDepartures() }
    try save(validates: true)
  }

  /// - Parameter validates: False while a migration has not finished its objects.
  func save(validates: Bool) throws {
    graph.confinement.assertHere("The context")
    guard !saving.isSaving else {
      throw ObjectError(
        .nestedSave, "The context is being saved",
        suggestion: "Change objects in willSave: the save that goes on writes that too.")
    }
    try checkMayWrite()
    processPendingChanges()
    try throwAccessorError()
    defer { doPostponed() }
    saving.begin()
    defer { saving.end() }
    if saving.isTelling, !hasChanges { return forgetUnchanged() }
    graph.ledger.holdLost()
    post(.managedObjectContextWillSave)
    guard hasChanges else { return endSaveOfNothing() }
    if parent == nil { try requireStores() }
    let plans = parent == nil ? try plans() : stores.plans
    try runWillSave()
    endEvent()
    // Observers that were told of the event may have changed objects, whose methods have not been called.
    if !graph.ledger.inEvent.isEmpty { try runWillSave(ofTouchedOnly: true) }
    if validates { try validate() }
    readDeletedForUndo()
    try throwAccessorError()

    let touched = TouchedObjects(of: self)
    var isSaved = false
    defer { if !isSaved { touched.putBack(in: self) } }
    // Observers of the stores are told when the context is done with the save: they may change objects.
    var written: [Written] = []
    defer { Self.tell(written) }
    let saved = try writeChanges(plans, &written)
    isSaved = true
    touched.didSave()
    postDidSave(saved)
  }

  /// Nothing is written; observers are told all the same, as by Core Data.
  private func endSaveOfNothing() {
    forgetUnchanged()
    saving.didWrite()
    postDidSave(.nothing(by: number))
  }

  private func writeChanges(
    _ plans: [ObjectPlan], _ written: inout [Written]
  ) throws -> SavedObjects {
    guard hasChanges else {
      forgetSavedChanges()
      saving.didWrite()
      return .nothing(by: number)
    }
    return try parent.map(save(to:)) ?? saveToStores(plans, &written)
  }

  /// What a store's observers are still to be told of.
  struct Written {
    let store: PersistentStore
    let news: StoreCommits
  }

  static func tell(_ written: [Written]) {
    for one in written { one.store.tell(one.news) }
  }

  private func saveToStores(
    _ plans: [ObjectPlan], _ written: inout [Written]
  ) throws -> SavedObjects {
    var info = TransactionInfo(
      author: transactionAuthor, contextName: name, kind: .local, hybridTime: nil)
    info.contextNumber = number
    var writers: [(writer: SaveWriter, transaction: WriteTransaction)] = []
    var committed: [SaveWriter] = []
    var begun: [ObjectPlan] = []
    let changed = plansWithChanges(plans)
    try nameForStandIns(changed)
    readDeletedForStandIns(changed)
    saving.beginWriting()
    defer { saving.endWriting() }
    saving.beginWritingObjects()
    do {
      defer {
        saving.endWritingObjects()
        endStandIns(begun)
      }
      try write(
        to: changed, info, &written,
        didCommit: { plan, transaction in
          committed += writers.map(\.writer).filter { $0.plan === plan }
          guard let transaction else { return }
          (plan.store as? any StandInStore)?.didCommit(transaction.number)
        },
        { plan, transaction in
          begun.append(plan)
          beginStandIn(plan, transaction)
          var writer = SaveWriter(context: self, plan: plan, after: writers.map(\.writer))
          try writer.write(to: transaction)
          writers.append((writer, transaction))
          if writers.count == changed.count { try tellStandIns(writers) }
        })
    } catch {
      // A store that could not commit stays behind; what the others have is saved.
      if !committed.isEmpty {
        persistentStoreCoordinator.publish(finishSave(committed, isPartial: true).changes)
      }
      throw error
    }
    let saved = finishSave(committed)
    moveGeneration()
    persistentStoreCoordinator.publish(saved.changes)
    return saved
  }

  private func plansWithChanges(_ plans: [ObjectPlan]) -> [ObjectPlan] {
    guard plans.count > 1 else { return plans }
    let changed = Set(changedObjects.lazy.filter(\.hasChanges).map(\.shape.planIndex))
    return plans.filter { changed.contains($0.index) }
  }

  private func runWillSave(ofTouchedOnly isPartial: Bool = false) throws {
    for round in 0..<Self.willSaveRounds {
      var isStable = true
      var count = 0
      // The list grows while methods change further objects.
      while count < changedObjects.count {
        let objects = changedObjects
        objects.walk(from: count) { object in
          guard round == 0 && !isPartial || object.state.contains(.touched), object.isIn(self),
            object.hasChanges
          else { return }
          isStable = false
          object.state.beginWillSave()
          object.willSave()
        }
        count = objects.count
      }
      if isStable { return }
    }
    throw ObjectError(
      .unstableSave, "willSave keeps changing objects after \(Self.willSaveRounds) rounds",
      suggestion: "Let willSave set a value only when it differs.")
  }

  private func validate() throws {
    var items: [ValidationFailure.Item] = []
    let hasDeleted = changedObjects.contains { $0.isDeleted || !$0.isIn(self) }
    var count = 0
    // A check that changes further objects has these checked as well: they are written with the others.
    while count < changedObjects.count {
      let objects = changedObjects
      objects.walk(from: count) { object in
        guard object.isIn(self), object.hasChanges, !isGoneAndUnchanged(object) else { return }
        object.validate(into: &items)
        if hasDeleted, !object.isDeleted { checkReferences(of: object, into: &items) }
      }
      count = objects.count
    }
    try ValidationFailure.check(items)
  }

  /// An object must not be set to refer to one that this save deletes.
  private func checkReferences(
    of object: ManagedObject, into items: inout [ValidationFailure.Item]
  ) {
    for slot in object.shape.toOneSlots where object.isInserted || object.changed.contains(slot) {
      guard case .reference(let key) = object.values[slot],
        isGone(key, in: object.shape.planIndex), let relation = object.shape.relations[slot]
      else { continue }
      let error = ValidationError(
        code: ValidationError.managedObjectValidation, property: relation.description,
        message: "refers to an object that is deleted")
      items.append(ValidationFailure.Item(objectID: object.objectID, error: error))
    }
  }

  /// Whether the object of a key is deleted by this save, or was new and is deleted.
  private func isGone(_ key: ObjectKey, in plan: Int) -> Bool {
    if graph.keys.isNobody(key.key) { return newKeyHolder(of: key.key) == nil }
    return graph.registered(key, in: plan)?.isDeleted == true
  }

  /// What a new object that gave way under a uniqueness constraint has become.
  func newKeyHolder(of temporaryKey: Int64) -> ManagedObject? {
    saving.successor(of: temporaryKey).flatMap { $0.isIn(self) && !$0.isDeleted ? $0 : nil }
  }

  /// Makes the objects what the stores now have, and lets go of them.
  /// - Parameter isPartial: Whether changes of other stores are left, which could not be saved.
  private func finishSave(_ writers: [SaveWriter], isPartial: Bool = false) -> SavedObjects {
    var parts: [ContextChanges.Part] = []
    var renamed: [Int64: PlacedKey] = [:]
    let tellsChildren = hasChildren
    for writer in writers {
      finish(writer)
      parts.append(
        ContextChanges.Part(
          plan: writer.plan, transaction: writer.transaction,
          inserted: writer.inserted.objectKeys,
          updated: writer.updated.objectKeys
            + writer.resolutions.map(\.object.objectKey) + writer.derivedOnly
            + writer.formerHolders,
          deleted: writer.deleted.objectKeys))
      if tellsChildren { writer.collectNewKeys(&renamed) }
    }
    if graph.hasPrimitives { renamePrimitives(writers) }
    if isPartial { forgetChangesOfSomeStores() } else { forgetSavedChanges() }
    if tellsChildren { tellChildren(renamed) }
    saving.didWrite()
    for writer in writers {
      writer.inserted.walk { $0.didSave() }
      writer.updated.walk { $0.didSave() }
      for resolution in writer.resolutions {
        guard resolution.values != nil else {
          // Others deleted it: that is not what this save did.
          resolution.object.state.stayDeleted()
          resolution.object.dismissSaved()
          continue
        }
        awaken(resolution.object, .mergePolicy)
        resolution.object.didSave()
      }
      writer.deleted.walk { $0.dismissSaved() }
    }
    return SavedObjects(
      changes: ContextChanges(source: number, parts: parts),
      inserted: writers.map(\.inserted).joinedLists,
      updated: writers.map { writer in
        writer.updated + writer.resolutions.filter { $0.values != nil }.map(\.object)
      }.joinedLists,
      deleted: writers.map { writer in
        writer.deleted + writer.resolutions.filter { $0.values == nil }.map(\.object)
      }.joinedLists)
  }

  /// Objects that were not saved may refer to new ones that were, by values that were set beneath.
  private func renamePrimitives(_ writers: [SaveWriter]) {
    graph.hasPrimitives = false
    for object in registeredObjects where object.committed != nil {
      graph.hasPrimitives = true
      guard let writer = writers.first(where: { $0.plan.index == object.shape.planIndex }) else {
        continue
      }
      for slot in object.shape.toOneSlots {
        guard case .reference(let key) = object.values[slot], key.key < 0 else { continue }
        object.setReference(writer.newKey(key), at: slot)
      }
    }
  }

  /// Nothing is unsaved any more.
  func forgetSavedChanges() {
    graph.ledger.forgetWatched()
    if changedObjects.contains(where: { $0.isIn(self) && $0.hasChanges }) {
      // A merge policy changed what this save had no part in.
      forgetChangesOfSomeStores()
    } else {
      forgetUnchanged()
    }
    graph.keys.forgetGivenOut()
  }

  /// Lets go of objects that had changes, when none has any.
  func forgetUnchanged() {
    guard !changedObjects.isEmpty else { return }
    assert(
      !changedObjects.contains { $0.isIn(self) && $0.hasChanges },
      "an object with changes stays listed, and keeps its temporary key")
    let saved = graph.ledger.unlistAll(clearing: [.touched, .deleted])
    graph.keys.retireTemporaryKeys()
    graph.keys.forgetIdentities()
    saving.forgetSuccessors()
    withExtendedLifetime(saved) {}
  }

  /// Forgets what is saved, and keeps what is not.
  private func forgetChangesOfSomeStores() {
    graph.ledger.unlist(clearing: [.touched, .deleted]) { !$0.isIn(self) || !$0.hasChanges }
    graph.keys.forgetSavedPlaces()
  }

  private func finish(_ writer: SaveWriter) {
    let isAskedFor = distantChildren.areThere
    let newKey = writer.savedKeys
    writer.inserted.walk { object in
      // An object that took its key along is no longer found by the temporary one.
      let key = writer.newKey(object.objectKey)
      assert(key.key > 0, "what is saved has a key of its store")
      let place = PlacedKey(plan: writer.plan.index, key: key)
      if isAskedFor, object.key < 0 {
        graph.keys.notePermanent(place, for: object.key)
      } else {
        graph.keys.notePermanentIfGivenOut(place, for: object.key)
      }
      if undoManager != nil {
        graph.keys.noteRenamed(object.objectKey, key, in: writer.plan.index)
      }
      object.commit(key: key.key, version: writer.version(ofNew: object), newKey)
      graph.add(object)
    }
    var place = 0
    writer.updated.walk { object in
      object.commit(key: object.key, version: writer.versions[place], newKey)
      place += 1
    }
    for cut in writer.cuts { cut.object.loseReference(at: cut.slot, version: cut.version) }
    for resolution in writer.resolutions { apply(resolution) }
    writer.derived.show(in: graph, of: writer.plan)
    writer.refreshFormerHolders()
    for object in writer.deleted { vanish(object) }
    for object in writer.deletedAlong { object.state.stayDeleted() }
  }

  private func apply(_ resolution: SaveWriter.Resolution) {
    let object = resolution.object
    object.forgetHolders(taking: resolution.values)
    object.dropCommitted()
    for state in object.collections { state?.discardChanges() }
    object.forgetStoredCollections()
    object.markUnchanged()
    guard let values = resolution.values else { return vanish(object) }
    object.state.findRow()
    object.take(values, version: resolution.version)
  }
}

extension ManagedObject {
  /// Adds what keeps the object from being saved.
  ///
  /// - Parameter isNew: Whether nothing of it is known to be right, though it was saved.
  final func validate(asNew isNew: Bool = false, into items: inout [ValidationFailure.Item]) {
    do {
      if isDeleted {
        try validateForDelete()
      } else if isNew || isInserted {
        try validateForInsert()
      } else {
        try validateForUpdate()
      }
    } catch {
      items += ValidationErrors.details(of: error).map {
        ValidationFailure.Item(objectID: objectID, error: $0)
      }
    }
  }

  /// Present values are the stored ones from now on.
  final func commit(key: Int64, version: Int64, _ newKey: (ObjectKey) -> ObjectKey) {
    self.key = key
    self.version = version
    dropCommitted()
    for slot in shape.toOneSlots {
      guard case .reference(let reference) = values[slot], reference.key < 0 else { continue }
      setReference(newKey(reference), at: slot)
    }
    for state in collections { state?.commit(newKey) }
    markUnchanged()
  }
}
