/// A fetch inside of a predicate: `SELF IN FETCH(%@, nil, NO)`.
///
/// ```swift
/// let long = FetchRequest<Book>(entityName: "Book", predicate: Book.pages > 500)
/// let predicate = try FetchPredicate(format: "ANY books IN FETCH(%@, nil, NO)", long)
/// ```
public struct SubFetch: Hashable, Sendable {
  public let entityName: String
  public let predicate: FetchPredicate?
  public let sort: [FetchSort]
  public let limit: Int
  public let offset: Int
  public let includesSubentities: Bool
  /// The property whose values are meant; empty for the objects.
  public let path: [String]

  var spelling: String {
    "\(entityName): \(predicate?.description ?? "TRUEPREDICATE")"
  }
}

/// What `%@` takes in FETCH.
protocol SubFetchProviding {
  func subFetch() throws(FetchError) -> SubFetch
}

extension SubFetch: SubFetchProviding {
  func subFetch() throws(FetchError) -> SubFetch { self }
}
