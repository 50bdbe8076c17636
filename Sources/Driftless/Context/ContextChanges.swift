public import Foundation

/// Which objects one save changed. It can go to other threads and contexts.
public struct ContextChanges: Sendable {
  /// What changed in one store.
  struct Part: Sendable {
    let plan: ObjectPlan
    var inserted: [ObjectKey] = []
    var updated: [ObjectKey] = []
    var deleted: [ObjectKey] = []
  }

  /// Which context saved; 0 for another process or an import.
  let source: Int64
  let parts: [Part]

  public var insertedObjectIDs: [ManagedObjectID] { objectIDs(\.inserted) }
  public var updatedObjectIDs: [ManagedObjectID] { objectIDs(\.updated) }
  public var deletedObjectIDs: [ManagedObjectID] { objectIDs(\.deleted) }

  public var isEmpty: Bool {
    parts.allSatisfy { $0.inserted.isEmpty && $0.updated.isEmpty && $0.deleted.isEmpty }
  }

  private func objectIDs(_ keys: (Part) -> [ObjectKey]) -> [ManagedObjectID] {
    parts.flatMap { keys($0).compactMap($0.plan.objectID) }
  }
}

extension Notification.Name {
  /// A context is about to save. The object is the context.
  public static let managedObjectContextWillSave = Notification.Name(
    "DriftlessManagedObjectContextWillSave")
  /// A context saved. `userInfo["changes"]` is a ``ContextChanges``, which can go to other threads; its objects are in
  /// arrays under the keys of ``ManagedObjectContext/NotificationKey``.
  public static let managedObjectContextDidSave = Notification.Name(
    "DriftlessManagedObjectContextDidSave")
  /// Objects of a context changed through a merge, a rollback or a refresh.
  /// `userInfo["changes"]` is a ``ContextChanges``.
  public static let managedObjectContextObjectsDidChange = Notification.Name(
    "DriftlessManagedObjectContextObjectsDidChange")
}
