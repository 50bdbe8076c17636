public import Foundation

/// One object a key: finding objects and making faults.
extension ManagedObjectContext {
  /// The object of the ID if the context has it; never reads from the store.
  public func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
    place(of: id).flatMap { registered($0.key, in: $0.plan) }
  }

  /// The object of the ID, as a fault when the context does not have it; the store may not have its
  /// row. nil for an ID of another store, or a temporary one of another context.
  public func object(with id: ManagedObjectID) -> ManagedObject? {
    place(of: id).flatMap { object(for: $0.key, in: $0.plan, adopting: ManagedObject.self) }
  }

  /// The object of the ID, with its values.
  /// - Throws: ``ObjectError`` when the store has no such row, or what kept it from being read.
  public func existingObject(with id: ManagedObjectID) throws -> ManagedObject {
    if let object = object(with: id) {
      if object.isFault {
        try read(object)
      }
      if !object.state.contains(.missing) { return object }
    }
    throw ObjectError(
      .missingObject, "\(id) is not in the store",
      suggestion: "It was deleted or never saved; fetch again.")
  }

  /// The object that replicas know by this UUID, new ones of this context included; nil when
  /// there is none.
  public func object(withIdentity identity: UUID) throws -> ManagedObject? {
    if let key = keysByIdentity[identity] { return registered(temporary: key) }
    if let parent {
      guard let above = try parent.object(withIdentity: identity) else { return nil }
      let object = object(under: above)
      return object?.isDeleted == true ? nil : object
    }
    for plan in try plans() {
      guard let key = try read(plan, { try $0.key(of: identity) }) else { continue }
      guard
        try registered(key, in: plan.index) != nil || read(plan, { try $0.row(key) != nil })
      else { continue }
      let object = object(for: key, in: plan.index, adopting: ManagedObject.self)
      return object?.isDeleted == true ? nil : object
    }
    return nil
  }

  /// All objects that the context knows and someone holds.
  public var registeredObjects: Set<ManagedObject> {
    var objects = Set(temporaries.compactMap { $0?.takeUnretainedValue() })
    for object in adopted.values { objects.insert(object.takeUnretainedValue()) }
    for registry in registries { objects.formUnion(registry.objects) }
    return objects
  }

  // MARK: IDs

  /// Where the object of the ID is; nil for one of a store that is not attached.
  func place(of id: ManagedObjectID) -> PlacedKey? {
    if id.isTemporaryID { return permanentKeys[id.key.key] ?? PlacedKey(plan: -1, key: id.key) }
    return plan(identifier: id.storeIdentifier).map { PlacedKey(plan: $0.index, key: id.key) }
  }

  func objectID(for key: ObjectKey, in plan: Int) -> ManagedObjectID? {
    registered(key, in: plan)?.objectID ?? self.plan(at: plan)?.objectID(key)
  }

  func storeIdentifier(of shape: ObjectShape) -> String {
    plan(at: shape.planIndex)?.store.identifier ?? ""
  }

  // MARK: Keys

  func registered(_ key: ObjectKey, in plan: Int) -> ManagedObject? {
    if key.key < 0 { return registered(temporary: key.key) }
    guard let shape = self.plan(at: plan)?.shape(numbered: key.entity) else { return nil }
    return registries[shape.hierarchy].object(key.key)
  }

  func registered(temporary key: Int64) -> ManagedObject? {
    let place = 0 &- key &- temporaryBase &- 1
    guard place >= 0, place < temporaries.count else {
      return adopted[key]?.takeUnretainedValue()
    }
    return temporaries[Int(place)]?.takeUnretainedValue()
  }

  /// The object of the key, made as a fault of at least this class when the context has none.
  func object(
    for key: ObjectKey, in plan: Int, adopting type: ManagedObject.Type
  ) -> ManagedObject? {
    if key.key < 0 {
      return registered(temporary: key.key)
        ?? parent?.object(for: key, in: plan, adopting: type).flatMap(object(under:))
    }
    guard let shape = self.plan(at: plan)?.shape(numbered: key.entity) else { return nil }
    if let object = registries[shape.hierarchy].object(key.key) { return object }
    shape.adopt(type)
    return register(shape, key: key.key, state: .fault, as: shape.objectClass)
  }

  func register(
    _ shape: ObjectShape, key: Int64, state: ObjectState, as type: ManagedObject.Type
  ) -> ManagedObject {
    let object = type.init(ObjectBirth(shape: shape, context: self, key: key, state: state))
    if key > 0 {
      registries[shape.hierarchy].insert(object)
    } else {
      adopted[key] = .passUnretained(object)
    }
    if retainsRegisteredObjects { retained.insert(object) }
    return object
  }

  func nextTemporaryKey() -> Int64 { -(temporaryBase + Int64(temporaries.count) + 1) }

  func noteTemporaryIDGiven(_ key: Int64) { givenTemporaryKeys.insert(key) }

  /// Called when the object goes.
  func forget(_ object: ManagedObject) {
    if object.key > 0 {
      registries[object.shape.hierarchy].remove(object)
    } else {
      forgetTemporary(object.key)
    }
  }

  func forgetTemporary(_ key: Int64) {
    let place = 0 &- key &- temporaryBase &- 1
    if place >= 0, place < temporaries.count {
      temporaries[Int(place)] = nil
    } else {
      adopted[key] = nil
    }
    if let identity = identities.removeValue(forKey: key) { keysByIdentity[identity] = nil }
  }
}
