import Foundation

// Fetch requests that a model keeps, as requests.

extension FetchRequestTemplate {
  /// A template of a request, with all that it has but the stores that it is limited to.
  public init<Result>(name: String, request: FetchRequest<Result>) {
    self.init(
      name: name, entityName: request.entityName, predicate: request.predicate?.description,
      sort: request.sort)
    for (key, count) in [
      ("fetchLimit", request.limit), ("fetchOffset", request.offset),
      ("fetchBatchSize", request.fetchBatchSize),
    ] where count > 0 {
      options[key] = "\(count)"
    }
    if request.resultType != .managedObject {
      options["resultType"] = "\(request.resultType.rawValue)"
    }
    if request.returnsDistinctResults { options["returnDistinctResults"] = "YES" }
    for (key, isOn) in [
      ("includeSubentities", request.includesSubentities),
      ("includePropertyValues", request.includesPropertyValues),
      ("returnObjectsAsFaults", request.returnsObjectsAsFaults),
      ("includesPendingChanges", request.includesPendingChanges),
    ] where !isOn {
      options[key] = "NO"
    }
    if request.shouldRefreshRefetchedObjects { options["shouldRefreshRefetchedObjects"] = "YES" }
    options["havingPredicate"] = request.havingPredicate?.description
    options["relationshipKeyPathsForPrefetching"] = Self.text(
      request.relationshipKeyPathsForPrefetching)
    options["propertiesToFetch"] = Self.text(request.propertiesToFetch.map(KeptProperty.init))
    options["propertiesToGroupBy"] = Self.text(request.propertiesToGroupBy.map(KeptProperty.init))
  }

  /// One of the properties to fetch or to group by, as a template keeps it: what it is computed from beside its name.
  private struct KeptProperty: Codable {
    var name: String
    var expression: String?
    var type: Int?

    init(_ property: FetchedProperty) {
      name = property.name
      guard property.isExpression else { return }
      expression = property.expression?.description
      type = property.resultType.rawValue
    }

    func property() throws(FetchError) -> FetchedProperty {
      guard let expression else { return FetchedProperty(name) }
      return .expression(
        name, try FetchExpression(format: expression),
        type.flatMap { AttributeType(rawValue: $0) } ?? .undefined)
    }
  }

  /// A list in one option; none for an empty one.
  private static func text<Element: Encodable>(_ list: [Element]) -> String? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard !list.isEmpty, let data = try? encoder.encode(list) else { return nil }
    return String(decoding: data, as: UTF8.self)
  }

  private func list<Element: Decodable>(
    _ key: String, of type: Element.Type
  ) throws(FetchError) -> [Element] {
    guard let text = options[key] else { return [] }
    do {
      return try JSONDecoder().decode([Element].self, from: Data(text.utf8))
    } catch {
      throw FetchError(
        .invalidRequest, "\(key) of the template \(name) is no list: \(text)",
        suggestion: "Keep the request anew: setFetchRequestTemplate(_:forName:).")
    }
  }

  /// The request as the template has it, its variables in place.
  /// - Throws: ``FetchError`` for a predicate, an expression or a list of properties that does not parse.
  public func fetchRequest() throws(FetchError) -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: entityName)
    if let predicate, !predicate.isEmpty {
      request.predicate = try FetchPredicate(format: predicate)
    }
    request.sort = sort
    func count(_ key: String) -> Int { max(0, options[key].flatMap { Int($0) } ?? 0) }
    request.limit = count("fetchLimit")
    request.offset = count("fetchOffset")
    request.fetchBatchSize = count("fetchBatchSize")
    request.resultType = FetchRequest.ResultType(rawValue: count("resultType")) ?? .managedObject
    request.returnsDistinctResults = options["returnDistinctResults"] == "YES"
    // The editor writes a switch only when it is on: absent, it has its default, which is on.
    request.includesSubentities = options["includeSubentities"] != "NO"
    request.includesPropertyValues = options["includePropertyValues"] != "NO"
    request.returnsObjectsAsFaults = options["returnObjectsAsFaults"] != "NO"
    request.includesPendingChanges = options["includesPendingChanges"] != "NO"
    request.shouldRefreshRefetchedObjects = options["shouldRefreshRefetchedObjects"] == "YES"
    if let having = options["havingPredicate"] {
      request.havingPredicate = try FetchPredicate(format: having)
    }
    request.relationshipKeyPathsForPrefetching = try list(
      "relationshipKeyPathsForPrefetching", of: String.self)
    request.propertiesToFetch = try properties("propertiesToFetch")
    request.propertiesToGroupBy = try properties("propertiesToGroupBy")
    return request
  }

  private func properties(_ key: String) throws(FetchError) -> [FetchedProperty] {
    var properties: [FetchedProperty] = []
    for kept in try list(key, of: KeptProperty.self) { properties.append(try kept.property()) }
    return properties
  }
}

extension FetchedPropertyDescription {
  /// What is fetched; nil while no entity is named, and for a predicate that does not parse.
  @_disfavoredOverload
  public var fetchRequest: FetchRequest<ManagedObject>? {
    get { try? request() }
    set {
      guard let newValue else {
        (fetchEntityName, fetchPredicate) = ("", nil)
        (requestAttributes, fetchSort) = ([:], [])
        return
      }
      let template = FetchRequestTemplate(name: "", request: newValue)
      (fetchEntityName, fetchPredicate) = (template.entityName, template.predicate)
      (requestAttributes, fetchSort) = (template.options, template.sort)
    }
  }

  /// What is fetched; nil while no entity is named.
  /// - Throws: ``FetchError`` for a predicate that does not parse.
  func request() throws(FetchError) -> FetchRequest<ManagedObject>? {
    fetchEntityName.isEmpty ? nil : try template.fetchRequest()
  }

  private var template: FetchRequestTemplate {
    FetchRequestTemplate(
      name: name, entityName: fetchEntityName, predicate: fetchPredicate,
      options: requestAttributes, sort: fetchSort)
  }
}

extension ManagedObjectModel {
  /// The fetch request that the model keeps under a name; nil when there is none.
  @_disfavoredOverload
  public func fetchRequestTemplate(forName name: String) -> FetchRequestTemplate? {
    fetchRequestTemplatesByName[name]
  }

  /// Keeps a fetch request under a name; nil removes it.
  @_disfavoredOverload
  public func setFetchRequestTemplate(_ template: FetchRequestTemplate?, forName name: String) {
    fetchRequestTemplatesByName[name] = template
  }

  /// Keeps a fetch request under a name, its `$VARIABLES` in place; nil removes what is there.
  @_disfavoredOverload
  public func setFetchRequestTemplate<Result>(
    _ request: FetchRequest<Result>?, forName name: String
  ) {
    fetchRequestTemplatesByName[name] = request.map {
      FetchRequestTemplate(name: name, request: $0)
    }
  }

  /// A fetch request made from a template, with each `$NAME` in its predicate replaced.
  ///
  /// - Parameters:
  ///   - name: The template's name.
  ///   - variables: a value for each variable; nil stands for "has no value".
  /// - Returns: nil when the model keeps no template of the name.
  /// - Throws: ``FetchError`` for a predicate that does not parse, and for a variable without a value.
  @_disfavoredOverload
  public func fetchRequestFromTemplate(
    withName name: String, substitutionVariables variables: [String: Any?] = [:]
  ) throws(FetchError) -> FetchRequest<ManagedObject>? {
    guard let template = fetchRequestTemplatesByName[name] else { return nil }
    var request = try template.fetchRequest()
    request.predicate = try request.predicate?.withSubstitutionVariables(variables)
    request.havingPredicate = try request.havingPredicate?.withSubstitutionVariables(variables)
    return request
  }
}
