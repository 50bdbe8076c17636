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

  /// What a look at a store counts: the pending set as far as its first changes make it.
  ///
  /// - Parameter changesMax: how many states and changes are read.
  /// - Returns: also whether there are more.
  static func look(
    _ transaction: ReadTransaction, schema: SyncSchema, acknowledged: Int64, changesMax: Int
  ) throws -> (pending: PendingSet, hasMore: Bool) {
    var pending = PendingSet(through: acknowledged)
    var count = 0
    func countOne() throws {
      guard count < changesMax else { throw Enough() }
      count += 1
    }
    do {
      var overrides: [ObjectKey: Int64] = [:]
      try readStates(into: &pending, &overrides, transaction, schema, each: countOne)
      try extend(
        &pending, transaction, schema: schema, overrides: overrides, each: countOne)
      return (pending, false)
    } catch is Enough {
      return (pending, true)
    }
  }

  private struct Enough: Error {}

  private static func read(
    _ transaction: ReadTransaction, schema: SyncSchema, acknowledged: Int64
  ) throws -> PendingSet {
    var pending = PendingSet(through: acknowledged)
    var overrides: [ObjectKey: Int64] = [:]
    try readStates(into: &pending, &overrides, transaction, schema) {}
    try extend(&pending, transaction, schema: schema, overrides: overrides)
    return pending
  }

  private static func readStates(
    into pending: inout PendingSet, _ overrides: inout [ObjectKey: Int64],
    _ transaction: ReadTransaction, _ schema: SyncSchema, each: () throws -> Void
  ) throws {
    try PendingState.forEach(on: transaction.connection) { key, through, state in
      try each()
      overrides[key] = through
      guard let entity = schema.entity(numbered: key.entity) else { return }
      let object = try PendingState.decode(state(), entity: entity)
      if !object.isEmpty { pending.objects[key] = object }
    }
  }

  /// Takes in local history that is newer than the set.
  ///
  /// - Parameter each: called with each change; where it throws, the set has those before.
  static func extend(
    _ pending: inout PendingSet, _ transaction: ReadTransaction, schema: SyncSchema,
    overrides: [ObjectKey: Int64] = [:], each: () throws -> Void = {}
  ) throws {
    var set = pending
    // Moved out, so that no change copies what is there.
    pending = PendingSet(through: set.through)
    defer { pending = set }
    set.through = try transaction.forEachLocalChange(after: set.through) {
      number, key, change in
      try each()
      guard let entity = schema.entity(numbered: key.entity) else { return }
      if let override = overrides[key], number <= override { return }
      set.update(key) { $0.record(change, by: number, all: entity.all) }
    }
  }
}
