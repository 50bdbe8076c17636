public import Foundation

/// Which objects one save changed. It can go to other threads and contexts.
public struct ContextChanges: Sendable {
  package let plan: ObjectPlan
  /// Which context saved; 0 for another process or an import.
  let source: Int64
  public let insertedKeys: [ObjectKey]
  public let updatedKeys: [ObjectKey]
  public let deletedKeys: [ObjectKey]

  public var insertedObjectIDs: [ManagedObjectID] { insertedKeys.compactMap(plan.objectID) }
  public var updatedObjectIDs: [ManagedObjectID] { updatedKeys.compactMap(plan.objectID) }
  public var deletedObjectIDs: [ManagedObjectID] { deletedKeys.compactMap(plan.objectID) }

  public var isEmpty: Bool { insertedKeys.isEmpty && updatedKeys.isEmpty && deletedKeys.isEmpty }
}

extension Notification.Name {
  /// A context is about to save. The object is the context.
  public static let managedObjectContextWillSave = Notification.Name(
    "DriftlessManagedObjectContextWillSave")
  /// A context saved. `userInfo["changes"]` is a ``ContextChanges``.
  public static let managedObjectContextDidSave = Notification.Name(
    "DriftlessManagedObjectContextDidSave")
  /// Objects of a context changed through a merge, a rollback or a refresh.
  /// `userInfo["changes"]` is a ``ContextChanges``.
  public static let managedObjectContextObjectsDidChange = Notification.Name(
    "DriftlessManagedObjectContextObjectsDidChange")
}
