/// One sort key of a fetch: a key path through to-one relationships.
///
/// Missing values come first when ascending. Text sorts by its UTF-8 bytes, or without case and
/// diacritics when `options` say so.
public struct FetchSort: Hashable, Sendable {
  public var keyPath: [String]
  public var ascending: Bool
  public var options: FetchComparison.Options

  /// `FetchSort("author.name")`
  public init(
    _ keyPath: String, ascending: Bool = true, options: FetchComparison.Options = []
  ) {
    self.keyPath = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    self.ascending = ascending
    self.options = options
  }

  init(path: [String], ascending: Bool, options: FetchComparison.Options) {
    keyPath = path
    self.ascending = ascending
    self.options = options
  }
}

/// A sort key that belongs to one class of objects, made by `Book.title.ascending`.
public struct TypedSort<Root: ManagedObject>: Hashable, Sendable {
  public let sort: FetchSort

  init(_ sort: FetchSort) { self.sort = sort }
}
