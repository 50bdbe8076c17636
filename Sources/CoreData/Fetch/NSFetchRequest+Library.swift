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
    let entity = context.flatMap { entityDescription(in: $0) }
    request.predicate = try predicate?.known(in: context)
    if let entity { request.predicate = request.predicate?.takingNumbers(of: entity) }
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
    request.propertiesToFetch = try (propertiesToFetch ?? []).flatMap { property in
      guard let name = columnName(of: property), let composite = entity?.composite(at: name) else {
        return [try Self.property(property)]
      }
      return composite.leafNames(behind: name).map { FetchedProperty($0) }
    }
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

  /// The entity in the model that a context works with.
  func entityDescription(in context: NSManagedObjectContext) -> EntityDescription? {
    entityName.flatMap { context.persistentStoreCoordinator?.managedObjectModel.entitiesByName[$0] }
  }

  private static func property(_ property: Any) throws -> FetchedProperty {
    switch property {
    case let name as String: return FetchedProperty(name)
    case let attribute as AttributeDescription where attribute.composite != nil:
      return FetchedProperty(attribute.pathName)
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

/// The name of a column that is a property; nil for an expression, which has one of its own.
func columnName(of property: Any) -> String? {
  switch property {
  case let name as String: name
  case is ExpressionDescription: nil
  case let attribute as AttributeDescription: attribute.pathName
  case let property as PropertyDescription: property.name
  default: nil
  }
}

extension EntityDescription {
  /// The composite attribute of a name, which may be within another one or behind to-one relationships.
  func composite(at name: String) -> CompositeAttributeDescription? {
    var path = name.split(separator: ".").map(String.init)[...]
    var entity = self
    while let first = path.first, let next = entity.relationshipsByName[first]?.destinationEntity {
      entity = next
      path = path.dropFirst()
    }
    guard var attribute = path.first.flatMap({ entity.attributesByName[$0] }) else { return nil }
    for name in path.dropFirst() {
      let composite = attribute as? CompositeAttributeDescription
      guard let element = composite?.elements.first(where: { $0.name == name }) else { return nil }
      attribute = element
    }
    return attribute as? CompositeAttributeDescription
  }
}

extension AttributeDescription {
  /// The name with those of the composite attributes that it is within.
  var pathName: String { (composite.map { $0.pathName + "." } ?? "") + name }
}

extension CompositeAttributeDescription {
  /// The names of the columns that hold its values, where it has this name itself.
  func leafNames(behind name: String) -> [String] {
    elements.flatMap { element -> [String] in
      let path = "\(name).\(element.name)"
      return (element as? CompositeAttributeDescription)?.leafNames(behind: path) ?? [path]
    }
  }

  /// The values of its elements by their names, taken out of a row's columns; nil where there are none.
  func taken(from row: inout [String: Any], as name: String) -> [String: Any]? {
    var values: [String: Any] = [:]
    for element in elements {
      let path = "\(name).\(element.name)"
      if let composite = element as? CompositeAttributeDescription {
        values[element.name] = composite.taken(from: &row, as: path)
      } else {
        values[element.name] = row.removeValue(forKey: path)
      }
    }
    return values.isEmpty ? nil : values
  }
}
