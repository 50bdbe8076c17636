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

  /// The objects that a request finds; for one of dictionaries the values of its only property.
  /// - Throws: ``FetchError`` for options that a fetch inside of a predicate does not have.
  public init<Result>(_ request: FetchRequest<Result>) throws(FetchError) {
    entityName = request.entityName
    predicate = request.predicate
    sort = request.sort
    limit = request.limit
    offset = request.offset
    includesSubentities = request.includesSubentities
    guard request.resultType == .dictionary else {
      path = []
      return
    }
    guard request.propertiesToFetch.count == 1, request.propertiesToGroupBy.isEmpty,
      case .keyPath(let path)? = request.propertiesToFetch[0].expression
    else {
      throw FetchError(
        .invalidRequest, "A fetch inside of a predicate gives the values of one property",
        suggestion: "Name one property in propertiesToFetch, without groups.")
    }
    self.path = path
  }

  var spelling: String {
    "\(entityName): \(predicate?.description ?? "TRUEPREDICATE")"
  }
}

/// What `%@` takes in FETCH.
protocol SubFetchProviding {
  func subFetch() throws(FetchError) -> SubFetch
}

extension FetchRequest: SubFetchProviding {
  func subFetch() throws(FetchError) -> SubFetch { try SubFetch(self) }
}

extension SubFetch: SubFetchProviding {
  func subFetch() throws(FetchError) -> SubFetch { self }
}
