import Driftless
import DriftlessSQLite
import Foundation

/// Deletes of before a store went to another zone, which the former one was told, or which were made while it had none. That one is not told of them: it is another data set.
/// What comes with it all the same is in the journal, once.
enum FormerZone {
  static let setting = "sync.formerZone"

  /// The store goes to another zone: deletes up to a transaction are none of that one's.
  static func leave(through acknowledged: Int64, _ transaction: WriteTransaction) throws {
    try transaction.setSetting(setting, .integer(acknowledged))
  }

  /// When objects were deleted here in a former zone, as far as history knows, by their root entities.
  static func deletes(
    _ transaction: ReadTransaction, schema: SyncSchema
  ) throws -> [ObjectKey: HybridTime] {
    guard let last = try last(transaction) else { return [:] }
    var deletes: [ObjectKey: HybridTime] = [:]
    try transaction.forEachNumberedChange { header, _, type, key, _ in
      switch type {
      case .insert: deletes[schema.rooted(key)] = nil
      case .update: break
      case .delete where header.kind != .imported && header.number <= last:
        deletes[schema.rooted(key)] = header.hybridTime
      case .delete: break
      }
    }
    return deletes
  }

  /// The last transaction of before the store went to another zone; nil for one that never did.
  static func last(_ transaction: ReadTransaction) throws -> Int64? {
    guard case .integer(let last)? = try transaction.setting(setting) else { return nil }
    return last
  }

  /// Ends deletes up to a transaction that history tells a new replica to be pending, and those that its former zone was not
  /// told.
  static func endDeletes(
    through last: Int64, _ transaction: WriteTransaction, schema: SyncSchema
  ) throws {
    let pending = try PendingLoader.load(transaction, schema: schema, acknowledged: 0)
    for (key, object) in pending.objects
    where object.whole == .delete && object.wholeTransaction <= last {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      try PendingState.save(
        PendingObject(), of: key, entity: entity, through: pending.through,
        on: transaction.connection)
      try BaseValues.drop(key, on: transaction.connection)
    }
  }
}

extension PageApplier {
  /// Notes that an object comes that was deleted here in a former zone, by a delete that is not older than what comes.
  func noteOfFormerZone(_ key: ObjectKey, _ side: RemoteSide) throws {
    guard let deleted = try deletesOfFormerZone()[rooted(key)], side.time <= deleted else { return }
    try remembered.addCome(try transaction.identity(of: key), key, time: deleted, transaction)
  }

  func journalOfFormerZone(
    _ key: ObjectKey, _ entity: SyncSchema.Entity, _ deleted: HybridTime
  ) throws {
    try journal.addWhole(
      entity: entity, key: key, outcome: .remote, localTime: deleted, side: keptKeys.side,
      explanation: "Deleted here in the zone that this store was enrolled with before; another "
        + "replica brought it to this one: it is back.")
    report.conflicts += 1
  }
}
