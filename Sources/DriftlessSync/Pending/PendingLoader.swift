import Driftless
import DriftlessSQLite

/// Reads the pending set out of the store: local history, and the states that imports left.
enum PendingLoader {
  /// The whole pending set.
  static func load(
    _ transaction: ReadTransaction, schema: SyncSchema, acknowledged: Int64
  ) throws -> PendingSet {
    try transaction.connection.withCache(kibibytes: SyncTuning.walkCacheKibibytes) {
      try read(transaction, schema: schema, acknowledged: acknowledged)
    }
  }

  private static func read(
    _ transaction: ReadTransaction, schema: SyncSchema, acknowledged: Int64
  ) throws -> PendingSet {
    var pending = PendingSet(through: acknowledged)
    var overrides: [ObjectKey: Int64] = [:]
    try PendingState.forEach(on: transaction.connection) { key, through, state in
      overrides[key] = through
      guard let entity = schema.entity(numbered: key.entity) else { return }
      let object = try PendingState.decode(state(), entity: entity)
      if !object.isEmpty { pending.objects[key] = object }
    }
    try extend(&pending, transaction, schema: schema, overrides: overrides)
    return pending
  }

  /// Takes in local history that is newer than the set.
  static func extend(
    _ pending: inout PendingSet, _ transaction: ReadTransaction, schema: SyncSchema,
    overrides: [ObjectKey: Int64] = [:]
  ) throws {
    var set = pending
    set.through = try transaction.forEachLocalChange(after: pending.through) {
      number, key, change in
      guard let entity = schema.entity(numbered: key.entity) else { return }
      if let override = overrides[key], number <= override { return }
      set.update(key) { $0.record(change, by: number, all: entity.all) }
    }
    pending = set
  }
}
