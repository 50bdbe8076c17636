package import Driftless
package import DriftlessProtocol
import DriftlessSQLite
package import Foundation

/// The answer to "why is this object not there?".
package struct DeletionExplanation: Hashable, Sendable {
  /// The object's identity.
  package var object: UUID
  /// The name of the object's entity; nil where nothing says it any more.
  package var entity: String?
  /// When it was deleted here: by a save, or as what the zone has was taken in. Nil where history does not have that any more.
  package var deletedAt: HybridTime?
  /// Who saved that here; nil where nothing says so.
  package var author: String?
  /// Whether the zone deleted it, or a rule as the zone's changes were taken in, and no save of this store.
  package var isByMerge: Bool
  /// Whether the zone has not heard of it.
  package var isPending: Bool
  /// The settled conflicts of the object, oldest first.
  package var conflicts: [JournalEntry]
  /// The conflict by whose number the object comes back as it was; nil where the journal has no row of it.
  package var wayBack: Int64?
}

extension SyncEngine {
  /// Says why an object is not there; nil for one that is, and for one that was never here as far as the store knows.
  ///
  /// - Parameters:
  ///   - store: an open store, enrolled or not.
  ///   - object: the object's identity.
  ///   - keys: what encrypted values of conflicts are opened with.
  package static func whyDeleted(
    of store: PersistentStore, object: UUID, keys: KeyRing? = nil
  ) throws -> DeletionExplanation? {
    let schema = SyncSchema(store.schema, keys: keys)
    return try store.read { transaction in
      let key = try transaction.key(of: object)
      if let key, try transaction.concreteKey(root: key) != nil { return nil }
      var explanation = DeletionExplanation(
        object: object, entity: nil, deletedAt: nil, author: nil, isByMerge: false,
        isPending: false, conflicts: [], wayBack: nil)
      if let key, let (header, deleted) = try transaction.lastDelete(of: key, schema) {
        explanation.entity = schema.entity(numbered: deleted.entity)?.name
        explanation.deletedAt = header.hybridTime
        explanation.isByMerge = header.kind == .imported
        if !explanation.isByMerge {
          explanation.author = try transaction.origin(ofTransaction: header.number).author
        }
      }
      if let state = try ReplicaState.load(from: transaction.connection) {
        explanation.conflicts = try Journal.entries(object: object, on: transaction.connection)
          .map(OpenedEntries(transaction, schema).opened)
        explanation.wayBack = try Journal.wayBack(of: object, on: transaction.connection)
        explanation.entity = explanation.entity ?? explanation.conflicts.last?.entity
        if let key, explanation.deletedAt != nil {
          let pending = try PendingLoader.load(
            transaction, schema: schema, acknowledged: state.acknowledged)
          explanation.isPending = pending.objects.contains {
            schema.rooted($0.key) == schema.rooted(key) && $0.value.whole == .delete
          }
        }
      }
      let isKnown = explanation.deletedAt != nil || !explanation.conflicts.isEmpty
      return isKnown ? explanation : nil
    }
  }
}

extension ReadTransaction {
  /// The newest transaction in what history still holds that deleted an object, and under which key.
  fileprivate func lastDelete(
    of key: ObjectKey, _ schema: SyncSchema
  ) throws -> (HistoryHeader, ObjectKey)? {
    var last: (HistoryHeader, ObjectKey)?
    let root = schema.rooted(key)
    try forEachChange(after: 0) { header, type, changed, _ in
      guard type == .delete, changed.key == key.key, schema.rooted(changed) == root else { return }
      last = (header, changed)
    }
    return last
  }
}
