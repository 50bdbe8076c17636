extension ToOne {
  /// The object of that ID is at the other end.
  public static func == (left: Self, right: ManagedObjectID) -> TypedPredicate<Root> {
    left.compare(.equal, .constant(.reference(right.key)))
  }

  /// Another object is at the other end. In the store this leaves out objects with none.
  public static func != (left: Self, right: ManagedObjectID) -> TypedPredicate<Root> {
    left.compare(.notEqual, .constant(.reference(right.key)))
  }

  /// That object is at the other end. An object that was never saved is found among the unsaved
  /// ones only. `nil` asks for no object.
  public static func == (left: Self, right: Destination?) -> TypedPredicate<Root> {
    right.map { left == $0.objectID } ?? left.isNull
  }

  /// Another object is at the other end. In the store this leaves out objects without one; `nil` asks for any object.
  public static func != (left: Self, right: Destination?) -> TypedPredicate<Root> {
    right.map { left != $0.objectID } ?? left.isNotNull
  }

  /// One of these objects is at the other end.
  public func `in`(_ objects: some Sequence<Destination>) -> TypedPredicate<Root> {
    compare(.in, .list(objects.map { .constant(.reference($0.objectID.key)) }))
  }
}

extension ToMany {
  /// That object is among them.
  public func contains(_ object: Destination) -> TypedPredicate<Root> {
    contains(object.objectID)
  }

  /// The object of that ID is among them.
  public func contains(_ object: ManagedObjectID) -> TypedPredicate<Root> {
    TypedPredicate(
      .comparison(
        FetchComparison(.keyPath([property.name]), .contains, .constant(.reference(object.key)))))
  }
}
