// An attribute's value without a box around it, for accessors in other words than this module's.
extension ManagedObject {
  /// What an attribute holds; nil where the name is of something else, or of nothing, and where the value is not here yet.
  ///
  /// - Parameter id: of the attribute's name.
  @usableFromInline
  package final func heldValue(named id: Int) -> PropertyValue? {
    let slot = shape.layout.index(ofName: id)
    guard slot >= 0 else { return nil }
    let value = read(slot)
    switch value {
    // What tells an attribute from the rest: the others have no value that one has.
    case .null: return shape.kinds[slot].isOfAttribute ? value : nil
    case .data: return value.isInZone ? nil : value
    default: return value
    }
  }

  /// Sets an attribute to a value of just its type. False where that is not what it is, and nothing is set.
  @usableFromInline
  package final func hold(_ value: PropertyValue, named id: Int) -> Bool {
    let slot = shape.layout.index(ofName: id)
    guard slot >= 0, shape.kinds[slot].isOfAttribute, shape.kinds[slot].accepts(value) else {
      return false
    }
    set(value, at: slot)
    return true
  }
}

extension SlotKind {
  /// An attribute's that has a type.
  fileprivate var isOfAttribute: Bool {
    switch self {
    case .any, .toOne, .toMany: false
    default: true
    }
  }
}
