// What predicates see of objects, and predicates that only objects can answer.

extension ManagedObject: PropertySource {
  package final var predicateObjectKey: ObjectKey? { objectKey }

  package final func predicateValue(forKey key: String) -> PredicateValue? {
    guard let slot = shape.layout.index(named: key) else {
      return key == EntityName.key ? .object(EntityName(entity.name)) : nil
    }
    guard let relation = shape.relations[slot] else { return .scalar(read(slot)) }
    if relation.isToMany { return .objects(destinations(slot)) }
    guard let object = destination(of: relation, as: ManagedObject.self) else {
      return .scalar(.null)
    }
    return .object(object)
  }

  package final func predicateLeadsToMany(_ name: String, _ rest: ArraySlice<String>) -> Bool {
    entity.leadsToMany(name, rest)
  }

  package final func predicateFetch(
    _ fetch: SubFetch
  ) throws(FetchError) -> [any PropertySource] {
    try graph?.source?.objects(foundBy: fetch) ?? []
  }
}

extension FetchPredicate {
  /// A condition in Swift. It filters objects in memory; a fetch refuses it before anything is read.
  ///
  /// ```swift
  /// let odd = FetchPredicate { ($0 as? Book)?.pages.isMultiple(of: 2) == false }
  /// let found = try books.filter { try odd.evaluate(with: $0) }
  /// ```
  public init(block: @escaping @Sendable (ManagedObject) -> Bool) {
    self = .block(
      FetchBlock { source throws(FetchError) in
        guard let object = source as? ManagedObject else {
          throw FetchError(
            .unsupported, "A block predicate is for managed objects",
            suggestion: "Compare properties here.")
        }
        return block(object)
      })
  }

  /// Whether the object, with its unsaved changes, satisfies the predicate; null is a value like
  /// any other. Call it where the object's context is.
  /// - Throws: ``FetchError`` for an unknown key, values of kinds that do not compare, or a
  ///   variable that was not substituted.
  public func evaluate(with object: ManagedObject) throws(FetchError) -> Bool {
    try evaluate(object)
  }
}
