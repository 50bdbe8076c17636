public import Foundation

extension Notification.Name {
  /// Objects of a context changed: at the end of an event, and by a refresh, a merge, a rollback or a reset. The object
  /// is the context; its objects are in arrays under the keys of ``ManagedObjectContext/NotificationKey``. After a
  /// merge or a rollback `userInfo["changes"]` is a ``ContextChanges``.
  public static let managedObjectContextObjectsDidChange = Notification.Name(
    "DriftlessManagedObjectContextObjectsDidChange")
  /// A context is about to save. The object is the context.
  public static let managedObjectContextWillSave = Notification.Name(
    "DriftlessManagedObjectContextWillSave")
  /// A context saved. `userInfo["changes"]` is a ``ContextChanges``, which can go to other threads; its objects are in
  /// arrays under the keys of ``ManagedObjectContext/NotificationKey``.
  public static let managedObjectContextDidSave = Notification.Name(
    "DriftlessManagedObjectContextDidSave")
  /// A context saved, told in a form that can go to other threads: `userInfo` holds ``ChangedObjectIDs`` under
  /// `insertedObjectIDs`, `updatedObjectIDs` and `deletedObjectIDs`, and all of it as a ``ContextChanges`` under
  /// "changes". It comes after ``managedObjectContextDidSave``. Of a transaction of the history, see
  /// ``PersistentHistoryTransaction/objectIDNotification()``, they are sets.
  public static let managedObjectContextDidSaveObjectIDs = Notification.Name(
    "NSManagedObjectContextDidSaveObjectIDsNotification")
  /// A context took over changes that were made elsewhere: `userInfo` is as of a save. What others changed, and the context
  /// had and has anew, is under `updatedObjectIDs` and under `refreshedObjectIDs`.
  public static let managedObjectContextDidMergeChangesObjectIDs = Notification.Name(
    "NSManagedObjectContextDidMergeChangesObjectIDsNotification")
}

extension ManagedObjectContext {
  /// What the lists in a notification's `userInfo` are called; one that would be empty is absent. The texts are Core
  /// Data's.
  ///
  /// Lists of objects are arrays, in the order of the first change, where Core Data has sets: a set costs a large save a
  /// tenth more, whether somebody looks or not.
  public enum NotificationKey: String, Sendable {
    case insertedObjects = "inserted"
    case updatedObjects = "updated"
    case deletedObjects = "deleted"
    /// What was read anew, or is a fault again, without being changed here.
    case refreshedObjects = "refreshed"
    case invalidatedObjects = "invalidated"
    /// After a reset: the IDs of all objects that the context had.
    case invalidatedAllObjects = "invalidatedAll"
    case insertedObjectIDs = "inserted_objectIDs"
    case updatedObjectIDs = "updated_objectIDs"
    case deletedObjectIDs = "deleted_objectIDs"
    case refreshedObjectIDs = "refreshed_objectIDs"
    case invalidatedObjectIDs = "invalidated_objectIDs"
  }

  /// Tells observers, or whoever stands for the context.
  func post(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]? = nil) {
    guard let relay = standIn.relay else {
      return NotificationCenter.default.post(name: name, object: self, userInfo: userInfo)
    }
    relay(Notification(name: name, object: self, userInfo: userInfo))
  }

  /// Tells observers of changes of objects; lists with nothing in them are absent.
  func postObjectsDidChange(
    _ lists: KeyValuePairs<NotificationKey, [ManagedObject]>, _ changes: ContextChanges? = nil
  ) {
    var userInfo: [AnyHashable: Any] = [:]
    for (key, objects) in lists where !objects.isEmpty { userInfo[key.rawValue] = objects }
    if let changes { userInfo["changes"] = changes }
    guard !userInfo.isEmpty else { return }
    post(.managedObjectContextObjectsDidChange, userInfo)
  }

  /// Tells observers of a save.
  func postDidSave(_ saved: SavedObjects) {
    saving.beginTelling()
    defer { saving.endTelling() }
    let changes = saved.changes
    post(.managedObjectContextDidSave, saved.userInfo)
    post(
      .managedObjectContextDidSaveObjectIDs,
      changes.info([
        .insertedObjectIDs: changes.ids(\.inserted), .updatedObjectIDs: changes.ids(\.updated),
        .deletedObjectIDs: changes.ids(\.deleted),
      ]))
  }

  /// Tells observers of a merge.
  func postDidMerge(_ changes: ContextChanges) {
    post(
      .managedObjectContextDidMergeChangesObjectIDs,
      changes.info([
        .insertedObjectIDs: changes.ids(\.inserted), .updatedObjectIDs: changes.ids(\.updated),
        .refreshedObjectIDs: changes.ids(\.updated), .deletedObjectIDs: changes.ids(\.deleted),
      ]))
  }
}
