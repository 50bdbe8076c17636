import Driftless
import Foundation

/// Fetches that an incremental store answers.
extension NSManagedObjectContext {
  /// What incremental stores that have the entity found, with this context's unsaved changes; nil where no such store has it.
  func foundOutside<T>(by request: NSFetchRequest<T>) throws -> [Any]? {
    guard let coordinator = persistentStoreCoordinator ?? parent?.persistentStoreCoordinator,
      let entity = coordinator.managedObjectModel.entitiesByName[request.entityName ?? ""]
    else { return nil }
    let stores = (request.affectedStores ?? coordinator.persistentStores).compactMap {
      $0 as? NSIncrementalStore
    }
    .filter { $0.schema.entityNumber(of: entity) > 0 }
    guard !stores.isEmpty else { return nil }
    let asked = NSFetchRequest<any NSFetchRequestResult>()
    asked.take(request)
    asked.entity = entity
    if request.resultType == .dictionaryResultType {
      return try stores.flatMap { try answer(of: $0, asked) }.map { $0 as? NSDictionary ?? $0 }
    }
    base.processPendingChanges()
    // The store answers as it is asked where nothing unsaved is to be looked at.
    if parent == nil, !request.includesPendingChanges || !hasChanges {
      switch request.resultType {
      case .managedObjectIDResultType:
        return try stores.flatMap { try answer(of: $0, asked) }.map {
          ($0 as? NSManagedObject)?.objectID ?? $0
        }
      case .countResultType:
        let counts = try stores.map { try Self.count(in: answer(of: $0, asked), entity) }
        return [NSNumber(value: counts.reduce(0, +))]
      default: break
      }
    }
    asked.resultType = .managedObjectResultType
    let objects = try objects(asked, stores, entity)
    switch request.resultType {
    case .managedObjectIDResultType: return objects.map(\.objectID)
    case .countResultType: return [NSNumber(value: objects.count)]
    default: return objects
    }
  }

  private func objects(
    _ request: NSFetchRequest<any NSFetchRequestResult>, _ stores: [NSIncrementalStore],
    _ entity: NSEntityDescription
  ) throws -> [NSManagedObject] {
    var objects: [NSManagedObject]
    if let parent {
      let ids = try parent.performAndWait {
        try parent.objects(request, stores, entity).map(\.objectID)
      }
      objects = ids.map(object(with:))
    } else {
      objects = try stores.flatMap { try answer(of: $0, request) }.map { item in
        if let object = item as? NSManagedObject { return object }
        if let id = item as? NSManagedObjectID { return object(with: id) }
        throw FetchError(
          .typeMismatch,
          "The store answered the fetch of \(entity.knownName) with \(type(of: item))",
          suggestion: "Let execute(_:with:) give objects of the context, or their IDs.")
      }
      for store in stores {
        let ids = objects.map(\.objectID).filter { $0.storeIdentifier == store.identifier }
        if !ids.isEmpty { store.managedObjectContextDidRegisterObjects(with: ids) }
      }
    }
    if request.includesPendingChanges, hasChanges { try overlay(&objects, request, entity) }
    return objects
  }

  /// A count is a list of one number; who gives what it counts is understood as well.
  private static func count(in answer: [Any], _ entity: NSEntityDescription) throws -> Int {
    if answer.count == 1, let number = answer[0] as? NSNumber { return number.intValue }
    guard answer.allSatisfy({ $0 is NSManagedObject || $0 is NSManagedObjectID }) else {
      throw FetchError(
        .typeMismatch, "The store answered with no count of \(entity.knownName)",
        suggestion: "Let execute(_:with:) give an array with one NSNumber.")
    }
    return answer.count
  }

  private func answer(
    of store: NSIncrementalStore, _ request: NSFetchRequest<any NSFetchRequestResult>
  ) throws -> [Any] {
    let answer = try store.execute(request, with: self)
    if let list = answer as? [Any] { return list }
    if let list = answer as? NSArray { return list.map { $0 } }
    throw FetchError(
      .typeMismatch, "The store answered a fetch with \(type(of: answer))",
      suggestion: "Let execute(_:with:) give an array.")
  }

  /// Unsaved changes decide over what the store has.
  private func overlay(
    _ objects: inout [NSManagedObject], _ request: NSFetchRequest<any NSFetchRequestResult>,
    _ entity: NSEntityDescription
  ) throws {
    let changed = insertedObjects.union(updatedObjects).filter { object in
      request.includesSubentities
        ? object.entity.isKindOf(entity: entity) : object.entity === entity
    }
    let gone = deletedObjects.union(changed)
    guard !gone.isEmpty else { return }
    objects.removeAll(where: gone.contains)
    let predicate = try request.predicate?.known()
    objects += try changed.filter { try predicate?.evaluate($0) ?? true }
    let keys = try (request.sortDescriptors ?? []).map { try $0.known(in: self) }
    if !keys.isEmpty { try objects.sort { try keys.areInIncreasingOrder($0, $1) } }
    if request.fetchLimit > 0, request.fetchOffset == 0 {
      objects = Array(objects.prefix(request.fetchLimit))
    }
  }
}
