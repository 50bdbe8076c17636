/// A fetch request that a model keeps by name; its predicate is a format string, with `$VARIABLE`
/// where a value is missing.
public struct FetchRequestTemplate: Hashable, Sendable {
  /// What the model keeps it under.
  public var name: String
  /// The entity of the objects.
  public var entityName: String
  /// A format string; nil for all objects.
  public var predicate: String?
  /// Further attributes of the element in the model file, kept as they are.
  public var options: [String: String]
  /// Later keys order what earlier ones leave equal.
  public var sort: [FetchSort]

  /// - Parameters:
  ///   - name: What the model keeps it under.
  ///   - entityName: The entity of the objects.
  ///   - predicate: A format string; nil for all objects.
  ///   - options: Further attributes of the element in the model file.
  ///   - sort: Later keys order what earlier ones leave equal.
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
