/// Fetching objects of a class by keys that are declared in a class above it.
extension ManagedObjectContext {
  /// Objects of a class, found and ordered by keys of a class above.
  ///
  /// ```swift
  /// try context.fetch(Novel.self, where: Book.pages > 300, order: Book.title.ascending)
  /// ```
  /// - Throws: ``FetchError`` when the keys are of a class that is not above; otherwise as `fetch(_:)`.
  @_disfavoredOverload
  public func fetch<Object: ManagedObject, Base: ManagedObject>(
    _ type: Object.Type, where predicate: TypedPredicate<Base>? = nil, order: TypedSort<Base>...,
    limit: Int = 0, offset: Int = 0
  ) throws -> [Object] {
    try Self.check(Base.self, isAbove: type)
    return try fetch(
      FetchRequest<Object>(
        entityName: shape(for: type).entity.name, predicate: predicate?.predicate,
        sort: order.map(\.sort), limit: limit, offset: offset))
  }

  /// How many objects of a class there are that keys of a class above find.
  ///
  /// - Throws: ``FetchError`` when the keys are of a class that is not above; otherwise as `fetch(_:)`.
  @_disfavoredOverload
  public func count<Object: ManagedObject, Base: ManagedObject>(
    _ type: Object.Type, where predicate: TypedPredicate<Base>
  ) throws -> Int {
    try Self.check(Base.self, isAbove: type)
    return try count(
      for: FetchRequest<Object>(
        entityName: shape(for: type).entity.name, predicate: predicate.predicate))
  }

  private static func check(
    _ base: (some ManagedObject).Type, isAbove type: (some ManagedObject).Type
  ) throws(FetchError) {
    guard !isBelow(base, type) else { return }
    throw FetchError(
      .unknownKey, "The keys are of \(base), which is no class above \(type)",
      suggestion: "Use keys of \(type), or of a class that it inherits from.")
  }

  private static func isBelow<Base: ManagedObject, Object: ManagedObject>(
    _ base: Base.Type, _ type: Object.Type
  ) -> Bool {
    type is Base.Type
  }
}

extension TypedPredicate {
  /// Both, one of them of keys that another class of the same line declares: `Novel.hero == "x" && Book.pages > 3`.
  @_disfavoredOverload
  public static func && <Other: ManagedObject>(
    left: Self, right: TypedPredicate<Other>
  ) -> Self {
    left && Self(right.predicate)
  }

  /// One of the two, one of them of keys that another class of the same line declares.
  @_disfavoredOverload
  public static func || <Other: ManagedObject>(
    left: Self, right: TypedPredicate<Other>
  ) -> Self {
    left || Self(right.predicate)
  }
}
