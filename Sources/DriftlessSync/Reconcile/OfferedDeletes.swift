import Driftless
import DriftlessSQLite
import Foundation

/// Deletes of objects whose numbers go with the log that is given up: they are told by identity, as
/// tombstones, or the next replica to come would bring the objects back.
enum OfferedDeletes {
  /// Marks pending deletes of objects that the zone knew by numbers from `number` on. Called while the numbers are known.
  ///
  /// - Parameters:
  ///   - states: where they are saved.
  ///   - offered: what the zone had of an object with what is pending of it: should an edit keep the object, that is to be
  ///     sent with it.
  static func keep(
    of pending: PendingSet, from number: UInt64, _ transaction: WriteTransaction,
    schema: SyncSchema, _ states: OfferedStates,
    _ offered: (ObjectKey, PendingObject, SyncSchema.Entity) -> PendingObject
  ) throws {
    var directory = ObjectDirectory(transaction.connection)
    for (key, object) in pending.objects where object.whole == .delete {
      guard let entity = schema.entity(numbered: key.entity),
        let own = try directory.number(root: entity.rootNumber, key: key.key), own >= number
      else { continue }
      var kept = offered(key, object, entity)
      kept.whole = .delete
      kept.wholeTransaction = object.wholeTransaction
      kept.wasInZone = true
      try states.save(kept, of: key, entity: entity)
    }
  }

  /// Ends pending deletes of what another zone had: this one's objects are none of theirs.
  static func end(
    _ pending: inout PendingSet, _ transaction: WriteTransaction, schema: SyncSchema,
    _ states: OfferedStates
  ) throws {
    let deleted = pending.objects.filter { $0.value.whole == .delete }.map(\.key)
    for key in deleted {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      try states.save(PendingObject(), of: key, entity: entity)
      try BaseValues.drop(key, on: transaction.connection)
      pending.objects[key] = nil
    }
  }

  /// Offers the deletes that history knows, of objects that the zone knew, or was told to be deleted.
  static func offer(
    _ history: EditHistory, of log: LostEdits, beside pending: PendingSet,
    _ transaction: WriteTransaction, schema: SyncSchema, _ states: OfferedStates
  ) throws {
    var directory = ObjectDirectory(transaction.connection)
    for (key, time) in history.deleted where pending[key] == nil {
      guard let entity = schema.entity(numbered: key.entity),
        try log.objects[key]?.whole == .delete
          || directory.number(root: entity.rootNumber, key: key.key) != nil,
        try transaction.concreteKey(root: key) == nil
      else { continue }
      var object = PendingObject()
      object.whole = .delete
      object.wholeTransaction = EditStamp.number(time)
      try states.save(object, of: key, entity: entity)
    }
  }
}
