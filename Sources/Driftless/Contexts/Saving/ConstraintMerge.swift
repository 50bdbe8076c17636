/// Makes one object of those that meet under a uniqueness constraint.
struct ConstraintMerge {
  private let context: ManagedObjectContext
  private let type: MergePolicyType
  /// This context's objects, saved ones first.
  private let members: [ManagedObject]
  /// The object that the store has.
  private let stored: ManagedObject?
  private let constraint: [String]

  init(_ context: ManagedObjectContext, _ conflict: ConstraintConflict) {
    self.context = context
    type = conflict.resolution ?? .error
    constraint = conflict.constraint
    // An earlier conflict may have removed some.
    members = conflict.conflictingObjects.compactMap(context.object(with:))
      .filter { !$0.isDeleted }
    stored = conflict.databaseObject.flatMap(context.object(with:))
  }

  init(
    _ context: ManagedObjectContext, by type: MergePolicyType, _ constraint: [String],
    stored: ManagedObject?, _ members: [ManagedObject]
  ) {
    self.context = context
    self.type = type
    self.constraint = constraint
    self.stored = stored
    self.members = members.filter { !$0.isDeleted }
  }

  /// Gives back the objects that were changed or deleted; tells `note` which new object became which.
  func run(_ note: (ManagedObject, ManagedObject) -> Void) throws -> [ManagedObject] {
    if let stored {
      if stored.isDeleted { return [] }
      // What the store has now, which this context may not have seen.
      if stored.lacksValues {
        try context.read(stored)
      } else {
        _ = try context.takeValuesBeneath(stored)
      }
    }
    switch type {
    case .error: return []
    // CONFLICT: two objects with a unique value. RESOLUTION: the store's object stays as it is.
    case .rollback:
      for object in members {
        if object.isInserted { context.delete(object) } else { object.takeBackChanges() }
      }
      return members
    // CONFLICT: two objects with a unique value. RESOLUTION: the store's object stays, and takes in what referred to
    // the other; the value that a saved object took over goes back.
    case .mergeByPropertyStoreTrump:
      guard let stored else { return [] }
      for object in members {
        if object.isInserted {
          try replace(object, by: stored, note)
        } else {
          object.takeBackChanges(of: constraint)
        }
      }
      context.awaken(stored, .mergePolicy)
      return members + [stored]
    // CONFLICT: two objects with a unique value. RESOLUTION: a saved object stays, with this context's values.
    case .mergeByPropertyObjectTrump, .overwrite:
      guard let winner = members.first(where: { !$0.isInserted }) ?? stored ?? members.first else {
        return []
      }
      let losers = ([stored].compactMap { $0 } + members).filter { $0 !== winner }
      for object in losers {
        if object !== stored { try copyValues(of: object, to: winner) }
        if !object.isInserted { try copyMissingReferences(of: object, to: winner) }
        try replace(object, by: winner, note)
      }
      context.awaken(winner, .mergePolicy)
      return losers + [winner]
    }
  }

  private func copyValues(of object: ManagedObject, to winner: ManagedObject) throws {
    for slot in 0..<object.shape.slotCount
    where object.shape.kinds[slot] != .toMany
      && (type == .overwrite || object.changed.contains(slot))
    {
      if let relation = winner.shape.relations[slot] {
        try winner.setDestination(
          object.destination(of: relation, as: ManagedObject.self), of: relation)
      } else {
        winner.write(object.read(slot), at: slot)
      }
    }
  }

  /// What a saved object refers to must not go with it.
  private func copyMissingReferences(of object: ManagedObject, to winner: ManagedObject) throws {
    for slot in object.shape.toOneSlots where winner.read(slot).isNull {
      guard let relation = winner.shape.relations[slot],
        let destination = object.destination(of: relation, as: ManagedObject.self)
      else { continue }
      try winner.setDestination(destination, of: relation)
    }
  }

  /// Moves the object's to-many relationships to the other and deletes it.
  private func replace(
    _ object: ManagedObject, by winner: ManagedObject,
    _ note: (ManagedObject, ManagedObject) -> Void
  ) throws {
    for slot in object.shape.toManySlots {
      guard let relation = winner.shape.relations[slot] else { continue }
      for member in object.destinations(slot) where member !== object {
        try object.removeDestination(member, from: relation)
        try winner.addDestination(member, to: relation)
      }
    }
    if object.isInserted { note(object, winner) }
    context.delete(object)
  }
}

extension ManagedObject {
  /// Gives properties the values that were last read or saved, at both ends; all properties when nil.
  final func takeBackChanges(of names: [String]? = nil) {
    graph?.deferError {
      for slot in changedSlots.indexes {
        if let names, !names.contains(shape.layout.slots[slot].name) { continue }
        try takeBackChange(at: slot)
      }
    }
  }

  private final func takeBackChange(at slot: Int) throws {
    guard let relation = shape.relations[slot] else {
      if let committed { write(committed[slot], at: slot) }
      return
    }
    func object(_ key: ObjectKey) -> ManagedObject? {
      graph?.object(for: key, in: shape.planIndex, adopting: ManagedObject.self)
    }
    if relation.isToMany {
      guard let state = collection(ifUsed: slot) else { return }
      for key in state.added {
        guard let object = object(key) else { continue }
        try removeDestination(object, from: relation)
      }
      for key in state.removed.values {
        guard let object = object(key) else { continue }
        try addDestination(object, to: relation)
      }
    } else {
      var destination: ManagedObject?
      if case .reference(let key)? = committed?[slot] { destination = object(key) }
      try setDestination(destination, of: relation)
    }
  }
}
