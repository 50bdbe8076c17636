/// An index of an entity's table.
public struct FetchIndexDescription: Hashable, Sendable {
  public var name: String
  public var elements: [FetchIndexElementDescription]
  /// Only rows that meet this predicate (a format string) are in the index.
  public var partialIndexPredicate: String?

  public init(
    name: String, elements: [FetchIndexElementDescription], partialIndexPredicate: String? = nil
  ) {
    self.name = name
    self.elements = elements
    self.partialIndexPredicate = partialIndexPredicate
  }
}

/// One column of an index.
public struct FetchIndexElementDescription: Hashable, Sendable {
  public enum CollationType: Int, Hashable, Sendable { case binary = 0, rTree = 1 }

  public var propertyName: String
  /// An expression in place of a property, as a format string.
  public var expression: String?
  public var collationType: CollationType
  public var isAscending: Bool

  public init(
    propertyName: String, expression: String? = nil, collationType: CollationType = .binary,
    isAscending: Bool = true
  ) {
    self.propertyName = propertyName
    self.expression = expression
    self.collationType = collationType
    self.isAscending = isAscending
  }
}

/// A fetch request that a model keeps by name; its predicate is a format string.
public struct FetchRequestTemplate: Hashable, Sendable {
  public var name: String
  public var entityName: String
  public var predicate: String?
  /// Further attributes of the element in the model file, kept as they are.
  public var options: [String: String]

  public init(
    name: String, entityName: String, predicate: String? = nil, options: [String: String] = [:]
  ) {
    self.name = name
    self.entityName = entityName
    self.predicate = predicate
    self.options = options
  }
}
