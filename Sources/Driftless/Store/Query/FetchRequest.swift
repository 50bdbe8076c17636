/// Which objects to fetch, in which order, how many, and what to give of them.
///
/// ```swift
/// var request = FetchRequest<Book>(entityName: "Book")
/// request.predicate = (Book.pages > 300).predicate
/// request.sort = [FetchSort("title")]
/// let books = try context.fetch(request)
/// ```
///
/// `Result` says what a fetch gives: a class of objects, ``ManagedObjectID``, ``FetchedRow`` or `Int`.
public struct FetchRequest<Result>: Sendable {
  /// What a fetch gives. The raw values are Core Data's.
  public enum ResultType: Int, Sendable {
    case managedObject = 0
    case managedObjectID = 1
    case dictionary = 2
    case count = 4
  }

  /// The entity of the objects.
  public var entityName: String {
    didSet { ofClass = nil }
  }
  /// All objects when nil.
  public var predicate: FetchPredicate?
  /// Later keys order what earlier ones leave equal; empty for any order.
  public var sort: [FetchSort] = []
  /// At most this many objects; 0 for all.
  public var limit = 0
  /// Leaves out this many from the start.
  public var offset = 0
  /// How many objects ``ManagedObjectContext/fetchBatches(_:)`` reads at once; 0 for its own choice. A fetch that gives
  /// an array reads them all.
  public var fetchBatchSize = 0
  /// Objects of subentities too.
  public var includesSubentities = true
  /// Unsaved inserts, changes and deletes of the context count. Rows (``ResultType/dictionary``) always tell what the
  /// store has.
  public var includesPendingChanges = true
  /// Objects come with their values when false: those that the context let go of are read again. When true they may be
  /// faults; as it is, a fetch that reads rows fills them.
  public var returnsObjectsAsFaults = true
  /// When false only keys are read, and the objects are faults.
  public var includesPropertyValues = true
  /// Objects that the context has in memory take the store's values, beneath their unsaved changes.
  public var shouldRefreshRefetchedObjects = false
  /// Relationships whose objects are read along, a query or two for each step of a key path, however many objects. The
  /// context holds what it read along until its next fetch that does so.
  public var relationshipKeyPathsForPrefetching: [String] = []
  /// What rows hold; all attributes when empty. For objects it names attributes and to-one relationships, and is a hint.
  public var propertiesToFetch: [FetchedProperty] = []
  /// Rows only: one row for each combination of the values of these.
  public var propertiesToGroupBy: [FetchedProperty] = []
  /// Rows only: which groups to give. It may name columns of ``propertiesToFetch``.
  public var havingPredicate: FetchPredicate?
  /// Rows only: equal ones once.
  public var returnsDistinctResults = false
  /// Only objects of these stores; of any when nil.
  public var affectedStores: [PersistentStore]?
  /// What the fetch gives; set from `Result`.
  public var resultType: ResultType
  /// The class whose entity it is, in the context that fetches; ``entityName`` is then what is known of it without one. Of a
  /// class that is held as one above it, it is that class, not `Result`.
  var ofClass: AnyObject.Type?

  /// - Parameters:
  ///   - entityName: The entity of the objects.
  ///   - predicate: All objects when nil.
  ///   - sort: Later keys order what earlier ones leave equal.
  ///   - limit: At most this many; 0 for all.
  ///   - offset: Leaves out this many from the start.
  public init(
    entityName: String, predicate: FetchPredicate? = nil, sort: [FetchSort] = [], limit: Int = 0,
    offset: Int = 0
  ) {
    self.entityName = entityName
    self.predicate = predicate
    self.sort = sort
    self.limit = limit
    self.offset = offset
    resultType =
      switch Result.self {
      case is ManagedObjectID.Type: .managedObjectID
      case is FetchedRow.Type: .dictionary
      case is Int.Type: .count
      default: .managedObject
      }
  }

  // MARK: Core Data's names

  /// The same as ``limit``.
  public var fetchLimit: Int {
    get { limit }
    set { limit = newValue }
  }
  /// The same as ``offset``.
  public var fetchOffset: Int {
    get { offset }
    set { offset = newValue }
  }
  /// The same as ``sort``.
  public var sortDescriptors: [FetchSort] {
    get { sort }
    set { sort = newValue }
  }
}

extension FetchRequest {
  /// Refuses what no fetch can mean.
  /// - Throws: ``FetchError`` with the code `invalidRequest`.
  func check(gives type: ResultType) throws(FetchError) {
    for (name, value) in [("limit", limit), ("offset", offset), ("fetchBatchSize", fetchBatchSize)]
    where value < 0 {
      throw Self.invalid("\(name) is \(value)", "Set 0 or more; 0 stands for no \(name).")
    }
    if resultType != type, resultType != .managedObject {
      throw Self.invalid(
        "The request's resultType is \(resultType), but \(type) is asked for",
        "Call fetch for objects, fetchIDs, fetchRows for dictionaries, or count.")
    }
    if type == .dictionary {
      if havingPredicate != nil, propertiesToGroupBy.isEmpty {
        throw Self.invalid(
          "havingPredicate has no groups to choose from", "Set propertiesToGroupBy.")
      }
      return
    }
    let rowsOnly = [
      ("propertiesToGroupBy", !propertiesToGroupBy.isEmpty),
      ("havingPredicate", havingPredicate != nil),
      ("returnsDistinctResults", returnsDistinctResults),
      (
        "an expression in propertiesToFetch",
        propertiesToFetch.contains { $0.isExpression }
      ),
    ]
    for (name, isSet) in rowsOnly where isSet {
      throw Self.invalid(
        "\(name) is for dictionaries", "Set resultType to .dictionary and call fetchRows.")
    }
  }

  private static func invalid(_ message: String, _ suggestion: String) -> FetchError {
    FetchError(.invalidRequest, message, suggestion: suggestion)
  }
}

// MARK: Inside of a predicate

extension SubFetch {
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
}

extension FetchRequest: SubFetchProviding {
  func subFetch() throws(FetchError) -> SubFetch { try SubFetch(self) }
}
