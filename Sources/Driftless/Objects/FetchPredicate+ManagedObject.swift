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

  package final func predicateFetch(
    _ fetch: SubFetch
  ) throws(FetchError) -> [any PropertySource] {
    guard let context = managedObjectContext else { return [] }
    var request = FetchRequest<ManagedObject>(
      entityName: fetch.entityName, predicate: fetch.predicate, sort: fetch.sort,
      limit: fetch.limit, offset: fetch.offset)
    request.includesSubentities = fetch.includesSubentities
    do {
      return try context.fetch(request)
    } catch let error as FetchError {
      throw error
    } catch {
      throw FetchError(
        .unsupported, "FETCH failed: \(error)", suggestion: "Fetch first, and compare with IN.")
    }
  }
}
