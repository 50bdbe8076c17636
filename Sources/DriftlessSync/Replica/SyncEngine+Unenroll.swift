public import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

extension SyncEngine {
  /// Takes a store out of its zone: it keeps its objects, its history and its journal, and is no replica until it is enrolled
  /// again, with this zone or another. The zone keeps what it has.
  ///
  /// What is enrolled again offers all that it holds, and what its history tells, as a new replica. Nothing keeps that history
  /// from being purged meanwhile: deletes that it does not tell any more come back from a zone that has their objects.
  ///
  /// ```swift
  /// try SyncEngine.unenroll(store: store)
  /// ```
  ///
  /// - Parameters:
  ///   - store: the replica.
  ///   - leavingUnsent: whether edits that the zone has not acknowledged may be there. They stay in the store; the zone hears of
  ///     them only when the store is enrolled with it again.
  ///   - leavingValues: whether large values that the zone has and the store has not may stay behind. Their objects say that they are
  ///     missing, until the store is enrolled with the zone again.
  /// - Throws: `SyncError` with the codes `notEnrolled`, `unsentEdits` while there are such edits, and `valuesInZone` while there are
  ///   such values; `StoreError`, with `syncLocked` while a process syncs the store.
  public static func unenroll(
    store: PersistentStore, leavingUnsent: Bool = false, leavingValues: Bool = false
  ) throws {
    let lock = try store.acquireSyncLock()
    defer { withExtendedLifetime(lock) {} }
    let schema = SyncSchema(store.schema)
    _ = try store.write(
      TransactionInfo(author: importAuthor, contextName: nil, kind: .imported, hybridTime: nil)
    ) { transaction in
      guard try transaction.isReplica else { throw SyncError.notEnrolled(store.label) }
      if !leavingUnsent { try requireNothingUnsent(transaction, schema: schema, of: store) }
      if !leavingValues {
        let name = store.label.shellWord
        try requireNoValuesInZone(
          transaction, schema, of: store,
          suggestion: "Fetch them: syncctl values download --store \(name). To leave them there: "
            + "syncctl unenroll --store \(name) --leave-values")
      }
      // A store that an earlier program synced last has not all of them.
      try EngineTables.create(in: transaction)
      try LeftZone.keep(in: transaction, schema: schema) {
        try EngineTables.leaveZone(in: transaction)
      }
      try noteValuesLeft(transaction, of: store)
    }
  }

  /// Objects say of values that stay in a zone that they are missing, until the store is enrolled there again.
  static func noteValuesLeft(_ transaction: WriteTransaction, of store: PersistentStore) throws {
    for row in try ParkedValues.nameRows(on: transaction.connection) {
      guard let value = LargeCell.value(in: row.value) else { continue }
      try MissedValues.note(value.digest, .left, at: store.now, on: transaction.connection)
    }
  }

  static func requireNoValuesInZone(
    _ transaction: ReadTransaction, _ schema: SyncSchema, of store: PersistentStore,
    suggestion: String
  ) throws {
    guard let state = try ReplicaState.load(from: transaction.connection) else { return }
    let pending = try PendingLoader.load(
      transaction, schema: schema, acknowledged: state.acknowledged)
    // What was not to be had when it was asked for may be there by now, and is nowhere else.
    let (count, bytes) = try ParkedValues.inZone(
      pending, transaction, schema, countsMissed: true)
    guard count > 0 else { return }
    throw SyncError(
      .valuesInZone,
      "The zone has \(count) large value\(count == 1 ? "" : "s") of the store \(store.label) that \(count == 1 ? "was" : "were") not fetched, of \(bytes) bytes.",
      suggestion: suggestion)
  }

  private static func requireNothingUnsent(
    _ transaction: ReadTransaction, schema: SyncSchema, of store: PersistentStore
  ) throws {
    guard let state = try ReplicaState.load(from: transaction.connection) else { return }
    let pending = try PendingLoader.load(
      transaction, schema: schema, acknowledged: state.acknowledged)
    let count = try counts(
      pending, carrying: CarriedEnds(schema).waiting(transaction, state), transaction,
      schema: schema
    ).objects
    guard count > 0 else { return }
    let message =
      "The store \(store.label) has edits of \(count) object\(count == 1 ? "" : "s") that were not sent"
    let name = store.label.shellWord
    let leave = "To leave them unsent: syncctl unenroll --store \(name) --leave-unsent"
    func refusal(_ why: String, _ wayOut: String) -> SyncError {
      SyncError(
        .unsentEdits, "\(message)\(why).",
        suggestion: "\(wayOut)\(wayOut.hasSuffix(".") ? "" : ".") \(leave)")
    }
    if case .integer(let keyless)? = try transaction.setting(KeylessEdits.setting), keyless > 0 {
      throw refusal(
        ", of which \(keyless) \(keyless == 1 ? "waits" : "wait") for the key of encrypted properties",
        "Give it the key and sync: syncctl key use --store \(name) FILE")
    }
    // A sync that failed for a reason of its own does so again: what ends that comes first.
    if let failure = try lastFailure(transaction, state, now: store.now) {
      let what =
        failure.message.hasSuffix(".") ? String(failure.message.dropLast()) : failure.message
      throw refusal(", and the last sync failed: \(what)", failure.suggestion)
    }
    let refused = try Quarantine.count(on: transaction.connection)
    if refused > 0 {
      throw refusal(
        ", of which the server refuses \(refused)\(refused == count ? "" : ", and others may wait for them")",
        "See why: syncctl quarantine list --store \(name)")
    }
    throw refusal("", "Run: syncctl sync --store \(name)")
  }
}
