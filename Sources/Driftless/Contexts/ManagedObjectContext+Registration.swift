public import Foundation

/// One object a key: finding objects and making faults.
extension ManagedObjectContext {
  /// The object of the ID if the context has it; never reads from the store.
  public func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
    place(of: id).flatMap { graph.registered($0.key, in: $0.plan) }
  }

  /// The object of the ID, as a fault when the context does not have it; the store may not have its
  /// row. nil for an ID of another store, or a temporary one of another context.
  public func object(with id: ManagedObjectID) -> ManagedObject? {
    place(of: id).flatMap { graph.object(for: $0.key, in: $0.plan, adopting: ManagedObject.self) }
  }

  /// The object of the ID, with its values.
  /// - Throws: ``ObjectError`` when the store has no such row, or what kept it from being read.
  public func existingObject(with id: ManagedObjectID) throws -> ManagedObject {
    if let object = object(with: id), try hasRow(object) {
      if object.isFault { object.fire() }
      return object
    }
    throw ObjectError(
      .missingObject, "\(id) is not in the store",
      suggestion: "It was deleted or never saved; fetch again.")
  }

  /// The object that replicas know by this UUID, new ones of this context included; nil when
  /// there is none.
  ///
  /// - Throws: ``ObjectError`` where the coordinator has no store; `StoreError` where one cannot be read.
  public func object(withIdentity identity: UUID) throws -> ManagedObject? {
    if let key = graph.keys.key(of: identity) { return graph.keys.object(temporary: key) }
    if let parent {
      let object = try ask(parent) { parent in
        try parent.object(withIdentity: identity).flatMap(object(under:))
      }
      return object?.isDeleted == true ? nil : object
    }
    for plan in try plans() {
      guard let key = try read(plan, { try $0.key(of: identity) }) else { continue }
      guard
        try graph.registered(key, in: plan.index) != nil
          || read(plan, { try $0.concreteKey(root: key) != nil })
      else { continue }
      let object = graph.object(for: key, in: plan.index, adopting: ManagedObject.self)
      return object?.isDeleted == true ? nil : object
    }
    return nil
  }

  /// The objects that replicas know by these UUIDs, as ``object(withIdentity:)`` says of each, with their values: a few
  /// queries for all of them. Whoever asks holds them.
  package func objects(withIdentities identities: Set<UUID>) throws -> [UUID: ManagedObject] {
    var objects: [UUID: ManagedObject] = [:]
    var rest = identities
    for plan in parent == nil ? try plans() : [] {
      let keys = try read(plan) { transaction in
        try transaction.livingKeys(of: rest.filter { graph.keys.key(of: $0) == nil })
      }
      for (identity, key) in keys {
        rest.remove(identity)
        let object = graph.object(for: key, in: plan.index, adopting: ManagedObject.self)
        if let object, !object.isDeleted { objects[identity] = object }
      }
    }
    // What is new here, or a parent's.
    for identity in rest where parent != nil || graph.keys.key(of: identity) != nil {
      objects[identity] = try object(withIdentity: identity)
    }
    try readFaults(Array(objects.values))
    return objects
  }

  /// All objects that the context knows and someone holds.
  public var registeredObjects: Set<ManagedObject> {
    Set(graph.keys.objects)
  }

  /// What the column of an attribute holds that is no value of it; nil where it has one, and where one was set over it here.
  package func unreadableValue(_ name: String, of object: ManagedObject) throws -> BrokenValue? {
    guard !object.isInserted, let slot = object.entity.layout.index(named: name),
      !object.changedSlots.contains(slot), let place = place(of: object.objectID),
      let plan = try plans().first(where: { $0.index == place.plan })
    else { return nil }
    return try read(plan) { transaction in
      try transaction.rowWithBreaches(place.key)?.broken.first { $0.slot == slot }
    }
  }

  /// Where the object of the ID is; nil for one of a store that is not attached.
  func place(of id: ManagedObjectID) -> PlacedKey? {
    if id.isTemporaryID {
      updatePlans()
      return graph.keys.permanentKey(for: id.key.key) ?? PlacedKey(plan: -1, key: id.key)
    }
    return plan(identifier: id.storeIdentifier).map { PlacedKey(plan: $0.index, key: id.key) }
  }
}
