/// A fetch request that a model keeps by name; its predicate is a format string, with `$VARIABLE`
/// where a value is missing.
public struct FetchRequestTemplate: Hashable, Sendable {
  public var name: String
  public var entityName: String
  public var predicate: String?
  /// Further attributes of the element in the model file, kept as they are.
  public var options: [String: String]
  public var sort: [FetchSort]

  public init(
    name: String, entityName: String, predicate: String? = nil, options: [String: String] = [:],
    sort: [FetchSort] = []
  ) {
    self.name = name
    self.entityName = entityName
    self.predicate = predicate
    self.options = options
    self.sort = sort
  }

  /// A template of a request, with its entity, predicate, sort, limits, result type and switches.
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
  }

  /// The request as the template has it, its variables in place.
  /// - Throws: ``FetchError`` for a predicate that does not parse.
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
    return request
  }
}
