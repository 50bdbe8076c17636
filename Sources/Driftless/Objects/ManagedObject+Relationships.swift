import Foundation

/// Relationships, kept the same at both ends.
extension ManagedObject {
  // MARK: To one

  final func destination<Destination: ManagedObject>(
    of relation: Relation, as type: Destination.Type
  ) -> Destination? {
    guard case .reference(let key) = read(relation.slot), let graph else {
      return looseEnds(relation.slot).first as? Destination
    }
    guard let object = graph.object(for: key, in: shape.planIndex, adopting: type) else {
      return nil
    }
    guard let typed = object as? Destination else {
      graph.deferError { throw object.classMismatch(type) }
      return nil
    }
    return typed
  }

  final func setDestination(_ object: ManagedObject?, of relation: Relation) throws(ObjectError) {
    if isLoose { return try setLooseEnds(object.map { [$0] } ?? [], of: relation) }
    if let object { try check(object, fits: relation) }
    if state.contains(.awakening) {
      // No change, so the other end does not follow.
      return write(object.map { .reference($0.objectKey) } ?? .null, at: relation.slot)
    }
    let old = destination(of: relation, as: ManagedObject.self)
    guard !state.contains(.unreadable) else { throw unreadable(nil) }
    guard old !== object else {
      // A reference to an object that is gone reads as nothing, but still stands in the slot.
      if object == nil { write(.null, at: relation.slot) }
      return noteGiven(relation.slot)
    }
    write(object.map { .reference($0.objectKey) } ?? .null, at: relation.slot)
    guard relation.inverseSlot >= 0 else { return }
    old?.unlink(self, at: relation.inverseSlot)
    object?.link(self, at: relation.inverseSlot)
    noteMove(at: relation.slot)
  }

  // MARK: To many

  /// The keys of the present objects.
  final func destinationKeys(_ slot: Int) -> [ObjectKey] {
    if state.contains(.tracked) { noteAccess(slot) }
    return collection(slot, reading: true).content
  }

  final func destinationCount(_ slot: Int) -> Int {
    isLoose ? looseEnds(slot).count : destinations(of: slot).count
  }

  /// The read state of a to-many slot, for its count and its ends.
  final func destinations(of slot: Int) -> ToManyState {
    if state.contains(.tracked) { noteAccess(slot) }
    return collection(slot, reading: true)
  }

  final func destinations(_ slot: Int) -> [ManagedObject] {
    guard let graph else { return looseEnds(slot) }
    if state.contains(.asleep) { fire() }
    let present = destinations(of: slot)
    if let held = present.held(departures: graph.departureCount) { return held }
    let objects = present.content.compactMap {
      graph.object(for: $0, in: shape.planIndex, adopting: ManagedObject.self)
    }
    if graph.holdsMembers {
      collection(ifUsed: slot)?.hold(objects, departures: graph.departureCount)
    }
    return objects
  }

  /// The objects of a to-many relationship in a form that is made once, for as long as it holds these; nil for what is none.
  package final func members<Form>(
    forKey name: String, as make: ([ManagedObject]) -> Form?
  ) -> Form? {
    guard let slot = shape.layout.index(named: name), shape.relations[slot]?.isToMany == true else {
      return nil
    }
    let objects = destinations(slot)
    guard let present = collection(ifUsed: slot) else { return make(objects) }
    return present.heldForm { make(objects) }
  }

  final func contains(_ object: ManagedObject, in slot: Int) -> Bool {
    if isLoose { return looseEnds(slot).contains(object) }
    if state.contains(.tracked) { noteAccess(slot) }
    // Objects of other stores and entities have the same keys.
    guard let relation = shape.relations[slot], object.graph === graph,
      object.shape.planIndex == shape.planIndex, object.shape.isKind(of: relation.destination)
    else { return false }
    // One that is deleted has left those who are to lose it, and says nothing of that itself.
    if relation.inverseSlot >= 0, !relation.inverseIsToMany, !object.isDeleted {
      if case .reference(let key) = object.read(relation.inverseSlot) { return key.key == self.key }
      return false
    }
    return collection(slot, reading: true).contains(object.key)
  }

  /// Whether an object is shown among the present ones.
  final func shows(_ object: ManagedObject, in slot: Int) -> Bool {
    let isThere = contains(object, in: slot)
    guard let relation = shape.relations[slot], collection(ifUsed: slot)?.isRead == true,
      object.graph === graph, object.shape.planIndex == shape.planIndex,
      object.shape.isKind(of: relation.destination), !object.isInserted,
      relation.inverseSlot < 0 || !object.changed.contains(relation.inverseSlot)
    else { return isThere }
    return collection(slot, reading: true).contains(object.key)
  }

  final func addDestination(_ object: ManagedObject, to relation: Relation) throws(ObjectError) {
    if isLoose { return try setLooseEnds(looseEnds(relation.slot) + [object], of: relation) }
    try check(object, fits: relation)
    guard !state.contains(.awakening) else { return }
    bringInLine(object, in: relation, reading: false)
    guard !contains(object, in: relation.slot) else { return }
    if relation.inverseSlot >= 0, !relation.inverseIsToMany,
      let inverse = object.shape.relations[relation.inverseSlot]
    {
      try object.setDestination(self, of: inverse)
      return
    }
    if relation.isExclusive, let formers = graph?.holders(of: object, in: relation) {
      for former in formers where former !== self { former.unlink(object, at: relation.slot) }
    }
    link(object, at: relation.slot)
    if relation.inverseSlot >= 0 { object.link(self, at: relation.inverseSlot) }
  }

  final func removeDestination(
    _ object: ManagedObject, from relation: Relation
  ) throws(ObjectError) {
    if isLoose {
      return try setLooseEnds(looseEnds(relation.slot).filter { $0 !== object }, of: relation)
    }
    guard !state.contains(.awakening) else { return }
    bringInLine(object, in: relation, reading: true)
    guard contains(object, in: relation.slot) else { return }
    if object.isDeleted { return unlink(object, at: relation.slot) }
    if relation.inverseSlot >= 0, !relation.inverseIsToMany,
      let inverse = object.shape.relations[relation.inverseSlot]
    {
      try object.setDestination(nil, of: inverse)
      return
    }
    unlink(object, at: relation.slot)
    if relation.inverseSlot >= 0 { object.unlink(self, at: relation.inverseSlot) }
  }

  final func setDestinations(
    _ objects: [ManagedObject], of relation: Relation
  ) throws(ObjectError) {
    if isLoose { return try setLooseEnds(objects, of: relation) }
    for object in objects { try check(object, fits: relation) }
    guard !state.contains(.awakening) else { return }
    var seen: Set<ObjectIdentifier> = []
    let wanted = objects.filter { seen.insert(ObjectIdentifier($0)).inserted }
    for object in destinations(relation.slot) where !seen.contains(ObjectIdentifier(object)) {
      try removeDestination(object, from: relation)
    }
    for object in wanted { try addDestination(object, to: relation) }
    if relation.isOrdered { arrange(wanted, at: relation.slot) }
  }

  /// Gives the objects of an ordered relationship their places. Present ones that are not among them come behind them.
  final func arrange(_ objects: [ManagedObject], at slot: Int) {
    if isLoose { return keptParts.set(objects, at: slot) }
    guard !state.contains(.awakening) else { return }
    let present = destinationKeys(slot)
    var keys = objects.map(\.objectKey)
    guard keys != present else { return }
    // One whose own end could not be read stays where it is, for instance.
    let (wanted, there) = (Set(keys), Set(present))
    if wanted != there || keys.count != wanted.count {
      var rest = there
      keys = (keys + present).filter { rest.remove($0) != nil }
      guard keys != present else { return }
    }
    if let undo = graph?.undoManager {
      let old = destinations(slot)
      undo.registerUndo(withTarget: self) { $0.rearrange(old, at: slot) }
    }
    collection(slot, reading: true).arrange(keys)
    noteChange(slot)
  }

  // MARK: One end

  /// Takes the other object in at this end only.
  final func link(_ object: ManagedObject, at slot: Int) {
    guard let relation = shape.relations[slot] else { return }
    if relation.isToMany {
      if state.contains(.asleep) { fire() }
      if let undo = graph?.undoManager {
        undo.registerUndo(withTarget: self) { $0.undoLink(object, at: slot) }
      }
      if relation.isOneSided { graph?.ledger.claims.note(self, of: object.key) }
      let state = collection(slot, reading: false)
      if relation.isOrdered, state.removed[object.key] != nil {
        // Its old place is gone with it: it comes back at the end.
        collection(slot, reading: true).placeLast(object.objectKey)
      } else {
        state.add(object.objectKey)
      }
      noteChange(slot)
      return
    }
    // One to one: who held that place loses it.
    if let old = destination(of: relation, as: ManagedObject.self), old !== object,
      relation.inverseSlot >= 0
    {
      old.unlink(self, at: relation.inverseSlot)
    }
    write(.reference(object.objectKey), at: slot)
  }

  /// Lets the other object go at this end only.
  final func unlink(_ object: ManagedObject, at slot: Int) {
    guard let relation = shape.relations[slot] else { return }
    if relation.isToMany {
      if state.contains(.asleep) { fire() }
      if let undo = graph?.undoManager, undo.isUndoRegistrationEnabled {
        // Its place is asked for while it still has one.
        let before = graph?.departing
        graph?.departing = object
        let other = relation.isOrdered ? neighbour(before: object, at: slot) : nil
        graph?.departing = before
        undo.registerUndo(withTarget: self) { $0.undoUnlink(object, after: other, at: slot) }
      }
      collection(slot, reading: false).remove(object.objectKey)
      noteChange(slot)
    } else if case .reference(let key) = read(slot), key.key == object.key {
      write(.null, at: slot)
      noteMove(at: slot)
    }
  }

  // MARK: Storage

  final func collection(ifUsed slot: Int) -> ToManyState? {
    collections.isEmpty ? nil : collections[slot]
  }

  /// The state of a to-many slot, with what the store holds when asked for.
  final func collection(_ slot: Int, reading: Bool) -> ToManyState {
    if collections.isEmpty { collections = Array(repeating: nil, count: shape.slotCount) }
    let state = collections[slot] ?? ToManyState(stored: isInserted ? [] : nil)
    collections[slot] = state
    guard reading, let graph else { return state }
    if state.seenMoves != graph.moves.end, let relation = shape.relations[slot] {
      review(state, of: relation)
    }
    if !state.isRead, let source = graph.source, let relation = shape.relations[slot],
      let keys = source.storedKeys(of: self, relation)
    {
      take(keys, into: state, of: relation)
    }
    return state
  }

  private final func check(
    _ object: ManagedObject, fits relation: Relation
  ) throws(ObjectError) {
    guard object.graph != nil, object.graph === graph else {
      throw ObjectError(
        .foreignObject,
        "\(entity.name).\(relation.name) cannot refer to an object of another context, or of none",
        suggestion: "Get the object in this context: context.object(with: other.objectID).")
    }
    guard object.shape.planIndex == shape.planIndex else {
      throw ObjectError(
        .crossStore,
        "\(entity.name).\(relation.name) cannot refer to an object of another store",
        suggestion: "Assign new objects to one store, or keep the other's ID in an attribute.")
    }
    guard object.shape.isKind(of: relation.destination) else {
      throw wrongEntity(of: object, in: relation)
    }
    guard relation.inverseSlot >= 0, !relation.inverseIsToMany else { return }
    // Its end is set as well.
    if object.needsWaking { object.fire() }
    guard !object.state.contains(.unreadable) else { throw object.unreadable(nil) }
  }

  final func wrongEntity(of object: ManagedObject, in relation: Relation) -> ObjectError {
    ObjectError(
      .typeMismatch,
      "\(entity.name).\(relation.name) holds \(relation.destination.name), "
        + "not \(object.entity.name)",
      suggestion: "Set an object of the relationship's destination entity.")
  }

  final func classMismatch(_ type: ManagedObject.Type) -> ObjectError {
    shape.classMismatch(type, of: Swift.type(of: self))
  }
}
