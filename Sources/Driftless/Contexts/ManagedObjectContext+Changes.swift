public import Foundation

/// Making and deleting objects, and giving changes up.
extension ManagedObjectContext {
  /// Makes a new object of the entity that the class stands for.
  /// - Throws: ``ObjectError`` when that is not one entity of the model, or it is abstract.
  public func insert<Object: ManagedObject>(
    _ type: Object.Type, identity: UUID? = nil
  ) throws(ObjectError) -> Object {
    let shape = try shapeOfNew(for: type)
    guard shape.objectClass is Object.Type else { throw shape.classMismatch(type) }
    // The same class makes the object.
    guard let object = try insert(shape, identity) as? Object else {
      throw shape.classMismatch(type)
    }
    return object
  }

  /// Makes a new object.
  /// - Parameters:
  ///   - name: The entity's name.
  ///   - identity: The UUID that all replicas know the object by, for an object that was known before it came here;
  ///     minted when nil.
  /// - Throws: ``ObjectError`` for an unknown or abstract entity, or an identity that this context
  ///   gave to another new object. One that the store has makes the save fail.
  @discardableResult
  public func insert(
    entityNamed name: String, identity: UUID? = nil
  ) throws(ObjectError) -> ManagedObject {
    try insert(try shapeOfNew(named: name), identity)
  }

  private func insert(
    _ shape: ObjectShape, _ identity: UUID?
  ) throws(ObjectError) -> ManagedObject {
    guard !shape.isAbstract else {
      throw ObjectError(
        .unknownEntity, "\(shape.entity.name) is abstract and has no objects",
        suggestion: "Insert an object of one of its subentities.")
    }
    if let identity, graph.keys.key(of: identity) != nil {
      throw ObjectError(
        .identityTaken, "A new object of the identity \(identity) exists",
        suggestion: "Find it with object(withIdentity:) and change it.")
    }
    let object = shape.classToMake.init(graph.birth(of: shape))
    take(object, identity)
    return object
  }

  /// Takes an object that is in no context in as a new one, with what it was given: attributes, and objects at the other ends
  /// of its relationships, which come in with it where they are in no context either. What its accessors could not do keeps
  /// the context from being saved, as does what could not come in with it (``accessorErrors``).
  ///
  /// ```swift
  /// let draft = try Book(entity: Book.entity(), insertInto: nil)
  /// draft.title = "Baudolino"
  /// if isConfirmed { try context.insert(draft) }
  /// ```
  /// - Throws: ``ObjectError`` for an object of another context, one that was in one and is related to others there, or one
  ///   of an entity that the context's stores do not have as it is.
  ///
  /// One that this context is to delete is not deleted any more, and is again where it was, when it was last saved, in the relationships of
  /// others. What was deleted along with it stays so.
  public func insert(_ object: ManagedObject) throws(ObjectError) {
    if object.isIn(self) {
      if object.isDeleted {
        object.returnToOtherEnds(undoManager)
        bringBack(object, identity: nil)
      }
      return
    }
    try takeInLoose(object)
    var arrived = [object]
    var next = 0
    while next < arrived.count {
      for other in arrived[next].looseNeighbours where other.isLoose {
        graph.deferError {
          try takeInLoose(other)
          arrived.append(other)
        }
      }
      next += 1
    }
    for object in arrived { object.settle(in: graph) }
  }

  private func takeInLoose(_ object: ManagedObject) throws(ObjectError) {
    guard object.graph == nil else {
      throw ObjectError(
        .foreignObject, "\(object.description) is in another context",
        suggestion: "Get it in this context: context.object(with: object.objectID).")
    }
    guard graph.ledger.isFree(object) else {
      throw ObjectError(
        .foreignObject,
        "\(object.description) is among the changes of the context that it was deleted in",
        suggestion: "Save that context or roll it back first, or insert a new object.")
    }
    let shape = try shapeOfNew(named: object.entity.name)
    guard shape.hasSlots(of: object.shape), shape.takes(type(of: object)) else {
      throw ObjectError(
        .unknownEntity,
        "\(object.entity.name) is another one in the context's stores than that of the object",
        suggestion: "Make the object with the entity of the model that the stores have.")
    }
    guard shape.toOneSlots.allSatisfy({ object.values[$0].isNull }),
      object.collections.allSatisfy({ $0?.content.isEmpty ?? true })
    else {
      throw ObjectError(
        .crossStore, "\(object.description) is related to objects of the context that it was in",
        suggestion: "Insert a new object and copy the values.")
    }
    object.collections = []
    let given = object.changed
    object.markUnchanged()
    object.join(graph, key: graph.keys.nextTemporaryKey, as: shape)
    object.changed = given
    take(object)
  }

  /// Takes in an object that was just born here.
  func take(_ object: ManagedObject, _ identity: UUID? = nil) {
    takeIn(object, identity: identity)
    object.awakeFromInsert()
  }

  /// Takes in an object that awoke elsewhere.
  func takeIn(_ object: ManagedObject, identity: UUID?) {
    graph.keys.addNew(object)
    graph.retained?.insert(object)
    if let identity { graph.keys.give(identity, to: object.key) }
    graph.ledger.list(object)
    graph.ledger.noteInEvent(object)
    object.state.note(.insertedInEvent)
    object.state.change()
    undoManager?.registerUndo(withTarget: object) {
      $0.managedObjectContext?.takeBack($0)
    }
  }

  /// Deletes the object with the next save, and follows the delete rules of its relationships at once. A new object just goes.
  ///
  /// A relationship that denies it makes the save fail, unless its objects are deleted too.
  public func delete(_ object: ManagedObject) {
    guard object.isIn(self) else {
      return graph.deferError {
        throw ObjectError(
          .foreignObject, "\(object.description) is not of this context",
          suggestion: "Get it in this context: context.object(with: object.objectID).")
      }
    }
    guard prepareForDeletion(object) else { return }
    var doomed = [object]
    object.state.noteCascade(false)
    object.state.delete()
    while let next = doomed.popLast() {
      graph.ledger.list(next)
      readForUndo(next)
      graph.leaveHolders(of: next)
      for cascaded in applyDeleteRules(of: next) where !cascaded.isDeleted {
        guard prepareForDeletion(cascaded) else { continue }
        cascaded.state.delete()
        doomed.append(cascaded)
      }
      if !next.isInserted { graph.moves.note(next) }
      graph.ledger.noteInEvent(next)
      next.state.note(.deletedInEvent)
      // Registered after what it does to others, so that it is back before they refer to it again.
      registerBringingBack(next)
      if next.isInserted {
        vanish(next)
        next.state.stayDeleted()
      }
    }
  }

  /// False when nothing is left to do: the object is deleted already, or its own method does so right now.
  private func prepareForDeletion(_ object: ManagedObject) -> Bool {
    guard !object.state.contains(.preparing) else { return false }
    object.state.beginPreparing()
    if object.state.contains(.asleep) { object.fire() }
    object.prepareForDeletion()
    object.state.endPreparing()
    return object.isIn(self) && !object.isDeleted
  }

  /// Frees the other ends, and gives back the objects to delete along.
  private func applyDeleteRules(of object: ManagedObject) -> [ManagedObject] {
    var cascaded: [ManagedObject] = []
    for case let relation? in object.shape.relations {
      let rule = relation.description.deleteRule
      guard rule == .cascade || rule == .nullify else { continue }
      // Another may hold by now what was read here.
      if relation.isExclusive, !object.isInserted {
        object.collection(ifUsed: relation.slot)?.forgetStored()
      }
      let destinations =
        relation.isToMany
        ? object.destinations(relation.slot)
        : [object.destination(of: relation, as: ManagedObject.self)].compactMap { $0 }
      for destination in destinations
      where destination !== object && !isElsewhere(destination, from: object, relation) {
        // One whose row is gone has nothing to let go of.
        if relation.inverseSlot >= 0, !destination.isDeleted, !destination.state.contains(.missing)
        {
          destination.unlink(object, at: relation.inverseSlot)
        }
        guard rule == .cascade else { continue }
        if relation.isExclusive { destination.state.noteCascade() }
        cascaded.append(destination)
      }
    }
    return cascaded
  }

  /// Whether a member of a to-many relationship names another owner itself: what was read of the relationship is older.
  private func isElsewhere(
    _ member: ManagedObject, from object: ManagedObject, _ relation: Relation
  ) -> Bool {
    if relation.isExclusive {
      // What the parent read may be older than what it has.
      return parent != nil && graph.holders(of: member, in: relation)?.contains(object) != true
    }
    guard relation.isToMany, relation.inverseSlot >= 0, !relation.inverseIsToMany,
      !member.lacksValues,
      member.shape.kinds.indices.contains(relation.inverseSlot)
    else { return false }
    guard case .reference(let owner) = member.read(relation.inverseSlot) else { return true }
    return owner.key != object.key
  }

  /// An object is the context's no more; of a new one it is as if it had never been.
  func vanish(_ object: ManagedObject) {
    graph.keys.remove(object)
    graph.leave(object)
  }

  /// Gives up all unsaved changes: new objects go, deleted ones are back.
  ///
  /// While a save writes to the stores, in a merge policy or a method of an object, it is not done, and the save throws
  /// ``ObjectError`` with the code `nested-save`. While one into the parent goes on, it is done after that.
  public func rollback() {
    if refuseWhileWriting("rollback()", { $0.rollback() }) { return }
    let objects = graph.ledger.unlistAll()
    let new = objects.filter { $0.isIn(self) && $0.isInserted }
    graph.ledger.forgetWatched()
    objects.walk { object in
      if object.isInserted {
        vanish(object)
      } else if object.state.contains(.missing) {
        // Whether it is gone is found out again where it is read.
        object.turnIntoFault()
      } else if object.hasChanges {
        object.revert()
      }
    }
    if graph.hasPrimitives {
      for object in registeredObjects where object.committed != nil { object.revert() }
      graph.hasPrimitives = false
    }
    graph.showHiddenMembers()
    // No object of these is left.
    graph.keys.retireTemporaryKeys()
    saving.forgetSuccessors()
    graph.clearAccessorErrors()
    forgetEvent()
    undoManager?.removeAllActions()
    let reverted = objects.selected { $0.isIn(self) }
    for object in reverted { awaken(object, .rollback) }
    let parts = stores.plans.map { plan in
      ContextChanges.Part(
        plan: plan,
        updated: reverted.lazy.filter { $0.shape.planIndex == plan.index }.map(\.objectKey))
    }
    postObjectsDidChange(
      [.refreshedObjects: reverted, .deletedObjects: new],
      ContextChanges(source: number, parts: parts))
  }

  /// Lets go of objects for good, with their values: each is told before any of them leaves, and after all have left.
  func dismiss(_ objects: [ManagedObject]) {
    let told = objects.filter { !$0.needsWaking }
    let before = saving.beginDismissing()
    for object in told where object.isIn(self) {
      // What it does with itself now counts no more.
      object.state.beginAwakening()
      object.willTurnIntoFault()
      object.state.endAwakening()
    }
    saving.endDismissing(before)
    let leaving = objects.filter { $0.isIn(self) }
    for object in leaving {
      vanish(object)
    }
    let left = Set(leaving)
    for object in told where left.contains(object) { object.didTurnIntoFault() }
    if saving.takeDueReset() { reset() }
  }

  /// Forgets all objects and changes. Objects that someone holds belong to no context any more, and are faults without values.
  /// While a save writes it is not done, as ``rollback()`` is not.
  public func reset() {
    if refuseWhileWriting("reset()", { $0.reset() }) { return }
    // An object that is told to go asks for it.
    if saving.isDismissing { return saving.postponeReset() }
    let objects = registeredObjects
    let ids = objects.map(\.objectID)
    dismiss(Array(objects))
    for object in objects where object.graph == nil { object.loseValues() }
    _ = graph.ledger.unlistAll()
    graph.ledger.forgetWatched()
    prefetched = []
    graph.keys.forgetUnsaved()
    saving.forgetSuccessors()
    if retainsRegisteredObjects { graph.retained = [] }
    graph.clearAccessorErrors()
    forgetEvent()
    undoManager?.removeAllActions()
    pinAnew()
    guard !ids.isEmpty else { return }
    post(
      .managedObjectContextObjectsDidChange, [NotificationKey.invalidatedAllObjects.rawValue: ids])
  }

  /// Takes what the store has now: under the object's unsaved changes, or in place of them.
  /// - Throws: what kept the row from being read.
  public func refresh(_ object: ManagedObject, mergeChanges: Bool) throws {
    guard object.isIn(self), !object.isInserted else { return }
    if try takeAnew(object, mergeChanges: mergeChanges) {
      graph.ledger.noteInEvent(object)
      object.state.note(.refreshedInEvent)
    }
  }

  /// Takes what the store has now for all objects, keeping unsaved changes. Objects without any are faults then, and their
  /// transient values are gone.
  ///
  /// - Throws: as ``refresh(_:mergeChanges:)``, at the first object that cannot be read.
  public func refreshAllObjects() throws {
    for object in registeredObjects { try refresh(object, mergeChanges: object.hasChanges) }
  }

  /// Whether the object was not a fault already. What lies in no row stays when changes are merged.
  @discardableResult
  func takeAnew(_ object: ManagedObject, mergeChanges: Bool) throws -> Bool {
    object.state.tryReadingAgain()
    guard mergeChanges, object.hasChanges else {
      guard !object.lacksValues || object.hasChanges else {
        // What was read of its relationships is forgotten all the same.
        object.forgetStoredCollections()
        for state in object.collections { state?.letGo() }
        return false
      }
      if object.hasChanges { object.leaveOtherEnds() }
      // What a save writes of the other ends stands, whatever a merge policy refreshes meanwhile.
      if object.isDeleted, !saving.isWriting { object.returnToOtherEnds(nil) }
      let kept = mergeChanges ? object.transientValues : [:]
      let members = object.heldMembers
      object.turnIntoFault()
      object.putBack(kept)
      object.putBack(members)
      graph.showHiddenMembers()
      return true
    }
    object.forgetStoredCollections()
    if object.lacksValues { return false }
    if try takeValuesBeneath(object) { awaken(object, .refresh) }
    return true
  }
}
