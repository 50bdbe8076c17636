import Driftless
import Foundation

extension NSFetchRequest {
  /// The request as the library has it.
  ///
  /// - Parameter context: Knows what Swift key paths of sort descriptors read; nil for a request that has none.
  /// - Throws: `FetchError` for a predicate that does not parse, or a part that no store understands.
  func known(in context: NSManagedObjectContext?) throws -> FetchRequest<ManagedObject> {
    guard let entityName else {
      throw FetchError(
        .invalidRequest, "The fetch request has no entity",
        suggestion: "Make it with init(entityName:), or set its entity.")
    }
    var request = FetchRequest<ManagedObject>(entityName: entityName)
    request.predicate = try predicate?.known(in: context)
    request.sort = try (sortDescriptors ?? []).map { try $0.known(in: context) }
    request.limit = fetchLimit
    request.offset = fetchOffset
    request.fetchBatchSize = fetchBatchSize
    request.includesSubentities = includesSubentities
    request.includesPendingChanges = includesPendingChanges
    request.includesPropertyValues = includesPropertyValues
    request.returnsObjectsAsFaults = returnsObjectsAsFaults
    request.shouldRefreshRefetchedObjects = shouldRefreshRefetchedObjects
    request.relationshipKeyPathsForPrefetching = relationshipKeyPathsForPrefetching ?? []
    request.affectedStores = affectedStores
    request.resultType = knownResultType
    guard resultType == .dictionaryResultType || propertiesToGroupBy != nil else { return request }
    request.propertiesToFetch = try (propertiesToFetch ?? []).map(Self.property)
    request.propertiesToGroupBy = try (propertiesToGroupBy ?? []).map(Self.property)
    request.havingPredicate = try havingPredicate?.known(in: context)
    request.returnsDistinctResults = returnsDistinctResults
    return request
  }

  private var knownResultType: FetchRequest<ManagedObject>.ResultType {
    switch resultType {
    case .managedObjectIDResultType: .managedObjectID
    case .dictionaryResultType: .dictionary
    case .countResultType: .count
    default: .managedObject
    }
  }

  private static func property(_ property: Any) throws -> FetchedProperty {
    switch property {
    case let name as String: return FetchedProperty(name)
    case let property as PropertyDescription: return FetchedProperty(property)
    default:
      throw FetchError(
        .invalidRequest, "A fetch cannot give \(type(of: property))",
        suggestion: "Name properties, or give their descriptions.")
    }
  }

  private static func properties(_ properties: [FetchedProperty]) -> [Any]? {
    guard !properties.isEmpty else { return nil }
    return properties.map { property -> Any in
      if let description = property.expressionDescription { return description }
      return property.name
    }
  }

  /// A request of the library's under Core Data's names.
  convenience init<Result>(_ request: FetchRequest<Result>) {
    self.init()
    predicate = request.predicate.map(NSPredicate.made(of:))
    sortDescriptors = request.sort.map(NSSortDescriptor.make)
    fetchLimit = request.limit
    fetchOffset = request.offset
    fetchBatchSize = request.fetchBatchSize
    includesSubentities = request.includesSubentities
    includesPendingChanges = request.includesPendingChanges
    includesPropertyValues = request.includesPropertyValues
    returnsObjectsAsFaults = request.returnsObjectsAsFaults
    returnsDistinctResults = request.returnsDistinctResults
    shouldRefreshRefetchedObjects = request.shouldRefreshRefetchedObjects
    affectedStores = request.affectedStores
    let paths = request.relationshipKeyPathsForPrefetching
    relationshipKeyPathsForPrefetching = paths.isEmpty ? nil : paths
    propertiesToFetch = Self.properties(request.propertiesToFetch)
    propertiesToGroupBy = Self.properties(request.propertiesToGroupBy)
    havingPredicate = request.havingPredicate.map(NSPredicate.made(of:))
    resultType = NSFetchRequestResultType(rawValue: UInt(request.resultType.rawValue))
    rename(request.entityName)
  }
}
