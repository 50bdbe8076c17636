import Driftless
import Foundation

extension NSManagedObjectContext {
  /// What the request asks for, unsaved changes of this context included.
  /// - Throws: 134060 for a request that does not fit the model or does not parse, and for objects of another class than
  ///   `T`; what kept the store from being read.
  public func fetch<T>(_ request: NSFetchRequest<T>) throws -> [T] {
    try asCocoaErrors {
      let outside = try foundOutside(by: request)
      if outside == nil, let objects = try objects(by: request) { return objects }
      let found = try outside ?? found(by: request)
      if let typed = found as? [T] { return typed }
      return try found.map { item in
        if let item = item as? T { return item }
        // A dictionary of Swift's is asked for as Foundation's.
        if let values = item as? [String: Any], let item = NSDictionary(dictionary: values) as? T {
          return item
        }
        throw Self.mismatch(request, item)
      }
    }
  }

  /// The objects of a request for a class of them; nil for another request.
  private func objects<T>(by request: NSFetchRequest<T>) throws -> [T]? {
    guard request.resultType == .managedObjectResultType,
      let wanted = T.self as? ManagedObject.Type, request.historyTarget == nil
    else { return nil }
    let known = try asked(by: request)
    guard known.resultType == .managedObject else { return nil }
    let objects = try base.fetch(known)
    base.hold(untilEventEnds: objects)
    guard objects.allSatisfy({ type(of: $0) == wanted || $0 is T }) else {
      throw Self.mismatch(request, objects.first { !($0 is T) })
    }
    // Arrays of objects lie in memory alike, and a cast of the array would cast and hold each object once more.
    return unsafeBitCast(objects, to: [T].self)
  }

  private static func mismatch<T>(_ request: NSFetchRequest<T>, _ item: Any?) -> FetchError {
    let given = item.map { "\(type(of: $0))" } ?? "nothing"
    return FetchError(
      .typeMismatch, "\(request.entityName ?? "") gives \(given), not \(T.self)",
      suggestion: "Ask for that type, or set resultType.")
  }

  func found<T>(by request: NSFetchRequest<T>) throws -> [Any] {
    if let found = try foundOutside(by: request) { return found }
    let known = try asked(by: request)
    switch known.resultType {
    case .managedObject:
      let objects = try base.fetch(known)
      base.hold(untilEventEnds: objects)
      return objects
    case .managedObjectID: return try base.fetchIDs(known)
    case .count: return [NSNumber(value: try base.count(for: known))]
    case .dictionary:
      let archives = try archivedColumns(of: known)
      let composites = composites(of: request)
      return try base.fetchRows(known).map { row -> [String: Any] in
        var values = row.dictionary.mapValues { foundationValue($0) ?? NSNull() }
        for (name, attribute) in archives {
          if let data = values[name] as? Data { values[name] = attribute.value(inArchive: data) }
        }
        for (name, attribute) in composites {
          values[name] = attribute.taken(from: &values, as: name)
        }
        return values
      }
    }
  }

  /// How many objects the request asks for.
  /// - Throws: as `fetch(_:)`.
  public func count<T>(for request: NSFetchRequest<T>) throws -> Int {
    try asCocoaErrors {
      let counted = NSFetchRequest<NSNumber>()
      counted.take(request)
      if request.resultType != .dictionaryResultType { counted.resultType = .countResultType }
      if let found = try foundOutside(by: counted) {
        return counted.resultType == .countResultType
          ? (found.first as? NSNumber)?.intValue ?? 0 : found.count
      }
      var known = try asked(by: request)
      if known.resultType != .dictionary { known.resultType = .count }
      if known.resultType == .dictionary { return try base.fetchRows(known).count }
      return try base.count(for: known)
    }
  }

  /// The request as the library has it. Blocks of the application's are asked here, of all objects, where no file is to answer.
  func asked<T>(by request: NSFetchRequest<T>) throws -> FetchRequest<ManagedObject> {
    var known = try request.known(in: self)
    guard let predicate = known.predicate, predicate.hasBlock,
      let coordinator = persistentStoreCoordinator,
      let entity = coordinator.managedObjectModel.entitiesByName[known.entityName]
    else { return known }
    let stores = (known.affectedStores ?? coordinator.persistentStores).filter {
      $0.schema.entityNumber(of: entity) > 0
    }
    // With the library's own error where one is SQLite's.
    guard stores.allSatisfy({ $0.url == nil || $0 is any OwnStore }) else { return known }
    var all = FetchRequest<ManagedObject>(entityName: known.entityName)
    all.includesSubentities = known.includesSubentities
    all.includesPendingChanges = known.includesPendingChanges
    all.affectedStores = known.affectedStores
    let found = try base.fetch(all).filter { try predicate.evaluate(with: $0) }
    base.hold(untilEventEnds: found)
    known.predicate = try FetchPredicate(format: "SELF IN %@", found)
    return known
  }

  /// The composite attributes that a request names, by their names there.
  private func composites<T>(
    of request: NSFetchRequest<T>
  ) -> [String: CompositeAttributeDescription] {
    guard let entity = request.entityDescription(in: self) else { return [:] }
    var found: [String: CompositeAttributeDescription] = [:]
    for property in request.propertiesToFetch ?? [] {
      if let name = columnName(of: property), let composite = entity.composite(at: name) {
        found[name] = composite
      }
    }
    return found
  }

  /// The columns of rows that hold archives of transformable attributes.
  private func archivedColumns(
    of request: FetchRequest<ManagedObject>
  ) throws -> [String: AttributeDescription] {
    guard
      let entity = base.persistentStoreCoordinator.managedObjectModel
        .entitiesByName[request.entityName]
    else { return [:] }
    guard !request.propertiesToFetch.isEmpty else {
      return entity.attributesByName.filter { $1.type == .transformable }
    }
    var archived: [String: AttributeDescription] = [:]
    for property in request.propertiesToFetch {
      let keyPath = property.expressionDescription.map { $0.expression?.keyPath ?? "" }
      let path = (keyPath ?? property.name).split(separator: ".").map(String.init)
      if let attribute = entity.attribute(at: path[...]), attribute.type == .transformable {
        archived[property.name] = attribute
      }
    }
    return archived
  }

  /// A batch changes rows, of which stores of an own class have none.
  func refuseBatch(of name: String, _ stores: [NSPersistentStore]?) throws {
    let asked = stores ?? persistentStoreCoordinator?.persistentStores ?? []
    for store in asked where store is any OwnStore {
      guard let entity = store.model.entitiesByName[name],
        store.schema.entityNumber(of: entity) > 0
      else { continue }
      throw CocoaError(
        .persistentStoreUnsupportedRequestType,
        userInfo: [
          NSLocalizedDescriptionKey:
            "Stores of type \(store.type) take no batch requests, and have \(name): change objects."
        ])
    }
  }
}

extension NSEntityDescription {
  /// The attribute at the end of a key path.
  func attribute(at path: ArraySlice<String>) -> AttributeDescription? {
    guard let first = path.first, let next = relationshipsByName[first]?.destinationEntity else {
      return attributesByName[path.joined(separator: ".")]
    }
    return next.attribute(at: path.dropFirst())
  }
}

extension FetchPredicate {
  /// Whether a block of the application's is asked.
  fileprivate var hasBlock: Bool {
    switch self {
    case .block: true
    case .and(let parts, _), .or(let parts, _): parts.contains(where: \.hasBlock)
    case .not(let part, _): part.hasBlock
    case .constant, .comparison, .tooDeep: false
    }
  }
}
