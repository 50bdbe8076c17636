import Foundation

/// For accessors that a subclass writes by hand, and for looking at an object closely.
extension ManagedObject {
  /// 0 when all values are there.
  public final var faultingState: Int { isFault ? 1 : 0 }

  // MARK: Primitive values

  /// The value as it lies in the object: of a to-one relationship the object at the other end, of a to-many one a set of
  /// objects, of an ordered one an array.
  ///
  /// Reads the object's row when it is a fault.
  /// - Throws: ``ObjectError`` when the entity has no such property, or its value is not here yet (`valueNotHere`).
  @_disfavoredOverload
  public final func primitiveValue(forKey name: String) throws(ObjectError) -> Any? {
    if let slot = shape.layout.index(named: name), let relation = shape.relations[slot],
      relation.isToMany
    {
      let objects = destinations(slot)
      return relation.isOrdered ? objects : Set(objects)
    }
    let slot = try primitiveSlot(name)
    let value = read(slot)
    if value.isInZone { throw notHere(value, slot) }
    if case .reference(let key) = value { return objects([key]).first }
    if isLoose, let end = looseEnds(slot).first { return end }
    return value.plain
  }

  /// Sets a value without noting a change: no other end follows, nothing can be undone, and the object is not saved for it.
  /// A save that writes the object for another reason writes this value too, so that `willSave` can set one; so does an
  /// insert.
  /// - Throws: ``ObjectError`` when there is no such attribute, or the value does not fit.
  @_disfavoredOverload
  public final func setPrimitiveValue(_ value: Any?, forKey name: String) throws(ObjectError) {
    let slot = try primitiveSlot(name)
    if isLoose, shape.relations[slot] != nil { return try setValue(value, forKey: name) }
    if needsWaking { fire() }
    guard !state.contains(.unreadable) else { throw unreadable(nil) }
    var value = value
    if let object = value as? ManagedObject, object.graph === graph,
      object.shape.planIndex == shape.planIndex
    {
      value = PropertyValue.reference(object.objectKey)
    }
    let converted = try propertyValue(value, for: slot)
    if case .reference(let key) = converted, !refers(to: key, at: slot) {
      throw typeMismatch(converted, slot)
    }
    guard values[slot] != converted else { return }
    if state.contains(.inserted) {
      changed.insert(slot)
    } else if !state.contains(.awakening) {
      keepCommitted()
      changed.insert(slot)
      if !state.contains(.dirty) { graph?.hasPrimitives = true }
    }
    values[slot] = converted
  }

  /// Whether the key may be that of an object at the other end.
  private final func refers(to key: ObjectKey, at slot: Int) -> Bool {
    guard let graph, let relation = shape.relations[slot] else { return false }
    let shape =
      key.key < 0
      ? graph.keys.object(temporary: key.key)?.shape
      : graph.shapes(at: shape.planIndex)?.shape(numbered: key.entity)
    return shape?.isKind(of: relation.destination) == true
  }

  private final func primitiveSlot(_ name: String) throws(ObjectError) -> Int {
    guard let slot = shape.layout.index(named: name), shape.kinds[slot] != .toMany else {
      throw unknownProperty(name)
    }
    return slot
  }

  /// Call it before a hand-written accessor reads primitive values: it reads the row of a fault.
  public final func willAccessValue(forKey name: String?) { if needsWaking { fire() } }

  /// Call it after a hand-written accessor read primitive values.
  public final func didAccessValue(forKey name: String?) {}

  /// Call it before a hand-written accessor sets a primitive value: the change counts, and can be undone.
  public final func willChangeValue(forKey name: String) {
    guard let slot = try? primitiveSlot(name) else { return }
    if needsWaking { fire() }
    guard state.isDisjoint(with: [.unreadable, .awakening]) else { return }
    willWrite(slot)
  }

  /// Call it after a hand-written accessor set a primitive value.
  public final func didChangeValue(forKey name: String) {}

  // MARK: What changed

  /// The properties that changed since the last event ended (``ManagedObjectContext/processPendingChanges()``), with
  /// their present values. Relationships give objects.
  @_disfavoredOverload
  public final func changedValuesForCurrentEvent() -> [String: Any?] {
    var result: [String: Any?] = [:]
    for slot in changedInEvent.indexes where !shape.isTransient[slot] {
      let name = shape.layout.slots[slot].name
      result.updateValue(listedValue(forKey: name), forKey: name)
    }
    return result
  }

  /// The properties that changed since the last event ended, with the values that they had then; to-many relationships with what
  /// was read or saved last.
  package final func knownValuesBeforeEvent() -> [String: Any?] {
    var result: [String: Any?] = [:]
    for slot in changedInEvent.indexes where !shape.isTransient[slot] {
      result.updateValue(valueBeforeEvent(at: slot), forKey: shape.layout.slots[slot].name)
    }
    return result
  }

  private final func valueBeforeEvent(at slot: Int) -> Any? {
    if let relation = shape.relations[slot], relation.isToMany {
      let former = objects(isInserted ? [] : collection(slot, reading: true).lastRead ?? [])
      return former
    }
    let value =
      graph?.ledger.valueBeforeEvent(of: self, at: slot) ?? committed?[slot]
      ?? (isInserted && !shape.defaults.isEmpty ? shape.defaults[slot] : .null)
    if case .reference(let key) = value { return objects([key]).first }
    return listed(value, at: slot)
  }

  /// Some of the values as last read or saved; all attributes and to-one relationships when `names` is nil. No value
  /// gives nil, a to-one relationship its object, a to-many one that is named an array. An object that was never saved
  /// has none. A large value that is not here is the ``PropertyValue`` that stands for it, which setters take back.
  @_disfavoredOverload
  public final func committedValues(forKeys names: [String]?) -> [String: Any?] {
    let committed = committedValues
    var result: [String: Any?] = [:]
    for name in names ?? Array(committed.keys) {
      guard let slot = shape.layout.index(named: name) else { continue }
      let value: Any?
      if shape.kinds[slot] == .toMany {
        value = objects(collection(slot, reading: true).lastRead ?? [])
      } else if case .reference(let key)? = committed[name] {
        value = objects([key]).first
      } else {
        value = committed[name].flatMap { listed($0, at: slot) }
      }
      result.updateValue(value, forKey: name)
    }
    return result
  }

  private final func objects(_ keys: [ObjectKey]) -> [ManagedObject] {
    keys.compactMap {
      graph?.object(for: $0, in: shape.planIndex, adopting: ManagedObject.self)
    }
  }

  // MARK: Validation

  /// Checks a value against the rules for one property, its class's and the model's, without setting it.
  /// - Throws: ``ObjectError`` when there is no such property or the value does not fit it, ``ValidationError`` for a
  ///   rule of the model that it breaks, or what a rule of the class throws.
  public final func validateValue(_ value: Any?, forKey name: String) throws {
    var value = value
    try validateValue(&value, forKey: name)
  }

  /// Checks a value in the same way, and puts in place of it what the class's rules make of it.
  /// - Throws: as the one that takes a value alone.
  @_disfavoredOverload
  public final func validateValue(_ value: inout Any?, forKey name: String) throws {
    try formed { try checkValue(&value, forKey: name) }
  }

  private final func checkValue(_ value: inout Any?, forKey name: String) throws {
    guard let slot = shape.layout.index(named: name) else { throw unknownProperty(name) }
    switch shape.layout.slots[slot].kind {
    case .attribute(let attribute, _):
      let given = try propertyValue(value, for: slot)
      let rules = PropertyRules.rules.all(of: type(of: self))[name] ?? []
      let corrected = try self.corrected(given, at: slot, by: rules)
      try attribute.validate(corrected)
      if corrected != given { value = plain(corrected, at: slot) }
    case .toOne(let relationship):
      if let plain = Self.unwrapped(value) {
        guard let object = plain as? ManagedObject, isRight(object, at: slot) else {
          throw typeMismatch(plain, slot)
        }
      } else if !relationship.isOptional {
        throw missing(relationship)
      }
    case .toMany(let relationship):
      try validate(related(value, at: slot).count, relationship)
    }
    _ = try correct(&value, by: PropertyRules.methods.all(of: type(of: self))[name] ?? [])
  }

  /// The objects that a relationship is to hold.
  private final func related(_ value: Any?, at slot: Int) throws(ObjectError) -> [ManagedObject] {
    guard let objects = Self.objects(in: value), objects.allSatisfy({ isRight($0, at: slot) })
    else { throw typeMismatch(value ?? "nil", slot) }
    return objects
  }

  /// Whether an object is of an entity that a relationship holds.
  private final func isRight(_ object: ManagedObject, at slot: Int) -> Bool {
    shape.relations[slot].map { object.shape.isKind(of: $0.destination) } ?? false
  }
}
