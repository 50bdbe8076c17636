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

  /// Deletes of the zone that the brake set aside here, by their place in the log, then by entity and identity: the objects
  /// live on here until a person says whether they were meant (`sync(allowingMassDelete:)`, `keepMassDeleted(of:)`).
  ///
  /// ```swift
  /// for delete in try SyncEngine.deletesSetAside(of: store) { print(delete.entity, delete.object) }
  /// ```
  ///
  /// - Throws: `StoreError`; `SyncError` (`damagedState`) where what is set aside cannot be read.
  public static func deletesSetAside(of store: PersistentStore) throws -> [DeleteSetAside] {
    let schema = SyncSchema(store.schema)
    return try store.read { transaction in
      try ZoneStates.brakedDeletes(on: transaction.connection).map { key, side in
        DeleteSetAside(
          object: try transaction.identity(of: key),
          entity: schema.entity(numbered: key.entity)?.name ?? "unknown", sequence: side.sequence,
          sender: side.origin, time: side.time.date)
      }.sorted {
        ($0.sequence, $0.entity, $0.object.uuidString)
          < ($1.sequence, $1.entity, $1.object.uuidString)
      }
    }
  }

  /// Fails when deletes of the zone are set aside: everything else is applied and sent.
  func tellSetAside() throws {
    let (deleted, objects, before) = try store.read { transaction in
      (
        try ZoneStates.braked(on: transaction.connection), try schema.objectCount(transaction),
        try MassDeleteBrake.before(transaction)
      )
    }
    guard !deleted.isEmpty else { return }
    var counts: [String: Int] = [:]
    for key in deleted {
      counts[schema.entity(numbered: key.entity)?.name ?? "unknown", default: 0] += 1
    }
    let (total, all) = (deleted.count + before, objects + before)
    let whole = "The zone's log deletes \(total) of \(all) object\(all == 1 ? "" : "s") here"
    throw SyncError(
      .massDelete,
      before == 0
        ? "\(whole) (\(Self.text(counts))). They are set aside (syncctl parked lists them), everything else is applied"
        : "\(whole). \(deleted.count) (\(Self.text(counts))) \(deleted.count == 1 ? "is" : "are") set aside (syncctl parked "
          + "lists them); the \(before) before, not too many yet, \(before == 1 ? "is" : "are") applied already, as is everything else",
      suggestion: "When that is meant: syncctl sync --allow-mass-delete. When not, keep them, here "
        + "and in the zone: syncctl sync --keep-mass-deleted")
  }

  /// Fails when deletes of this store wait for a person's word: everything else was sent.
  func tellWaitingDeletes(_ allowsMassDelete: Bool) throws {
    let waiting = allowsMassDelete ? nil : try store.read { try waitingDeletes($0) }
    try noteWaitingDeletes(waiting)
    if let waiting { throw waiting.error }
  }

  /// Notes before anything is sent that deletes wait, and that none do any more.
  func noteWaitingDeletes(_ waiting: WaitingDeletes?) throws {
    guard try store.read({ try WaitingDeletes.areNoted($0) }) != (waiting != nil) else { return }
    try bookkeep { try WaitingDeletes.note(waiting != nil, $0) }
  }

  func waitingDeletes(_ transaction: ReadTransaction) throws -> WaitingDeletes? {
    let state = try Self.state(on: transaction.connection, of: store)
    return try waitingDeletes(pendingSet(transaction, state: state), transaction)
  }

  /// Deletes of so many objects that a person has to say that they are meant, and what else their saves did: nobody is shown
  /// a part of a save, and what was cut from others by a delete that was a mistake is not cut at the zone.
  func waitingDeletes(
    _ pending: PendingSet, _ transaction: ReadTransaction
  ) throws -> WaitingDeletes? {
    let limit = min(options.massDelete.floor, options.massDelete.count)
    guard pending.objects.containsState(where: { $0.whole == .delete }) else { return nil }
    // What a person had meant in a log that is gone goes with that word, also from those that took it there.
    let meant = try MeantDeletes(transaction)
    let deletes = pending.objects.filter { $0.value.whole == .delete && !meant.has($0.value) }
    guard deletes.count > limit else { return nil }
    var directory = ObjectDirectory(transaction.connection)
    var deleted: [String: Int] = [:]
    var told = 0
    var saves: Set<Int64> = []
    let haveWaited = try WaitingDeletes.areNoted(transaction)
    // What was deleted since is none of the log before; a pull gives it a time in place of its number as well.
    let cameBack = try Self.lastReconciliation(transaction).map { HybridTime($0.time) }
    for (key, object) in deletes {
      saves.insert(object.wholeTransaction)
      // In a log that began anew the object has no number any more, and the delete was not told in the former one either:
      // it was not sent, or waited there too.
      let isUntold =
        object.wasInZone && (haveWaited || EditStamp.time(object.wholeTransaction) == nil)
      guard try isUntold || directory.number(root: schema.root(of: key), key: key.key) != nil else {
        continue
      }
      deleted[schema.entity(numbered: key.entity)?.name ?? "unknown", default: 0] += 1
      if object.isToldDelete, let time = EditStamp.time(object.wholeTransaction),
        let cameBack, time <= cameBack
      {
        told += 1
      }
    }
    let total = deleted.values.reduce(0, +)
    let objects = try schema.objectCount(transaction) + total
    guard options.massDelete.isPassed(by: total, of: objects) else { return nil }
    var waiting = WaitingDeletes(
      error: SyncError(
        .massDelete,
        "\(total) of \(objects) objects were deleted \(Self.place(told: told, of: total)) "
          + "(\(Self.text(deleted))), and the zone would lose them. They wait with what else their saves did, everything else is sent",
        suggestion:
          "When that is meant: syncctl sync --allow-mass-delete. When not, have this store take back "
          + "what the zone has, with what it did not send kept in a file: syncctl sync --give-up-unsent. Or open a "
          + "copy of the zone in a new store: init and enroll."))
    for (key, object) in pending.objects where !meant.has(object) {
      waiting.add(key, object, of: saves)
    }
    return waiting
  }

  /// Where objects were deleted: what another replica had deleted, and this one took, comes from a log that is gone.
  private static func place(told: Int, of total: Int) -> String {
    let former = "in the log that the zone had before"
    return told == 0 ? "here" : told == total ? former : "here or \(former)"
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

/// What waits of what is pending, since a person has to say that the deletes among it are meant.
struct WaitingDeletes {
  /// There while some wait.
  static let setting = "sync.waitingDeletes"

  static func areNoted(_ transaction: ReadTransaction) throws -> Bool {
    try transaction.setting(setting) != nil
  }

  static func note(_ wait: Bool, _ transaction: WriteTransaction) throws {
    try transaction.setSetting(setting, wait ? .integer(1) : nil)
  }

  let error: SyncError
  private(set) var objects: Set<ObjectKey> = []
  private(set) var properties: [ObjectKey: PropertyMask] = [:]

  init(error: SyncError) { self.error = error }

  /// - Parameter saves: those that deleted something.
  mutating func add(_ key: ObjectKey, _ object: PendingObject, of saves: Set<Int64>) {
    guard object.whole != .delete else {
      objects.insert(key)
      return
    }
    object.wait(with: saves, as: key, &objects, &properties)
  }
}
