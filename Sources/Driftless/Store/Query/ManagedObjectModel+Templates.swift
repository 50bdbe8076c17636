extension ManagedObjectModel {
  /// The fetch request that the model keeps under a name; nil when there is none.
  public func fetchRequestTemplate(forName name: String) -> FetchRequestTemplate? {
    fetchRequestTemplatesByName[name]
  }

  /// Keeps a fetch request under a name; nil removes it.
  public func setFetchRequestTemplate(_ template: FetchRequestTemplate?, forName name: String) {
    fetchRequestTemplatesByName[name] = template
  }

  /// Keeps a fetch request under a name, its `$VARIABLES` in place; nil removes what is there.
  public func setFetchRequestTemplate<Result>(
    _ request: FetchRequest<Result>?, forName name: String
  ) {
    fetchRequestTemplatesByName[name] = request.map {
      FetchRequestTemplate(name: name, request: $0)
    }
  }

  /// A fetch request made from a template, with each `$NAME` in its predicate replaced.
  ///
  /// - Parameter variables: a value for each variable; nil stands for "has no value".
  /// - Returns: nil when the model keeps no template of the name.
  /// - Throws: ``FetchError`` for a predicate that does not parse, and for a variable without a value.
  public func fetchRequestFromTemplate(
    withName name: String, substitutionVariables variables: [String: Any?] = [:]
  ) throws(FetchError) -> FetchRequest<ManagedObject>? {
    guard let template = fetchRequestTemplatesByName[name] else { return nil }
    var request = try template.fetchRequest()
    request.predicate = try request.predicate?.withSubstitutionVariables(variables)
    return request
  }
}
