/// A child's save: its changes become changes of the parent.
///
/// The parent's objects are changed as an application would change them, both ends of a relationship at once, so that
/// the parent's own unsaved changes stay consistent with what comes. All of it runs where the parent is used.
struct ChildSave {
  let child: ManagedObjectContext
  let parent: ManagedObjectContext
  private(set) var inserted: [ManagedObject] = []
  private(set) var updated: [ManagedObject] = []
  private(set) var deleted: [ManagedObject] = []
  /// Objects that the parent has lost, whose changes go with them.
  private(set) var lost: [ManagedObject] = []
  /// The parent's new objects by the child's temporary key, while it runs. One that has its permanent key is found by that.
  private var newObjects: [Int64: ManagedObject] = [:]
  /// The keys that the parent gave new objects, by the child's temporary ones.
  private(set) var newKeys: [Int64: PlacedKey] = [:]

  init(_ child: ManagedObjectContext, to parent: ManagedObjectContext) {
    self.child = child
    self.parent = parent
  }

  mutating func run() throws {
    try sort()
    for object in inserted {
      let above = parent.insert(fromChild: object)
      if let identity = child.graph.keys.identity(of: object.key) {
        parent.graph.keys.give(identity, to: above.key)
      }
      if object.key < 0 { newObjects[object.key] = above }
    }
    noteFormerKeys()
    for object in inserted + updated { copyAttributes(of: object) }
    // Half of the changes must not stay behind for a second save to repeat: what cannot be copied is an error of the
    // parent's next save.
    for object in inserted + updated { parent.graph.deferError { try copyReferences(of: object) } }
    for object in inserted + updated { parent.graph.deferError { try copyCollections(of: object) } }
    for object in deleted {
      guard let above = parent.object(above: object) else { continue }
      parent.delete(above)
      if object.state.contains(.cascaded) { above.state.noteCascade() }
    }
    parent.processPendingChanges()
    for (old, above) in newObjects {
      newKeys[old] = PlacedKey(plan: above.shape.planIndex, key: above.objectKey)
      // The child's object has it from now on, and gives it out.
      if above.key < 0 { parent.graph.keys.noteGivenOut(above.key) }
    }
    // The parent has them as its changes.
    newObjects = [:]
  }

  /// An ID that was asked for in the child, or in a child of it, names the parent's object as well.
  private func noteFormerKeys() {
    func note(_ old: Int64, _ above: ManagedObject) {
      let place = PlacedKey(plan: above.shape.planIndex, key: above.objectKey)
      parent.graph.keys.notePermanent(place, for: old, child.graph.keys.trace(of: old))
      if above.key < 0 { parent.graph.keys.noteGivenOut(above.key) }
    }
    for object in inserted where child.graph.keys.isGivenOut(object.key) {
      if let above = newObjects[object.key] { note(object.key, above) }
    }
    for (old, new) in child.graph.keys.formerTemporaryKeys {
      if let above = newObjects[new] { note(old, above) }
    }
  }

  /// The temporary key that the parent gave a new object, or the key that it has.
  func newKey(_ key: ObjectKey) -> ObjectKey { newKeys[key.key]?.key ?? key }

  /// Sorts the changes, and finds those of objects that the parent does not have any more.
  private mutating func sort() throws {
    var conflicts: [MergeConflict] = []
    for object in child.changedObjects where object.isIn(child) && object.hasChanges {
      if object.isDeleted {
        if !object.isInserted { deleted.append(object) }
      } else if object.isInserted {
        inserted.append(object)
      } else if try parent.readable(object) != nil {
        updated.append(object)
      } else if child.mergePolicy.mergeType == .error {
        conflicts.append(
          MergeConflict(
            objectID: object.objectID,
            changedProperties: object.changedSlots.indexes.map {
              object.shape.layout.slots[$0].name
            },
            isDeletion: false, oldVersionNumber: object.version, newVersionNumber: 0,
            objectSnapshot: object.committedValues, persistedSnapshot: nil))
      } else {
        // CONFLICT: changed here, deleted in the parent. RESOLUTION: the delete stands; what an application wants back
        // it brings back in the parent, which has the whole object.
        lost.append(object)
      }
    }
    if !conflicts.isEmpty { throw SaveConflictError(conflicts: conflicts) }
  }

  private func above(_ object: ManagedObject) -> ManagedObject? {
    newObjects[object.key] ?? parent.object(above: object)
  }

  private func above(_ key: ObjectKey, of owner: ManagedObject) -> ManagedObject? {
    newObjects[key.key]
      ?? parent.object(
        forChild: key, in: owner.shape.planIndex, adopting: ManagedObject.self)
  }

  private func copyAttributes(of object: ManagedObject) {
    guard let above = above(object) else { return }
    for slot in object.slotsToCopy where object.shape.relations[slot] == nil {
      above.write(object.values[slot], at: slot)
      if object.isInserted, object.changed.contains(slot) { above.noteGiven(slot) }
    }
  }

  private func copyReferences(of object: ManagedObject) throws {
    guard let above = above(object) else { return }
    for slot in object.slotsToCopy {
      guard let relation = object.shape.relations[slot], !relation.isToMany else { continue }
      var destination: ManagedObject?
      if case .reference(let key) = object.values[slot] {
        destination = self.above(key, of: object)
      }
      // CONFLICT: it refers to what the parent deleted. RESOLUTION: the delete stands.
      if destination?.isDeleted == true { destination = nil }
      // Nobody said that a new object refers to nothing.
      if destination == nil, object.isInserted, !object.changed.contains(slot) { continue }
      try above.setDestination(destination, of: relation)
    }
  }

  private func copyCollections(of object: ManagedObject) throws {
    guard let above = above(object) else { return }
    for slot in object.shape.toManySlots {
      guard let state = object.collection(ifUsed: slot), state.hasChanges,
        let relation = object.shape.relations[slot]
      else { continue }
      for key in state.removed.values {
        if let member = self.above(key, of: object) {
          try above.removeDestination(member, from: relation)
        }
      }
      for key in state.added {
        if let member = self.above(key, of: object), !member.isDeleted {
          try above.addDestination(member, to: relation)
        }
      }
      if relation.isOrdered { arrange(state, of: object, above, slot) }
    }
  }

  /// Puts the parent's members in the child's order; those that the child does not know go to the end.
  private func arrange(
    _ state: ToManyState, of object: ManagedObject, _ above: ManagedObject, _ slot: Int
  ) {
    guard let order = state.arranged else { return arrangeAdded(state, of: object, above, slot) }
    let present = above.destinations(slot)
    let there = Set(present.map { ObjectIdentifier($0) })
    let wanted = order.compactMap { self.above($0, of: object) }
      .filter { there.contains(ObjectIdentifier($0)) }
    let known = Set(wanted.map { ObjectIdentifier($0) })
    above.arrange(wanted + present.filter { !known.contains(ObjectIdentifier($0)) }, at: slot)
  }

  /// What the child added at the end came to the parent object by object, new ones first: among the places that it has there
  /// it takes the child's order. All others stay where they are.
  private func arrangeAdded(
    _ state: ToManyState, of object: ManagedObject, _ above: ManagedObject, _ slot: Int
  ) {
    let added = state.added.compactMap { self.above($0, of: object) }
    let keys = added.map(\.objectKey)
    let here = Set(keys)
    // Nothing is read of a relationship that has them in this order already.
    guard keys.count > 1, above.collection(ifUsed: slot)?.added.filter(here.contains) != keys else {
      return
    }
    let present = above.destinations(slot)
    let there = Set(present.lazy.map(\.objectKey))
    var next = added.lazy.filter { there.contains($0.objectKey) }.makeIterator()
    above.arrange(
      present.map { here.contains($0.objectKey) ? next.next() ?? $0 : $0 }, at: slot)
  }
}

extension ManagedObject {
  /// Attributes and to-one relationships that a child's save copies: all of a new object, transient ones with them; of another
  /// what differs from what the child took from its parent, which may have other values by now.
  fileprivate final var slotsToCopy: [Int] {
    if isInserted { return (0..<shape.slotCount).filter { shape.kinds[$0] != .toMany } }
    let differing = changedSlots
    return changed.indexes.filter { slot in
      shape.kinds[slot] != .toMany && (shape.isTransient[slot] || differing.contains(slot))
    }
  }
}

extension ManagedObjectContext {
  /// A new object that a child made; it awoke there.
  fileprivate func insert(fromChild object: ManagedObject) -> ManagedObject {
    updatePlans()
    // A store may have come that the child does not know of yet.
    let shape = presentShape(for: object.shape)
    if object.key > 0, let fault = graph.registered(object.objectKey, in: shape.planIndex) {
      if fault.shape === shape {
        // Somebody asked for the object by its permanent ID before there was anything of it here.
        fault.becomeNew()
        takeIn(fault, identity: nil)
        return fault
      }
      // By an ID that named a wrong entity: there is nothing of that here.
      graph.keys.remove(fault)
      graph.leave(fault)
    }
    let key = object.key > 0 ? object.key : graph.keys.nextTemporaryKey
    let own = type(of: object).init(
      ObjectBirth(shape: shape, graph: graph, key: key, state: .new))
    takeIn(own, identity: nil)
    return own
  }

  /// Saves into the parent.
  func save(to parent: ManagedObjectContext) throws -> SavedObjects {
    var save = ChildSave(self, to: parent)
    saving.beginWritingObjects()
    do {
      defer { saving.endWritingObjects() }
      try ask(parent) { _ in try save.run() }
    }
    let saved = finish(save)
    persistentStoreCoordinator.publish(saved.changes)
    return saved
  }

  private func finish(_ save: ChildSave) -> SavedObjects {
    let isAskedFor = distantChildren.areThere
    for object in save.inserted {
      let (old, key) = (object.key, save.newKey(object.objectKey))
      let place = PlacedKey(plan: object.shape.planIndex, key: key)
      if isAskedFor, old < 0 {
        graph.keys.notePermanent(place, for: old)
      } else {
        graph.keys.notePermanentIfGivenOut(place, for: old)
      }
      if undoManager != nil { graph.keys.noteRenamed(object.objectKey, key, in: place.plan) }
      object.commit(key: key.key, version: 0, save.newKey)
      graph.add(object)
    }
    if graph.hasPrimitives {
      // Values that were set beneath may refer to what was new here.
      for object in registeredObjects where object.committed != nil { object.rename(save.newKey) }
    }
    for object in save.updated {
      object.commit(key: object.key, version: object.version, save.newKey)
    }
    for object in save.deleted + save.lost { vanish(object) }
    let parts = stores.plans.map { plan in
      func keys(_ objects: [ManagedObject]) -> [ObjectKey] {
        objects.filter { $0.shape.planIndex == plan.index }.map(\.objectKey)
      }
      return ContextChanges.Part(
        plan: plan, inserted: keys(save.inserted), updated: keys(save.updated),
        deleted: keys(save.deleted + save.lost))
    }
    forgetSavedChanges()
    // The parent deleted these before; what was saved is not to be deleted any more.
    for object in save.lost { object.state.stayDeleted() }
    tellChildren(save.newKeys)
    saving.didWrite()
    for object in save.inserted + save.updated { object.didSave() }
    for object in save.deleted + save.lost { object.dismissSaved() }
    return SavedObjects(
      changes: ContextChanges(source: number, target: parent?.number, parts: parts),
      inserted: save.inserted,
      updated: save.updated, deleted: save.deleted + save.lost)
  }
}
