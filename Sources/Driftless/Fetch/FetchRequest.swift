/// Which objects to fetch, in which order and how many.
///
/// ```swift
/// var request = FetchRequest<Book>(entityName: "Book")
/// request.predicate = (Book.pages > 300).predicate
/// request.sort = [FetchSort("title")]
/// let books = try context.fetch(request)
/// ```
public struct FetchRequest<Result>: Sendable {
  /// What a fetch gives.
  public enum ResultType: Int, Sendable {
    case managedObject = 0
    case managedObjectID = 1
    case count = 4
  }

  public var entityName: String
  /// All objects when nil.
  public var predicate: FetchPredicate?
  /// Later keys order what earlier ones leave equal; empty for any order.
  public var sort: [FetchSort] = []
  /// At most this many objects; 0 for all.
  public var limit = 0
  /// Leaves out this many from the start.
  public var offset = 0
  /// Objects of subentities too.
  public var includesSubentities = true
  /// Unsaved inserts, changes and deletes of the context count.
  public var includesPendingChanges = true
  /// Objects come without their values in place, which are read at first access.
  public var returnsObjectsAsFaults = true
  /// Relationships whose objects are read along, a query for each step.
  public var relationshipKeyPathsForPrefetching: [String] = []
  public var resultType = ResultType.managedObject

  public init(
    entityName: String, predicate: FetchPredicate? = nil, sort: [FetchSort] = [], limit: Int = 0,
    offset: Int = 0
  ) {
    self.entityName = entityName
    self.predicate = predicate
    self.sort = sort
    self.limit = limit
    self.offset = offset
  }
}
