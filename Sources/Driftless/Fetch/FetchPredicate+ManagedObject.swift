extension FetchPredicate {
  /// Whether the object, with its unsaved changes, satisfies the predicate; null is a value like
  /// any other. Call it where the object's context is.
  /// - Throws: ``FetchError`` for an unknown key, values of kinds that do not compare, or a
  ///   variable that was not substituted.
  public func evaluate(with object: ManagedObject) throws(FetchError) -> Bool {
    try evaluate(object)
  }
}

extension ManagedObject {
  package final var predicateEntity: EntityDescription? { entity }
}
