import Driftless
import Foundation

/// Fetches that incremental stores answer, where another store has the entity with that.
extension NSManagedObjectContext {
  /// The stores that a fetch asks.
  private struct AskedStores {
    let incremental: [NSIncrementalStore]
    /// The library finds what these have.
    let others: [NSPersistentStore]
    /// Whether the request names stores.
    let areNamed: Bool

    var count: Int { incremental.count + others.count }

    /// Whether an object is in one of them, or is to be.
    func have(_ object: NSManagedObject) -> Bool {
      guard areNamed else { return true }
      let identifier = object.objectID.storeIdentifier
      return incremental.contains { $0.identifier == identifier }
        || others.contains { $0.identifier == identifier }
    }
  }

  /// What stores found of which one is an incremental one, with this context's unsaved changes; nil where none that has the entity
  /// is.
  func foundOutside<T>(by request: NSFetchRequest<T>) throws -> [Any]? {
    guard let coordinator = persistentStoreCoordinator ?? parent?.persistentStoreCoordinator,
      let entity = coordinator.managedObjectModel.entitiesByName[request.entityName ?? ""]
    else { return nil }
    let attached = coordinator.persistentStores
    guard attached.contains(where: { $0 is NSIncrementalStore }) else { return nil }
    let all = attached.filter { store in
      store.schema.entityNumber(of: entity) > 0
        && request.affectedStores?.contains { $0.identifier == store.identifier } ?? true
    }
    let stores = AskedStores(
      incremental: all.compactMap { $0 as? NSIncrementalStore },
      others: all.filter { !($0 is NSIncrementalStore) }, areNamed: request.affectedStores != nil)
    guard let first = stores.incremental.first else { return nil }
    let asked = NSFetchRequest<any NSFetchRequestResult>()
    asked.take(request)
    asked.entity = entity
    if request.resultType == .dictionaryResultType {
      guard stores.count == 1 else {
        throw FetchError(
          .invalidRequest,
          "\(stores.count) stores have \(entity.knownName), and dictionaries come from one",
          suggestion: "Name a store in affectedStores, and fetch from each.")
      }
      return try answer(of: first, asked).map { $0 as? NSDictionary ?? $0 }
    }
    base.processPendingChanges()
    // Stores answer as they are asked where nothing unsaved is to be looked at.
    if parent == nil, pendingChanges(asked, stores, entity).isEmpty {
      if request.resultType == .countResultType {
        return [NSNumber(value: try count(asked, stores, entity))]
      }
      if request.resultType == .managedObjectIDResultType, stores.count == 1 {
        return try answer(of: first, asked).map { ($0 as? NSManagedObject)?.objectID ?? $0 }
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
    _ request: NSFetchRequest<any NSFetchRequestResult>, _ stores: AskedStores,
    _ entity: NSEntityDescription
  ) throws -> [NSManagedObject] {
    let pending = pendingChanges(request, stores, entity)
    // The cut is made when what several found is together; each changed object takes at most one saved one out of it.
    let isCutHere = !pending.isEmpty || parent == nil && stores.count > 1
    let part = isCutHere ? request.widened(by: pending.count) : request
    var objects: [NSManagedObject]
    if let parent {
      let ids = try parent.performAndWait {
        try parent.objects(part, stores, entity).map(\.objectID)
      }
      objects = ids.map(object(with:))
    } else {
      objects = try stores.incremental.flatMap { try self.objects(of: $0, part, entity) }
      if !stores.others.isEmpty { objects += try self.objects(of: stores.others, part) }
    }
    guard isCutHere else { return objects }
    objects.removeAll(where: pending.contains)
    let predicate = try request.predicate?.known(in: self).takingNumbers(of: entity)
    objects += try pending.filter { object in
      try !object.isDeleted && predicate?.evaluate(object) ?? true
    }
    let keys = try (request.sortDescriptors ?? []).map { try $0.known(in: self) }
    if !keys.isEmpty { try objects.sort { try keys.areInIncreasingOrder($0, $1) } }
    objects = Array(objects.dropFirst(max(0, request.fetchOffset)))
    return request.fetchLimit > 0 ? Array(objects.prefix(request.fetchLimit)) : objects
  }

  /// Objects that may be in the answer, or out of it, by what is not saved.
  private func pendingChanges(
    _ request: NSFetchRequest<any NSFetchRequestResult>, _ stores: AskedStores,
    _ entity: NSEntityDescription
  ) -> Set<NSManagedObject> {
    guard request.includesPendingChanges, hasChanges else { return [] }
    return insertedObjects.union(updatedObjects).union(deletedObjects).filter { object in
      let isAskedFor =
        request.includesSubentities
        ? object.entity.isKindOf(entity: entity) : object.entity === entity
      return isAskedFor && stores.have(object)
    }
  }

  private func objects(
    of store: NSIncrementalStore, _ request: NSFetchRequest<any NSFetchRequestResult>,
    _ entity: NSEntityDescription
  ) throws -> [NSManagedObject] {
    let objects = try answer(of: store, request).map { item in
      if let object = item as? NSManagedObject { return object }
      if let id = item as? NSManagedObjectID { return object(with: id) }
      throw FetchError(
        .typeMismatch,
        "The store answered the fetch of \(entity.knownName) with \(type(of: item))",
        suggestion: "Let execute(_:with:) give objects of the context, or their IDs.")
    }
    let ids = objects.map(\.objectID).filter { $0.storeIdentifier == store.identifier }
    if !ids.isEmpty { store.managedObjectContextDidRegisterObjects(with: ids) }
    return objects
  }

  /// What the library finds that is saved.
  private func objects(
    of others: [NSPersistentStore], _ request: NSFetchRequest<any NSFetchRequestResult>
  ) throws -> [NSManagedObject] {
    let objects = try base.fetch(try asked(of: others, request))
    base.hold(untilEventEnds: objects)
    return objects
  }

  private func asked(
    of others: [NSPersistentStore], _ request: NSFetchRequest<any NSFetchRequestResult>
  ) throws -> FetchRequest<ManagedObject> {
    let part = NSFetchRequest<any NSFetchRequestResult>()
    part.take(request)
    part.affectedStores = others
    part.includesPendingChanges = false
    return try asked(by: part)
  }

  /// How many saved objects there are: a cut is one of the whole.
  private func count(
    _ request: NSFetchRequest<any NSFetchRequestResult>, _ stores: AskedStores,
    _ entity: NSEntityDescription
  ) throws -> Int {
    let part = stores.count > 1 ? request.widened(by: 0) : request
    var count = try stores.incremental.reduce(0) { sum, store in
      sum + (try Self.count(in: answer(of: store, part), entity))
    }
    if !stores.others.isEmpty { count += try base.count(for: try asked(of: stores.others, part)) }
    guard stores.count > 1 else { return count }
    count = max(0, count - max(0, request.fetchOffset))
    return request.fetchLimit > 0 ? min(count, request.fetchLimit) : count
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
}

extension NSFetchRequest<any NSFetchRequestResult> {
  /// The request for all that a cut may need when what others found, or some objects, are added and taken out.
  fileprivate func widened(by count: Int) -> NSFetchRequest<any NSFetchRequestResult> {
    let wide = NSFetchRequest<any NSFetchRequestResult>()
    wide.take(self)
    wide.fetchOffset = 0
    guard fetchLimit > 0 else { return wide }
    let (cut, isTooLarge) = fetchLimit.addingReportingOverflow(max(0, fetchOffset))
    let (limit, isMore) = cut.addingReportingOverflow(count)
    wide.fetchLimit = isTooLarge || isMore ? 0 : limit
    return wide
  }
}
