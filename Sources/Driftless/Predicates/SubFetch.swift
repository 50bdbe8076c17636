/// A fetch inside of a predicate: `SELF IN FETCH(%@, nil, NO)`.
///
/// ```swift
/// let long = FetchRequest<Book>(entityName: "Book", predicate: Book.pages > 500)
/// let predicate = try FetchPredicate(format: "ANY books IN FETCH(%@, nil, NO)", long)
/// ```
public struct SubFetch: Hashable, Sendable {
  /// The entity of the objects.
  public let entityName: String
  /// All objects when nil.
  public let predicate: FetchPredicate?
  /// Which objects a limit keeps.
  public let sort: [FetchSort]
  /// At most this many objects; 0 for all.
  public let limit: Int
  /// Leaves out this many from the start.
  public let offset: Int
  /// Objects of subentities too.
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
