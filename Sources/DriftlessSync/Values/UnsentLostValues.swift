package import Driftless
import DriftlessProtocol

/// Large values that wait to be sent, and whose files beside the store are gone: the zone never got them, so no repair brings them
/// back. Sync leaves them alone, and they wait until somebody puts the files back or gives the values up.
extension SyncEngine {
  /// How many there are, of so many pending changes as ``status(of:)`` counts.
  ///
  /// - Throws: `StoreError`, `SyncError` when the engine's own record is damaged.
  package static func unsentLostValues(of store: PersistentStore) throws -> Int {
    guard store.schema.mayHaveExternalData else { return 0 }
    let schema = SyncSchema(store.schema)
    return try store.read { transaction in
      guard let state = try ReplicaState.load(from: transaction.connection) else { return 0 }
      let (pending, _) = try PendingLoader.look(
        transaction, schema: schema, acknowledged: state.acknowledged,
        changesMax: SyncTuning.statusChangesMax)
      var count = 0
      try forEachWaitingLost(pending, schema, transaction) { _, _, _, isUnsent in
        if isUnsent { count += 1 }
      }
      return count
    }
  }

  /// Hands over each large value that waits and is lost here, and whether no zone ever had it: what is offered again one had, and
  /// another replica may have it still.
  private static func forEachWaitingLost(
    _ pending: PendingSet, _ schema: SyncSchema, _ transaction: ReadTransaction,
    _ body: (ObjectKey, SyncSchema.Entity, SyncSchema.Property, _ isUnsent: Bool) throws -> Void
  ) throws {
    guard transaction.schema.mayHaveExternalData else { return }
    try pending.objects.forEachInOrder { key, object in
      guard object.whole != .delete, let entity = schema.entity(numbered: key.entity),
        let row = try transaction.knownOwnRow(key), !row.lost.isEmpty
      else { return }
      for property in entity.properties
      where row.lost.contains(property.slot)
        && (object.whole != .none || object.transaction(of: property.slot) != nil)
      {
        try body(key, entity, property, object.isUnheard(property.slot))
      }
    }
  }

  /// What waits to be pushed is no difference, but for what cannot be: the zone has none of it, and here it is lost.
  func lookForLost(
    _ transaction: ReadTransaction, _ state: ReplicaState,
    _ gathered: inout ZoneVerification.Gathered
  ) throws {
    guard transaction.schema.mayHaveExternalData else { return }
    let pending = try pendingSet(transaction, state: state)
    try Self.forEachWaitingLost(pending, schema, transaction) { key, entity, property, isUnsent in
      try gathered.add(.value, isRepaired: false) {
        var difference = VerifyReport.Difference(
          kind: .value, entity: entity.name, object: try transaction.identity(of: key),
          isRepaired: false)
        difference.property = property.name
        (difference.isLost, difference.isUnsent) = (true, isUnsent ? true : nil)
        return difference
      }
    }
  }
}

extension PendingObject {
  /// Whether no zone ever had what waits of a property. An object that is offered leaves out what is lost here.
  fileprivate func isUnheard(_ slot: Int) -> Bool {
    heldBack.contains(slot) || EditStamp.time(transaction(of: slot) ?? wholeTransaction) == nil
  }
}
