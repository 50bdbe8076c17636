public import Driftless
public import Foundation

/// Which objects to fetch, in which order, how many, and what to give of them.
///
/// `ResultType` is a class of objects, `NSManagedObjectID`, `NSDictionary` or `NSNumber`, as `resultType` says.
open class NSFetchRequest<ResultType>: NSPersistentStoreRequest, NSCopying {
  /// The name that the request was made with, or that of its entity.
  open var entityName: String? { entity?.knownName ?? name }
  private var name: String?
  private var ownEntity: NSEntityDescription?

  /// Only objects that satisfy it; all when nil.
  open var predicate: NSPredicate?
  /// Later ones order what earlier ones leave equal.
  open var sortDescriptors: [NSSortDescriptor]?
  /// At most this many objects; 0 for all.
  open var fetchLimit = 0
  /// Leaves out this many from the start.
  open var fetchOffset = 0
  /// Without effect: a fetch reads all that it gives.
  open var fetchBatchSize = 0
  /// What the fetch gives.
  open var resultType = NSFetchRequestResultType.managedObjectResultType
  /// Objects of subentities too.
  open var includesSubentities = true
  /// Unsaved inserts, changes and deletes of the context count; not for dictionaries.
  open var includesPendingChanges = true
  /// When false only keys are read, and the objects are faults.
  open var includesPropertyValues = true
  /// Objects come with their values when false.
  open var returnsObjectsAsFaults = true
  /// Objects that the context has in memory take the store's values, beneath their unsaved changes.
  open var shouldRefreshRefetchedObjects = false
  /// Relationships whose objects are read along.
  open var relationshipKeyPathsForPrefetching: [String]?
  /// What dictionaries hold: names, key paths, and property descriptions.
  open var propertiesToFetch: [Any]?
  /// Dictionaries only: one for each combination of the values of these.
  open var propertiesToGroupBy: [Any]?
  /// Dictionaries only: which groups to give.
  open var havingPredicate: NSPredicate?
  /// Dictionaries only: equal ones once.
  open var returnsDistinctResults = false
  /// Asked of the history in place of objects.
  var historyTarget: PersistentHistoryFetchRequest.Target?

  /// What is asked for, in which order, and how many.
  open override var description: String {
    var parts = [
      "entity: \(entityName ?? "none")", "predicate: \(predicate?.description ?? "none")",
    ]
    let order = (sortDescriptors ?? []).map {
      "\($0.key ?? "a key path") \($0.ascending ? "ascending" : "descending")"
    }
    if !order.isEmpty { parts.append("sort: \(order.joined(separator: ", "))") }
    if fetchLimit > 0 { parts.append("limit: \(fetchLimit)") }
    if fetchOffset > 0 { parts.append("offset: \(fetchOffset)") }
    if resultType != .managedObjectResultType { parts.append("gives: \(resultType)") }
    return "<NSFetchRequest \(parts.joined(separator: "; "))>"
  }

  /// A request that needs an `entity`.
  public override required init() { super.init() }

  /// A request for the objects of an entity.
  public convenience init(entityName: String) {
    self.init()
    name = entityName
    if let type = ResultType.self as? ManagedObject.Type { ObjectClassNames.note(type) }
  }

  /// Asks for another entity, by name.
  func rename(_ entityName: String) {
    name = entityName
    ownEntity = nil
  }

  /// The entity of the objects; nil for a request by name, until it is set.
  open var entity: NSEntityDescription? {
    get { ownEntity }
    set { ownEntity = newValue }
  }

  open override var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  /// Fetches in the context whose block the caller is in.
  /// - Throws: as a context's `fetch(_:)`; 134060 outside of a context's `perform(_:)` and `performAndWait(_:)`.
  open func execute() throws -> [ResultType] {
    guard let context = NSManagedObjectContext.current else {
      throw CocoaError(
        .coreData,
        userInfo: [
          NSLocalizedDescriptionKey: "A fetch request is executed in the block of a context."
        ])
    }
    return try context.fetch(self)
  }

  /// A request of its own with the same content.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = Self()
    copy.take(self)
    return copy
  }

  /// The request as one of another kind, with the same content, where source for Apple's systems casts: there a request is of all
  /// kinds, here a cast fails. It is the request itself where that is of the kind.
  public func cast<Other>(to type: NSFetchRequest<Other>.Type) -> NSFetchRequest<Other> {
    if let same = self as? NSFetchRequest<Other> { return same }
    let other = type.init()
    other.take(self)
    return other
  }

  /// Takes over everything but the kind of result.
  func take<Other>(_ other: NSFetchRequest<Other>) {
    name = other.entityName
    ownEntity = other.entity
    affectedStores = other.affectedStores
    predicate = other.predicate
    sortDescriptors = other.sortDescriptors
    fetchLimit = other.fetchLimit
    fetchOffset = other.fetchOffset
    fetchBatchSize = other.fetchBatchSize
    resultType = other.resultType
    includesSubentities = other.includesSubentities
    includesPendingChanges = other.includesPendingChanges
    includesPropertyValues = other.includesPropertyValues
    returnsObjectsAsFaults = other.returnsObjectsAsFaults
    shouldRefreshRefetchedObjects = other.shouldRefreshRefetchedObjects
    relationshipKeyPathsForPrefetching = other.relationshipKeyPathsForPrefetching
    propertiesToFetch = other.propertiesToFetch
    propertiesToGroupBy = other.propertiesToGroupBy
    havingPredicate = other.havingPredicate
    returnsDistinctResults = other.returnsDistinctResults
    historyTarget = other.historyTarget
  }

  override func run(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    throw CocoaError(
      .persistentStoreUnsupportedRequestType,
      userInfo: [NSLocalizedDescriptionKey: "Use fetch(_:) for a fetch request."])
  }
}

/// A request whose answer is a list, of whatever it asks for.
protocol ListedRequest {
  func list(in context: NSManagedObjectContext) throws -> [Any]
}

extension NSFetchRequest: ListedRequest {
  func list(in context: NSManagedObjectContext) throws -> [Any] {
    let results: [ResultType] = try context.fetch(self)
    return results
  }
}
