public import Foundation

/// One object a key: finding objects, making faults, reading their values.
extension ManagedObjectContext {
  /// The object of the ID if the context has it; never reads from the store.
  public func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
    guard let plan = try? plan(), id.isTemporaryID || id.storeIdentifier == plan.store.identifier
    else { return nil }
    return registered(permanentKeys[id.key.key] ?? id.key)
  }

  /// The object of the ID, as a fault when the context does not have it; the store may not have its
  /// row. nil for an ID of another store, or a temporary one of another context.
  public func object(with id: ManagedObjectID) -> ManagedObject? {
    if let object = registeredObject(for: id) { return object }
    guard let plan = try? plan(), id.storeIdentifier == plan.store.identifier else { return nil }
    return object(for: permanentKeys[id.key.key] ?? id.key, adopting: ManagedObject.self)
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
    let plan = try plan()
    if let key = keysByIdentity[identity] { return registered(ObjectKey(entity: 0, key: key)) }
    guard let key = try plan.store.read({ try $0.key(of: identity) }) else { return nil }
    guard try registered(key) != nil || plan.store.read({ try $0.row(key) != nil }) else {
      return nil
    }
    let object = object(for: key, adopting: ManagedObject.self)
    return object?.isDeleted == true ? nil : object
  }

  /// All objects that the context knows and someone holds.
  public var registeredObjects: Set<ManagedObject> {
    var objects = Set(temporaries.compactMap { $0?.takeUnretainedValue() })
    for registry in registries { registry.forEach { objects.insert($0) } }
    return objects
  }

  func objectID(for key: ObjectKey) -> ManagedObjectID? {
    registered(key)?.objectID ?? (try? plan())?.objectID(key)
  }

  // MARK: Keys

  func registered(_ key: ObjectKey) -> ManagedObject? {
    if key.key < 0 {
      let place = -key.key - temporaryBase - 1
      guard place >= 0, place < temporaries.count else { return nil }
      return temporaries[Int(place)]?.takeUnretainedValue()
    }
    guard let shape = try? plan().shape(numbered: key.entity) else { return nil }
    return registries[shape.hierarchy].object(key.key)
  }

  /// The object of the key, made as a fault of at least this class when the context has none.
  func object(for key: ObjectKey, adopting type: ManagedObject.Type) -> ManagedObject? {
    if key.key < 0 { return registered(key) }
    guard let shape = try? plan().shape(numbered: key.entity) else { return nil }
    if let object = registries[shape.hierarchy].object(key.key) { return object }
    shape.adopt(type)
    return register(shape, key: key.key, state: .fault, as: shape.objectClass)
  }

  func register(
    _ shape: ObjectShape, key: Int64, state: ObjectState, as type: ManagedObject.Type
  ) -> ManagedObject {
    let object = type.init(ObjectBirth(shape: shape, context: self, key: key, state: state))
    registries[shape.hierarchy].insert(object)
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
    let place = -key - temporaryBase - 1
    if place >= 0, place < temporaries.count { temporaries[Int(place)] = nil }
    if let identity = identities.removeValue(forKey: key) { keysByIdentity[identity] = nil }
  }

  // MARK: Values

  /// Reads the values of a fault for an accessor.
  func fulfil(_ object: ManagedObject) {
    deferError {
      do {
        try read(object)
      } catch {
        throw ObjectError(
          .unreadable, "\(object.description) could not be read: \(error)",
          suggestion: "Correct what keeps the store from being read, refresh, and try again.")
      }
    }
  }

  /// Reads the values of a fault; an object without a row reads as empty.
  func read(_ object: ManagedObject) throws {
    let row = try plan().store.read { try $0.row(object.objectKey) }
    guard let row else {
      object.state.remove(.fault)
      object.state.insert(.missing)
      return
    }
    object.takeBeneathChanges(row.values, version: row.version)
    object.state.remove(.fault)
    awaken(object)
  }

  func awaken(_ object: ManagedObject) {
    object.state.insert(.awakening)
    object.awakeFromFetch()
    object.state.remove(.awakening)
  }

  /// What the store holds of a to-many relationship; nil when it cannot be read.
  func storedKeys(of object: ManagedObject, _ relation: Relation) -> [ObjectKey]? {
    var keys: [ObjectKey]?
    deferError {
      keys = try plan().store.read {
        try $0.toManyKeys(of: object.objectKey, relation.description)
      }
    }
    return keys
  }

  func identity(of object: ManagedObject) throws -> UUID {
    if object.key > 0 {
      return try plan().store.read { try $0.identity(of: object.objectKey) }
    }
    if let identity = identities[object.key] { return identity }
    let identity = UUID()
    give(identity, to: object)
    return identity
  }

  func give(_ identity: UUID, to object: ManagedObject) {
    identities[object.key] = identity
    keysByIdentity[identity] = object.key
  }
}
