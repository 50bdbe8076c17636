import Foundation

/// Taking over what others saved.
extension ManagedObjectContext {
  /// Takes over another context's save: changed objects are read again under unsaved changes,
  /// deleted ones go.
  public func mergeChanges(fromContextDidSave changes: ContextChanges) {
    guard changes.source != number, let plan = try? plan(), plan === changes.plan else { return }
    merge(
      inserted: changes.insertedKeys, updated: changes.updatedKeys, deleted: changes.deletedKeys)
  }

  /// Takes over what transactions of the history say, of this and other processes.
  public func mergeChanges(fromHistory transactions: [PersistentHistoryTransaction]) throws {
    let plan = try plan()
    var inserted: [ObjectKey] = []
    var updated: [ObjectKey] = []
    var deleted: [ObjectKey] = []
    for transaction in transactions where transaction.storeID == plan.store.identifier {
      for change in transaction.changes ?? [] {
        switch change.changeType {
        case .insert: inserted.append(change.changedObjectKey)
        case .update: updated.append(change.changedObjectKey)
        case .delete: deleted.append(change.changedObjectKey)
        }
      }
    }
    merge(inserted: inserted, updated: updated, deleted: deleted)
  }

  func merge(inserted: [ObjectKey], updated: [ObjectKey], deleted: [ObjectKey]) {
    merge(updated: updated, deleted: deleted)
    post(
      .managedObjectContextObjectsDidChange, inserted: inserted,
      updated: updated.compactMap(registered), deleted: deleted)
  }

  private func merge(updated: [ObjectKey], deleted: [ObjectKey]) {
    for key in updated {
      guard let object = registered(key) else { continue }
      deferError { try refresh(object, mergeChanges: true) }
    }
    for key in deleted {
      guard let object = registered(key) else { continue }
      // Unsaved changes meet the delete at the save, where the merge policy decides.
      if object.isUpdated { continue }
      registries[object.shape.hierarchy].remove(object)
      object.detach()
      object.state.insert(.deleted)
    }
    // A new or deleted object may belong to any to-many relationship that was read.
    for registry in registries {
      registry.forEach { object in for state in object.collections { state?.forgetStored() } }
    }
  }
}
