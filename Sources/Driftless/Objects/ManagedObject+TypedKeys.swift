import Foundation

extension ManagedObject {
  /// Reads or writes an attribute.
  ///
  /// A value that the attribute's type cannot hold is not taken, and one that is of another type than the key's reads as
  /// none: saves throw an ``ObjectError`` then (``ManagedObjectContext/accessorErrors``).
  @inlinable
  public final subscript<Root, Value>(key: Attribute<Root, Value>) -> Value {
    get {
      let value = attributeValue(key.property)
      if let value = Value(propertyValue: value) { return value }
      if !value.isNull { noteMismatch(value, key.property, Value.attributeTypes) }
      return key.fallback
    }
    set { setAttributeValue(newValue.propertyValue, key.property) }
  }

  /// Reads or writes the object at the other end; the inverse relationship follows.
  public final subscript<Root, Destination>(key: ToOne<Root, Destination>) -> Destination? {
    get {
      guard let relation = relation(key.property, isToMany: false) else { return nil }
      return destination(of: relation, as: Destination.self)
    }
    set {
      guard let relation = relation(key.property, isToMany: false) else { return }
      deferError { try setDestination(newValue, of: relation) }
    }
  }

  /// The objects at the other end: a live view that can be changed, or replaced as a whole.
  ///
  /// ```swift
  /// author[Author.books].insert(book)
  /// author[Author.books] = [book, other]
  /// ```
  public final subscript<Root, Destination>(
    key: ToMany<Root, Destination>
  ) -> RelatedObjects<Destination> {
    get {
      guard let relation = relation(key.property, isToMany: true) else { return [] }
      return RelatedObjects(owner: self, slot: relation.slot)
    }
    set {
      guard let relation = relation(key.property, isToMany: true) else { return }
      if newValue.isView(of: self, slot: relation.slot) { return }
      deferError { try setDestinations(newValue.array, of: relation) }
    }
  }

  @usableFromInline
  final func attributeValue(_ name: PropertyName) -> PropertyValue {
    let slot = shape.layout.index(of: name)
    guard slot >= 0 else {
      deferError { throw unknownProperty(name.name) }
      return .null
    }
    let value = read(slot)
    if value.isInZone {
      deferError { throw notHere(value, slot) }
      return .null
    }
    return value
  }

  /// A value did not convert: where the attribute is of another type than the key says, that is told. One that is out of
  /// range, or a case that this program does not know, reads as the key's fallback.
  @usableFromInline
  final func noteMismatch(
    _ value: PropertyValue, _ name: PropertyName, _ types: Set<AttributeType>
  ) {
    let slot = shape.layout.index(of: name)
    guard slot >= 0, case .attribute(_, let type) = shape.layout.slots[slot].kind,
      !types.contains(type)
    else { return }
    deferError { throw typeMismatch(value, slot) }
  }

  @usableFromInline
  final func setAttributeValue(_ value: PropertyValue, _ name: PropertyName) {
    let slot = shape.layout.index(of: name)
    guard slot >= 0 else {
      deferError { throw unknownProperty(name.name) }
      return
    }
    guard shape.kinds[slot].accepts(value), shape.kinds[slot] != .toOne else {
      deferError { throw typeMismatch(value, slot) }
      return
    }
    set(value, at: slot)
  }

  /// Works with objects of the context in `body`, and throws the first error that their accessors meet, in place of keeping
  /// it for the next save: ``ManagedObjectContext/accessing(_:)``.
  ///
  /// ```swift
  /// let title = try book.accessing { book.title }
  /// ```
  /// - Throws: what `body` throws, else ``ObjectError`` with the code `unreadable`, `valueNotHere`, `typeMismatch` or
  ///   `unknownProperty`.
  public final func accessing<Result>(_ body: () throws -> Result) throws -> Result {
    guard let graph else { return try keptParts.throwingErrors(of: body) }
    return try graph.throwingErrors(of: body)
  }

  /// - Parameter value: What stands for the value that is not here.
  final func notHere(_ value: PropertyValue, _ slot: Int) -> ObjectError {
    let name = "\(entity.name).\(shape.layout.slots[slot].name)"
    let length = ValueInZone(value)?.length ?? 0
    return ObjectError(
      .valueNotHere,
      "\(name) of \(objectID) has \(length) bytes that were not fetched yet",
      suggestion:
        "Have the store's engine fetch it (SyncEngine.download, syncctl values download), "
        + "or ask valueState(of:) first.")
  }

  /// - Parameter cause: Nil where it was told before.
  final func unreadable(_ cause: (any Error)?) -> ObjectError {
    ObjectError(
      .unreadable,
      "\(description) could not be read"
        + (cause.map { ": \($0)" } ?? ", and was not refreshed since"),
      suggestion: "Correct what keeps the store from being read, and roll the context back or "
        + "clear its accessorErrors.")
  }

  /// - Parameter entity: What the object of its key is now; nil where the model does not have that.
  final func isAnother(_ entity: EntityDescription?) -> ObjectError {
    ObjectError(
      .unreadable,
      "\(description) has unsaved changes, and its row is one of "
        + "\(entity?.name ?? "another entity") now",
      suggestion: "Roll the context back, and fetch again.")
  }

  private final func relation(_ name: PropertyName, isToMany: Bool) -> Relation? {
    let slot = shape.layout.index(of: name)
    guard slot >= 0, let relation = shape.relations[slot], relation.isToMany == isToMany else {
      deferError { throw unknownProperty(name.name) }
      return nil
    }
    return relation
  }

  final func unknownProperty(_ name: String) -> ObjectError {
    ObjectError(
      .unknownProperty, "\(entity.name) has no property \(name) of that kind",
      suggestion: "Check the name and kind against the model.")
  }

  final func typeMismatch(_ value: Any, _ slot: Int) -> ObjectError {
    ObjectError(
      .typeMismatch,
      "\(entity.name).\(shape.layout.slots[slot].name) is \(shape.kinds[slot]) "
        + "and cannot hold \(words(of: value))",
      suggestion: "Set a value of the attribute's type and range.")
  }
}
