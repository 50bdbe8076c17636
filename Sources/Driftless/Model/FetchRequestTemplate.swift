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

  /// A template of a request, with its entity, predicate, sort, limit and result type.
  public init<Result>(name: String, request: FetchRequest<Result>) {
    self.init(
      name: name, entityName: request.entityName, predicate: request.predicate?.description,
      sort: request.sort)
    if request.limit > 0 { options["fetchLimit"] = "\(request.limit)" }
    if request.resultType == .managedObjectID { options["resultType"] = "1" }
  }

  /// The request as the template has it, its variables in place.
  /// - Throws: ``FetchError`` for a predicate that does not parse.
  public func fetchRequest() throws(FetchError) -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: entityName)
    if let predicate, !predicate.isEmpty {
      request.predicate = try FetchPredicate(format: predicate)
    }
    request.sort = sort
    // The editor writes a switch only when it is on, and so says nothing when its default is on.
    request.limit = options["fetchLimit"].flatMap { Int($0) } ?? 0
    if options["resultType"] == "1" { request.resultType = .managedObjectID }
    return request
  }
}
