/// Places in ordered relationships.
extension ManagedObject {
  /// The object that stands before this one; nil for the first.
  final func neighbour(before object: ManagedObject, at slot: Int) -> ManagedObject? {
    collection(slot, reading: true).previous(of: object.key).flatMap {
      graph?.object(for: $0, in: shape.planIndex, adopting: ManagedObject.self)
    }
  }

  /// Moves an object that is there behind another one, or to the beginning.
  final func place(_ object: ManagedObject, after other: ManagedObject?, at slot: Int) {
    if let undo = graph?.undoManager, undo.isUndoRegistrationEnabled {
      let old = neighbour(before: object, at: slot)
      undo.registerUndo(withTarget: self) { $0.undoMove(object, after: old, at: slot) }
    }
    collection(slot, reading: true).place(object.objectKey, after: other?.key)
    noteChange(slot)
  }

  /// Puts an object at a place among the others, whether it is there or not.
  final func place(
    _ object: ManagedObject, at index: Int, in relation: Relation
  ) throws(ObjectError) {
    guard relation.isOrdered else {
      throw ObjectError(
        .typeMismatch, "\(entity.name).\(relation.name) is not ordered and has no places",
        suggestion: "Make the relationship ordered in the model, or insert without a place.")
    }
    if !isLoose, !state.contains(.awakening) { bringInLine(object, in: relation, reading: true) }
    let isThere = contains(object, in: relation.slot)
    let count = destinationCount(relation.slot) - (isThere ? 1 : 0)
    guard index >= 0, index <= count else {
      throw ObjectError(
        .outOfRange, "\(entity.name).\(relation.name) has no place \(index)",
        suggestion: "Give a place from 0 to \(count).")
    }
    if isLoose {
      var others = looseEnds(relation.slot).filter { $0 !== object }
      others.insert(object, at: index)
      return try setLooseEnds(others, of: relation)
    }
    if state.contains(.awakening) { return }
    if !isThere { try addDestination(object, to: relation) }
    guard isThere || index < count else { return }
    place(
      object, after: try other(before: index, without: object, relation.slot), at: relation.slot)
  }

  /// The object that is to stand before a place when `object` is taken out; nil for the first place.
  private final func other(
    before index: Int, without object: ManagedObject, _ slot: Int
  ) throws(ObjectError) -> ManagedObject? {
    guard index > 0 else { return nil }
    let keys = collection(slot, reading: true).content
    var key = keys[index - 1]
    if keys[..<index].contains(where: { $0.key == object.key }) { key = keys[index] }
    return graph?.object(for: key, in: shape.planIndex, adopting: ManagedObject.self)
  }
}

extension RelatedObjects {
  /// The object at a place of an ordered relationship; nil for a place that there is not.
  public subscript(index: Int) -> Element? {
    switch storage {
    case .list(let objects): return objects.indices.contains(index) ? objects[index] : nil
    case .view(let owner, let slot):
      if owner.isLoose { return RelatedObjects(array)[index] }
      let keys = owner.destinationKeys(slot)
      return object(of: owner, keys.indices.contains(index) ? keys[index] : nil)
    }
  }

  /// The first object, at once however many there are: taking the first away until none is left is no more work than all.
  public var first: Element? {
    switch storage {
    case .list(let objects): objects.first
    case .view(let owner, _) where owner.isLoose: array.first
    case .view(let owner, let slot): object(of: owner, owner.destinations(of: slot).first)
    }
  }

  /// The last object, at once however many there are.
  public var last: Element? {
    switch storage {
    case .list(let objects): objects.last
    case .view(let owner, _) where owner.isLoose: array.last
    case .view(let owner, let slot): object(of: owner, owner.destinations(of: slot).last)
    }
  }

  private func object(of owner: ManagedObject, _ key: ObjectKey?) -> Element? {
    guard let key else { return nil }
    return owner.graph?.object(
      for: key, in: owner.shape.planIndex, adopting: Element.self) as? Element
  }

  /// The place of an object; nil when it is not there.
  public func firstIndex(of object: Element) -> Int? {
    switch storage {
    case .list(let objects): objects.firstIndex { $0 === object }
    case .view(let owner, _) where owner.isLoose: array.firstIndex { $0 === object }
    case .view(let owner, let slot):
      contains(object) ? owner.destinationKeys(slot).firstIndex { $0.key == object.key } : nil
    }
  }

  /// Puts the object at a place of an ordered relationship; one that is there already moves, and the places are those
  /// of the others.
  ///
  /// A place that there is not is an ``ObjectError`` of the context's next save.
  public mutating func insert(_ object: Element, at index: Int) {
    switch storage {
    case .list(let objects):
      var others = objects.filter { $0 !== object }
      others.insert(object, at: Swift.max(0, Swift.min(index, others.count)))
      storage = .list(others)
    case .view(let owner, let slot):
      guard let relation = owner.shape.relations[slot] else { return }
      owner.deferError { try owner.place(object, at: index, in: relation) }
    }
  }

  /// Takes out the object at a place of an ordered relationship, and gives it back.
  @discardableResult
  public mutating func remove(at index: Int) -> Element? {
    guard let object = self[index] else { return nil }
    remove(object)
    return object
  }
}
