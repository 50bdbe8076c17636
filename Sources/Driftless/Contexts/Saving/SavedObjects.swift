import Foundation

/// What a save did, for those who are told of it.
struct SavedObjects {
  let changes: ContextChanges
  var inserted: [ManagedObject] = []
  var updated: [ManagedObject] = []
  /// They are in no context any more.
  var deleted: [ManagedObject] = []

  /// Of a context's save without changes.
  static func nothing(by context: Int64) -> SavedObjects {
    SavedObjects(changes: ContextChanges(source: context, parts: []))
  }

  /// Lists with nothing in them are absent.
  var userInfo: [AnyHashable: Any] {
    typealias Key = ManagedObjectContext.NotificationKey
    var userInfo: [AnyHashable: Any] = ["changes": changes]
    for (key, objects) in [
      (Key.insertedObjects, inserted), (.updatedObjects, updated), (.deletedObjects, deleted),
    ] where !objects.isEmpty {
      userInfo[key.rawValue] = objects
    }
    return userInfo
  }
}
