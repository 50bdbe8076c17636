/// Parents and children: what a child sees of its parent, and what it learns when the parent saves.
///
/// A child that is used where its parent is asks it directly; one on another queue asks it on the parent's queue, and waits.
/// An object that the parent has not saved is known to the child by the parent's temporary key; when the parent saves, it
/// tells its children the permanent ones.
extension ManagedObjectContext {
  var hasChildren: Bool { children.areThere || distantChildren.areThere }

  // MARK: Asked by a child

  /// This context's object for one of a child; nil where the key is another entity's here by now.
  func object(above object: ManagedObject) -> ManagedObject? {
    updatePlans()
    let above = self.object(
      forChild: object.objectKey, in: object.shape.planIndex, adopting: type(of: object))
    return above?.entity === object.entity ? above : nil
  }

  /// This context's object for a key of a child, which may be one that the object had before.
  func object(
    forChild key: ObjectKey, in plan: Int, adopting type: ManagedObject.Type
  ) -> ManagedObject? {
    guard key.key < 0, let place = graph.keys.permanentKey(for: key.key) else {
      return graph.object(for: key, in: plan, adopting: type)
    }
    return graph.object(for: place.key, in: place.plan, adopting: type)
  }

  /// This context's object, with its values, for one of a child; nil when it is deleted or was never there.
  func readable(_ object: ManagedObject) throws -> ManagedObject? {
    guard let above = self.object(above: object), !above.isDeleted, try hasRow(above) else {
      return nil
    }
    return above
  }

  // MARK: Asking the parent

  /// Works with the parent where that is used, while this context waits.
  ///
  /// Objects of the parent must not leave the work: the last to let go of one does so on the parent's queue.
  func ask<Value>(
    _ parent: ManagedObjectContext, _ body: (ManagedObjectContext) throws -> Value
  ) rethrows -> Value {
    guard let other = parent.queue, other !== queue else { return try body(parent) }
    graph.confinement.assertHere("The context")
    let confinement = graph.confinement
    return try other.sync {
      // This context's queue waits, so that nobody else uses it.
      graph.confinement = .caller
      defer { graph.confinement = confinement }
      updatePlans()
      let value = try body(parent)
      // What the parent took over meanwhile is in the values that were read.
      updatePlans()
      return value
    }
  }

  /// The child's object for one of the parent.
  func object(under above: ManagedObject) -> ManagedObject? {
    updatePlans()
    // Whoever has the child's object may come to the parent with the key, also when the child is gone.
    if above.key < 0 { above.graph?.keys.noteGivenOut(above.key) }
    var known = graph.registered(above.objectKey, in: above.shape.planIndex)
    graph.deferError { known = try graph.keeping(known, as: above.shape) }
    if let known { return known }
    guard graph.shapes(at: above.shape.planIndex) != nil else { return nil }
    return graph.register(above.shape, key: above.key, state: .fault, as: type(of: above))
  }

  /// What the request finds in the parent, whose unsaved changes are facts for the child.
  func found<Result>(
    by request: FetchRequest<Result>, in parent: ManagedObjectContext
  ) throws -> [ManagedObject] {
    var asked = request
    asked.relationshipKeyPathsForPrefetching = []
    asked.predicate = newest(request.predicate)
    let objects = try ask(parent) { parent in
      try parent.objects(for: asked).compactMap { above -> ManagedObject? in
        guard let object = object(under: above), object.shape === above.shape else { return nil }
        if request.includesPropertyValues, !above.lacksValues, object.lacksValues {
          object.takeBeneathChanges(of: above)
          object.state.takeRow()
        } else if request.shouldRefreshRefetchedObjects, !object.lacksValues {
          object.forgetStoredCollections()
          object.takeBeneathChanges(of: above)
        }
        return object
      }
    }
    awaken(objects, asFaults: graph.givesFaults && request.returnsObjectsAsFaults)
    return objects
  }

  // MARK: Told by the parent

  /// Tells children under which keys objects were saved that they know by temporary ones.
  func tellChildren(_ renamed: [Int64: PlacedKey]) {
    guard !renamed.isEmpty else { return }
    for child in children.all { child.rename(renamed) }
    distantChildren.tell(renamed)
  }

  /// Takes over keys, wherever the old ones stand.
  func rename(_ renamed: [Int64: PlacedKey]) {
    func name(_ key: ObjectKey) -> ObjectKey { renamed[key.key]?.key ?? key }
    for object in registeredObjects { object.rename(name) }
    graph.ledger.claims.rename(renamed)
    inbox.rename(renamed)
    let replaced = graph.keys.renameAdopted(
      renamed, isUndoable: undoManager != nil,
      isAskedFor: newKeys != nil || distantChildren.areThere
    ) { [graph] place in graph.shapes(at: place.plan)?.shape(numbered: place.key.entity) }
    for object in replaced { graph.leave(object) }
    tellChildren(renamed)
  }
}

extension ManagedObject {
  /// Other objects have other keys.
  final func rename(_ name: (ObjectKey) -> ObjectKey) {
    if !lacksValues {
      for slot in shape.toOneSlots {
        if case .reference(let key) = values[slot] { setReference(name(key), at: slot) }
        if case .reference(let key)? = committed?[slot] { committed?[slot] = .reference(name(key)) }
      }
    }
    // A fault may have got other ends of relationships all the same.
    for state in collections { state?.rename(name) }
  }
}
