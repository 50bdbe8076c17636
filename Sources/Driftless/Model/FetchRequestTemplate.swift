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
}
