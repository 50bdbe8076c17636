public import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// The brake: deletes of a large part of the replica wait for a person's word.
extension SyncEngine {
  /// Deletes of the zone that the brake set aside here were not meant: with the next sync the objects live on, and the zone has
  /// them again, with what referred to them. What was deleted before that, while it was not too many yet, stays deleted. Where
  /// nothing is set aside, it does nothing.
  ///
  /// ```swift
  /// try SyncEngine.keepMassDeleted(of: store)
  /// ```
  ///
  /// - Throws: `StoreError`.
  public static func keepMassDeleted(of store: PersistentStore) throws {
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    _ = try store.write(info) { transaction in
      guard try !ZoneStates.braked(on: transaction.connection).isEmpty,
        let state = try ReplicaState.load(from: transaction.connection)
      else { return }
      // Of what comes until then nobody has seen anything.
      try transaction.setSetting(MassDeleteBrake.keptSetting, .unsigned(state.cursor))
    }
  }

  /// Fails when deletes of the zone are set aside: everything else is applied and sent.
  func tellSetAside() throws {
    let (deleted, objects) = try store.read { transaction in
      (
        try ZoneStates.braked(on: transaction.connection), try schema.objectCount(transaction)
      )
    }
    guard !deleted.isEmpty else { return }
    var counts: [String: Int] = [:]
    for key in deleted {
      counts[schema.entity(numbered: key.entity)?.name ?? "unknown", default: 0] += 1
    }
    throw SyncError(
      .massDelete,
      "The zone's log deletes \(deleted.count) of \(objects) objects here "
        + "(\(Self.text(counts))). They are set aside, everything else is applied",
      suggestion: "When that is meant: syncctl sync --allow-mass-delete. When not, keep them, here "
        + "and in the zone: syncctl sync --keep-mass-deleted")
  }

  /// Stops a push that deletes too much at the zone.
  func brake(_ pending: PendingSet, _ transaction: ReadTransaction) throws {
    let limit = min(options.massDelete.floor, options.massDelete.count)
    guard pending.objects.containsState(where: { $0.whole == .delete }) else { return }
    let deletes = pending.objects.filter { $0.value.whole == .delete }
    guard deletes.count > limit else { return }
    var directory = ObjectDirectory(transaction.connection)
    var deleted: [String: Int] = [:]
    for (key, object) in deletes {
      // In a log that began anew the object has no number any more, and the delete was not told in the former one either.
      let isUntold = object.wasInZone && EditStamp.time(object.wholeTransaction) == nil
      guard try isUntold || directory.number(root: schema.root(of: key), key: key.key) != nil else {
        continue
      }
      deleted[schema.entity(numbered: key.entity)?.name ?? "unknown", default: 0] += 1
    }
    let total = deleted.values.reduce(0, +)
    let objects = try schema.objectCount(transaction) + total
    guard options.massDelete.isPassed(by: total, of: objects) else { return }
    throw SyncError(
      .massDelete,
      "\(total) of \(objects) objects were deleted here (\(Self.text(deleted))), and the zone "
        + "would lose them. Nothing is sent",
      suggestion: "When that is meant: syncctl sync --allow-mass-delete. When not, open a copy of "
        + "the zone in a new store: init and enroll.")
  }

  /// The replica is current: what was deleted so far counts no more.
  func releaseBrake() throws {
    guard try store.read({ try MassDeleteBrake.isCounting($0) }) else { return }
    try bookkeep { try MassDeleteBrake.release($0) }
  }

  private static func text(_ counts: [String: Int]) -> String {
    counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
  }
}
