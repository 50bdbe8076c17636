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
    let known = try request.known(in: self)
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
    let known = try request.known(in: self)
    switch known.resultType {
    case .managedObject:
      let objects = try base.fetch(known)
      base.hold(untilEventEnds: objects)
      return objects
    case .managedObjectID: return try base.fetchIDs(known)
    case .count: return [NSNumber(value: try base.count(for: known))]
    case .dictionary:
      return try base.fetchRows(known).map { row -> [String: Any] in
        row.dictionary.mapValues { foundationValue($0) ?? NSNull() }
      }
    }
  }

  /// How many objects the request asks for.
  /// - Throws: as `fetch(_:)`.
  public func count<T>(for request: NSFetchRequest<T>) throws -> Int {
    try asCocoaErrors {
      if let found = try foundOutside(by: request) {
        return request.resultType == .countResultType
          ? (found.first as? NSNumber)?.intValue ?? 0 : found.count
      }
      var known = try request.known(in: self)
      if known.resultType != .dictionary { known.resultType = .count }
      if known.resultType == .dictionary { return try base.fetchRows(known).count }
      return try base.count(for: known)
    }
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
