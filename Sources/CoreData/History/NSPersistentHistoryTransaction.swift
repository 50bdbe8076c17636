import Driftless
public import Foundation

/// What one save, or one import, changed.
public final class NSPersistentHistoryTransaction: NSObject, NSFetchRequestResult, Sendable {
  /// As the library has it.
  let known: PersistentHistoryTransaction

  init(_ known: PersistentHistoryTransaction) { self.known = known }

  /// When it was committed.
  public var timestamp: Date { known.timestamp }
  /// What was changed; nil when only transactions were asked for. What the model has no entity for is left out.
  public var changes: [NSPersistentHistoryChange]? {
    known.changes?.filter { $0.changedObjectID != nil }
      .map { NSPersistentHistoryChange($0, in: known) }
  }
  /// Its place in the store's history, ascending.
  public var transactionNumber: Int64 { known.transactionNumber }
  /// The identifier of the store.
  public var storeID: String { known.storeID }
  /// The application that wrote; empty where it has no identifier.
  public var bundleID: String { known.bundleID ?? "" }
  /// The name of the process that wrote; empty where none was recorded.
  public var processID: String { known.processID ?? "" }
  /// The name of the context that saved.
  public var contextName: String? { known.contextName }
  /// Who made the changes: the context's `transactionAuthor`.
  public var author: String? { known.author }
  /// The place just after this transaction.
  public var token: NSPersistentHistoryToken { NSPersistentHistoryToken(known.token) }

  /// The transaction as a notification that a context's `mergeChanges(fromContextDidSave:)` takes.
  public func objectIDNotification() -> Notification { known.objectIDNotification() }

  /// A request for all transactions, to be narrowed and given to
  /// `NSPersistentHistoryChangeRequest/fetchHistory(withFetch:)`.
  public static var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Transaction")
    request.historyTarget = .transaction
    return request
  }
}

/// What a transaction did to one object.
public final class NSPersistentHistoryChange: NSObject, NSFetchRequestResult, Sendable {
  private let known: PersistentHistoryChange
  private let owner: PersistentHistoryTransaction?

  init(_ known: PersistentHistoryChange, in owner: PersistentHistoryTransaction?) {
    self.known = known
    self.owner = owner
  }

  /// Its place among all changes of the store's history, ascending.
  public var changeID: Int64 { known.changeID }
  /// What was done.
  public var changeType: NSPersistentHistoryChangeType {
    switch known.changeType {
    case .insert: .insert
    case .update: .update
    case .delete: .delete
    }
  }
  /// The ID of the object; it leads nowhere when the object is deleted. No answer has a change without one.
  public var changedObjectID: NSManagedObjectID {
    guard let id = known.changedObjectID else {
      preconditionFailure("The model has no entity for change \(changeID)")
    }
    return id
  }
  /// The values that a deleted object's entity preserves.
  public var tombstone: [AnyHashable: Any]? {
    guard let values = known.tombstone else { return nil }
    let attributes = known.changedEntity?.attributesByName ?? [:]
    var tombstone: [AnyHashable: Any] = [:]
    for (name, value) in values {
      let plain = foundationValue(value.plain)
      tombstone[name] = plain.map { attributes[name]?.snapshotValue(value) ?? $0 } ?? NSNull()
    }
    return tombstone
  }
  /// The transaction.
  public var transaction: NSPersistentHistoryTransaction? {
    (known.transaction ?? owner).map(NSPersistentHistoryTransaction.init)
  }
  /// The changed properties of an update; nil otherwise.
  public var updatedProperties: Set<NSPropertyDescription>? {
    guard let names = known.updatedProperties else { return nil }
    return Set(names.compactMap { known.changedEntity?.propertiesByName[$0] })
  }

  /// A request for all changes, to be narrowed and given to
  /// `NSPersistentHistoryChangeRequest/fetchHistory(withFetch:)`.
  public static var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Change")
    request.historyTarget = .change
    return request
  }
}
