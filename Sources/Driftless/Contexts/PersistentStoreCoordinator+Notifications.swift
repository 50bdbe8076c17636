public import Foundation

extension Notification.Name {
  /// Stores are about to be attached to a coordinator or detached. The object is the coordinator; the stores are in
  /// arrays under the keys of ``PersistentStoreCoordinator/NotificationKey``.
  public static let persistentStoreCoordinatorStoresWillChange = Notification.Name(
    "NSPersistentStoreCoordinatorStoresWillChangeNotification")
  /// Stores were attached to a coordinator or detached, or one was moved, which is both.
  public static let persistentStoreCoordinatorStoresDidChange = Notification.Name(
    "NSPersistentStoreCoordinatorStoresDidChangeNotification")
  /// A store is about to be detached: what is unsaved of it can still be saved.
  public static let persistentStoreCoordinatorWillRemoveStore = Notification.Name(
    "NSPersistentStoreCoordinatorWillRemoveStoreNotification")
}

extension PersistentStoreCoordinator {
  /// What the arrays of stores in a notification's `userInfo` are called.
  public enum NotificationKey: String, Sendable {
    case addedStores = "added"
    case removedStores = "removed"
    /// The former store and the one in its place, where one was moved or saved elsewhere. The identifier is the same here.
    case changedStores = "changed"
  }

  /// Posts where the store is added or removed, with no lock held.
  func post(
    _ name: Notification.Name, added: [PersistentStore] = [], removed: [PersistentStore] = [],
    changed: [PersistentStore] = []
  ) {
    var userInfo: [AnyHashable: Any] = [:]
    if !added.isEmpty { userInfo[NotificationKey.addedStores.rawValue] = added }
    if !removed.isEmpty { userInfo[NotificationKey.removedStores.rawValue] = removed }
    if !changed.isEmpty { userInfo[NotificationKey.changedStores.rawValue] = changed }
    NotificationCenter.default.post(name: name, object: self, userInfo: userInfo)
  }
}
