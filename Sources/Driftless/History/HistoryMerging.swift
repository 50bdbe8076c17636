public import Foundation

extension Notification.Name {
  /// What a transaction of the history changed. `userInfo` holds sets of `ManagedObjectID`s under Core Data's keys.
  public static let managedObjectContextDidSaveObjectIDs = Notification.Name(
    "NSManagedObjectContextDidSaveObjectIDsNotification")
}

/// Where a notification about changed objects keeps their IDs. The texts are Core Data's.
public enum ChangedObjectIDsKey {
  public static let inserted = "inserted_objectIDs"
  public static let updated = "updated_objectIDs"
  public static let deleted = "deleted_objectIDs"
}

extension PersistentHistoryTransaction {
  /// The transaction as a notification that ``ManagedObjectContext/mergeChanges(fromContextDidSave:)`` takes.
  public func objectIDNotification() -> Notification {
    func objectIDs(_ type: ChangeType) -> Set<ManagedObjectID> {
      Set((changes ?? []).lazy.filter { $0.changeType == type }.compactMap(\.changedObjectID))
    }
    return Notification(
      name: .managedObjectContextDidSaveObjectIDs, object: nil,
      userInfo: [
        ChangedObjectIDsKey.inserted: objectIDs(.insert),
        ChangedObjectIDsKey.updated: objectIDs(.update),
        ChangedObjectIDsKey.deleted: objectIDs(.delete),
      ])
  }
}

extension ManagedObjectContext {
  /// Takes over what a notification tells: of another context's save, or of a transaction of the history.
  public func mergeChanges(fromContextDidSave notification: Notification) {
    if let changes = notification.userInfo?["changes"] as? ContextChanges {
      return mergeChanges(fromContextDidSave: changes)
    }
    Self.mergeChanges(fromRemoteContextSave: notification.userInfo ?? [:], into: [self])
  }

  /// Takes over changes that were made elsewhere, in each of several contexts of the caller's isolation.
  ///
  /// - Parameter changes: Sets or arrays of ``ManagedObjectID`` under the keys of ``ChangedObjectIDsKey``; IDs of other
  ///   stores are passed over.
  public static func mergeChanges(
    fromRemoteContextSave changes: [AnyHashable: Any], into contexts: [ManagedObjectContext]
  ) {
    func objectIDs(_ key: String) -> [ManagedObjectID] {
      if let set = changes[key] as? Set<ManagedObjectID> { return Array(set) }
      return changes[key] as? [ManagedObjectID] ?? []
    }
    for context in contexts {
      context.merge(
        inserted: objectIDs(ChangedObjectIDsKey.inserted),
        updated: objectIDs(ChangedObjectIDsKey.updated),
        deleted: objectIDs(ChangedObjectIDsKey.deleted))
    }
  }

  /// Answers a request to the history of a store.
  /// - Parameter store: One of the coordinator's; it need not be named when there is only one.
  /// - Throws: ``ObjectError`` when there are several and none is named; what the store throws.
  public func execute(
    _ request: PersistentHistoryChangeRequest, in store: PersistentStore? = nil
  ) throws -> PersistentHistoryResult {
    let stores = try plans().map(\.store)
    if let store { return try store.execute(request) }
    guard let only = stores.first, stores.count == 1 else {
      throw ObjectError(
        .storeRefused, "The coordinator has \(stores.count) stores, each with a history of its own",
        suggestion: "Say which one: execute(request, in: store).")
    }
    return try only.execute(request)
  }
}
