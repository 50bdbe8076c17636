public import Foundation

extension PersistentHistoryTransaction {
  /// The transaction as a notification that `ManagedObjectContext.mergeChanges(fromContextDidSave:)` takes.
  public func objectIDNotification() -> Notification {
    typealias Key = ManagedObjectContext.NotificationKey
    func objectIDs(_ type: ChangeType) -> Set<ManagedObjectID> {
      Set((changes ?? []).lazy.filter { $0.changeType == type }.compactMap(\.changedObjectID))
    }
    return Notification(
      name: .managedObjectContextDidSaveObjectIDs, object: nil,
      userInfo: [
        Key.insertedObjectIDs.rawValue: objectIDs(.insert),
        Key.updatedObjectIDs.rawValue: objectIDs(.update),
        Key.deletedObjectIDs.rawValue: objectIDs(.delete),
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
  /// - Parameters:
  ///   - changes: What a notification tells, or the IDs of a batch request: lists of ``ManagedObjectID``, of their URIs or
  ///     of objects, under the keys of ``NotificationKey``. Objects of other stores are passed over.
  ///   - contexts: Each takes them over at once. Objects that others inserted are not made.
  public static func mergeChanges(
    fromRemoteContextSave changes: [AnyHashable: Any], into contexts: [ManagedObjectContext]
  ) {
    for context in contexts {
      func objectIDs(_ keys: NotificationKey...) -> [ManagedObjectID] {
        keys.flatMap { context.objectIDs(in: changes[$0.rawValue]) }
      }
      context.merge(
        inserted: objectIDs(.insertedObjectIDs, .insertedObjects),
        updated: objectIDs(
          .updatedObjectIDs, .updatedObjects, .refreshedObjectIDs, .refreshedObjects,
          .invalidatedObjectIDs, .invalidatedObjects),
        deleted: objectIDs(.deletedObjectIDs, .deletedObjects))
    }
  }

  /// The IDs of a list of IDs, URIs or objects.
  private func objectIDs(in list: Any?) -> [ManagedObjectID] {
    switch list {
    case let ids as Set<ManagedObjectID>: Array(ids)
    case let ids as [ManagedObjectID]: ids
    case let ids as ChangedObjectIDs: Array(ids)
    case let uris as [URL]:
      uris.compactMap(persistentStoreCoordinator.managedObjectID(forURIRepresentation:))
    case let uris as Set<URL>:
      uris.compactMap(persistentStoreCoordinator.managedObjectID(forURIRepresentation:))
    case let objects as [ManagedObject]: objects.map(\.objectID)
    case let objects as Set<ManagedObject>: objects.map(\.objectID)
    default: []
    }
  }

  /// Answers a request to the history of the coordinator's stores: of the one that is named, of the request's
  /// ``PersistentHistoryChangeRequest/affectedStores``, or of all. What several answer comes by time.
  ///
  /// A token tells of each store how far it was read; ``PersistentStoreCoordinator/currentPersistentHistoryToken(fromStores:)``
  /// gives one of all, and those of transactions are of one store: join them with
  /// ``PersistentHistoryToken/formUnion(_:)``.
  ///
  /// A purge that names no stores leaves out those that may only be read, as long as there is another.
  /// - Throws: what a store throws.
  public func execute(
    _ request: PersistentHistoryChangeRequest, in store: PersistentStore? = nil
  ) throws -> PersistentHistoryResult {
    if let store { return try store.execute(request) }
    let attached = try plans().map(\.store)
    let stores =
      request.affectedStores.map { wanted in
        attached.filter { store in wanted.contains { $0 === store } }
      } ?? (request.isDelete ? Self.purged(attached) : attached)
    if let only = stores.first, stores.count == 1 { return try only.execute(request) }
    return try PersistentHistoryResult(
      request, stores.map { try $0.execute(request.part(for: $0, among: stores)) })
  }

  /// A store that comes with an application has a history that nobody can purge.
  private static func purged(_ stores: [PersistentStore]) -> [PersistentStore] {
    let writable = stores.filter { !$0.isReadOnly }
    return writable.isEmpty ? stores : writable
  }
}

extension PersistentHistoryResult {
  /// What several stores answered, as one.
  init(_ request: PersistentHistoryChangeRequest, _ answers: [PersistentHistoryResult]) throws {
    self.init(request.resultType)
    switch resultType {
    case .statusOnly: status = answers.contains { $0.status == true }
    case .count: count = answers.reduce(0) { $0 + ($1.count ?? 0) }
    case .objectIDs: objectIDs = answers.flatMap { $0.objectIDs ?? [] }
    case .transactionsOnly, .transactionsAndChanges:
      var found = Self.merged(answers.map { $0.transactions ?? [] }) { $0 }
      if let fetch = request.fetchRequest, fetch.target == .transaction {
        found = try PersistentStore.cut(found, fetch)
      }
      transactions = request.fetchLimit > 0 ? Array(found.prefix(request.fetchLimit)) : found
    case .changesOnly:
      var found = Self.merged(answers.map { $0.changes ?? [] }, \.transaction)
      if let fetch = request.fetchRequest, fetch.target == .change {
        found = try PersistentStore.cut(found, fetch)
      }
      changes = found
    }
  }

  /// One list of several, by time; what is of one store stays in its order, whatever its clock did.
  private static func merged<Item>(
    _ lists: [[Item]], _ transaction: (Item) -> PersistentHistoryTransaction?
  ) -> [Item] {
    var rests = lists.map { $0[...] }
    var merged: [Item] = []
    func time(_ rest: ArraySlice<Item>) -> (UInt64, Date)? {
      rest.first.flatMap(transaction).map { ($0.hybridTime.milliseconds, $0.timestamp) }
    }
    while let next = rests.indices.filter({ !rests[$0].isEmpty }).min(by: {
      (time(rests[$0]) ?? (0, .distantPast)) < (time(rests[$1]) ?? (0, .distantPast))
    }) {
      merged.append(rests[next].removeFirst())
    }
    return merged
  }
}

extension PersistentStoreCoordinator {
  /// The place after everything that stores have recorded: those that are given, or all that are attached.
  ///
  /// - Throws: `StoreError` where a store's history cannot be read.
  @_disfavoredOverload
  public func currentPersistentHistoryToken(
    fromStores stores: [PersistentStore]? = nil
  ) throws -> PersistentHistoryToken {
    var token = PersistentHistoryToken()
    for store in stores ?? persistentStores { token.formUnion(try store.currentHistoryToken()) }
    return token
  }
}
