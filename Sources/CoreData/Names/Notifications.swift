// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The names are Core Data's.
import Driftless
public import Foundation

extension NSNotification.Name {
  /// Objects of a context changed. The object is the context; sets of objects are under `NSInsertedObjectsKey` and so on.
  public static let NSManagedObjectContextObjectsDidChange = Notification.Name(
    "NSObjectsChangedInManagingContextNotification")
  /// A context is about to save. The object is the context.
  public static let NSManagedObjectContextWillSave = Notification.Name(
    "NSManagingContextWillSaveChangesNotification")
  /// A context saved. The object is the context; sets of objects are under `NSInsertedObjectsKey` and so on.
  public static let NSManagedObjectContextDidSave = Notification.Name(
    "NSManagingContextDidSaveChangesNotification")
  /// A context saved, with sets of object IDs, which can go to other threads.
  public static let NSManagedObjectContextDidSaveObjectIDs =
    Notification.Name.managedObjectContextDidSaveObjectIDs
  /// A context took over changes that were made elsewhere, with sets of object IDs.
  public static let NSManagedObjectContextDidMergeChangesObjectIDs =
    Notification.Name.managedObjectContextDidMergeChangesObjectIDs
  /// Stores are about to be attached to a coordinator or detached. The object is the coordinator.
  public static let NSPersistentStoreCoordinatorStoresWillChange =
    Notification.Name.persistentStoreCoordinatorStoresWillChange
  /// Stores were attached to a coordinator or detached. The object is the coordinator.
  public static let NSPersistentStoreCoordinatorStoresDidChange =
    Notification.Name.persistentStoreCoordinatorStoresDidChange
  /// A store is about to be detached. The object is the coordinator.
  public static let NSPersistentStoreCoordinatorWillRemoveStore =
    Notification.Name.persistentStoreCoordinatorWillRemoveStore
  /// A store that was added with the option `NSPersistentStoreRemoteChangeNotificationPostOptionKey` has a new transaction, of this process or
  /// another. It is posted on a queue of its own.
  public static let NSPersistentStoreRemoteChange = Notification.Name.persistentStoreRemoteChange
}

extension NSNotification.Name {
  /// An undo manager is about to open or close a group, to take something back or to do it again. The object is the manager.
  public static let NSUndoManagerCheckpoint = UndoManager.checkpointNotification
  /// An undo manager opened a group.
  public static let NSUndoManagerDidOpenUndoGroup = UndoManager.didOpenGroupNotification
  /// An undo manager is about to close a group.
  public static let NSUndoManagerWillCloseUndoGroup = UndoManager.willCloseGroupNotification
  /// An undo manager closed a group.
  public static let NSUndoManagerDidCloseUndoGroup = UndoManager.didCloseGroupNotification
  /// An undo manager is about to take a group back.
  public static let NSUndoManagerWillUndoChange = UndoManager.willUndoChangeNotification
  /// An undo manager took a group back.
  public static let NSUndoManagerDidUndoChange = UndoManager.didUndoChangeNotification
  /// An undo manager is about to do a group again.
  public static let NSUndoManagerWillRedoChange = UndoManager.willRedoChangeNotification
  /// An undo manager did a group again.
  public static let NSUndoManagerDidRedoChange = UndoManager.didRedoChangeNotification
}

extension NSManagedObjectContext {
  /// Objects of a context changed.
  public static let didChangeObjectsNotification =
    Notification.Name.NSManagedObjectContextObjectsDidChange
  /// A context is about to save.
  public static let willSaveObjectsNotification = Notification.Name.NSManagedObjectContextWillSave
  /// A context saved.
  public static let didSaveObjectsNotification = Notification.Name.NSManagedObjectContextDidSave
  /// A context saved, with object IDs.
  public static let didSaveObjectIDsNotification =
    Notification.Name.NSManagedObjectContextDidSaveObjectIDs
  /// A context took over changes that were made elsewhere.
  public static let didMergeChangesObjectIDsNotification =
    Notification.Name.NSManagedObjectContextDidMergeChangesObjectIDs

  /// What sets in a notification of a context are called. The raw values are Core Data's.
  public enum NotificationKey: String, Sendable {
    case insertedObjects = "inserted"
    case updatedObjects = "updated"
    case deletedObjects = "deleted"
    case refreshedObjects = "refreshed"
    case invalidatedObjects = "invalidated"
    case invalidatedAllObjects = "invalidatedAll"
    case insertedObjectIDs = "inserted_objectIDs"
    case updatedObjectIDs = "updated_objectIDs"
    case deletedObjectIDs = "deleted_objectIDs"
    case refreshedObjectIDs = "refreshed_objectIDs"
    case invalidatedObjectIDs = "invalidated_objectIDs"
    case queryGeneration = "NSManagedObjectContextQueryGenerationKey"
  }

  /// Tells of the context what the library tells, under Core Data's names and with sets.
  func post(_ notification: Notification) {
    let name: Notification.Name =
      switch notification.name {
      case .managedObjectContextObjectsDidChange: .NSManagedObjectContextObjectsDidChange
      case .managedObjectContextWillSave: .NSManagedObjectContextWillSave
      case .managedObjectContextDidSave: .NSManagedObjectContextDidSave
      default: notification.name
      }
    var userInfo = notification.userInfo?.mapValues { value -> Any in
      switch value {
      case let objects as [NSManagedObject]: Set(objects)
      case let ids as ChangedObjectIDs: Set(ids)
      default: value
      }
    }
    if let generation = queryGenerationToken {
      userInfo?[NSManagedObjectContextQueryGenerationKey] = generation
    }
    NotificationCenter.default.post(name: name, object: self, userInfo: userInfo)
  }
}
