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
