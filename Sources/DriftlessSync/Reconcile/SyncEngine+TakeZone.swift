import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging

/// Taking the state of the zone in place of the store's: after the zone was replaced on purpose, in a store that may only read
/// and whose log parted from the server's, and where a person gives up what was not sent.
extension SyncEngine {
  /// Gives up what the zone has not acknowledged, and takes the zone's state: the way out for a store whose edits nobody wants
  /// any more, say of a replica that may only read.
  ///
  /// What the store held goes into a file beside it first (`Reconciliation.export`, JSON lines that `syncctl import` reads),
  /// and each edit that is given up into the journal, from where it can be put back. Then the store is emptied in one
  /// transaction and reads the zone from its start. Without a server nothing is changed; where the way is cut after that, the
  /// next sync goes on.
  ///
  /// ```swift
  /// let report = try await engine.giveUpUnsent()
  /// print(report.reconciliations.last?.export ?? "")
  /// ```
  ///
  /// - Returns: what was taken; its last reconciliation names the file.
  /// - Throws: `SyncError` (`otherZone` when the server has another zone by now), `ProtocolError` or `StoreError`.
  public func giveUpUnsent() async throws -> SyncReport {
    let report = try await operation {
      var report = SyncReport()
      try self.lock()
      let info = try await self.transport.zoneInfo()
      let state = try self.replicaState()
      try Self.check(info, isOfZoneOf: state)
      try await self.takeZone(info, after: state, because: .asked, &report)
      try await self.reconciling(&report) { try await self.runPull(waitSeconds: 0, false, &$0) }
      try self.tellSetAside()
      return report
    }
    tell(.didSucceed)
    return report
  }

  /// Takes the zone's state in a store that may only read and has forgotten what it knew of the zone.
  func takeZoneOfReader(_ report: inout SyncReport) async throws {
    guard try store.read({ try $0.setting(Self.takesZoneSetting) != nil }) else { return }
    try lock()
    let info = try await transport.zoneInfo()
    guard !info.mayWrite else {
      // By now it may offer what it holds.
      return try bookkeep { try $0.setSetting(Self.takesZoneSetting, nil) }
    }
    let state = try replicaState()
    try Self.check(info, isOfZoneOf: state)
    try await takeZone(info, after: state, because: .mayOnlyRead, &report)
  }

  /// Fails where a store that may only read would give up with its state what was edited here, and nobody has said so. Nothing
  /// is changed, and with a token that may write it is sent.
  func checkGivesUpNothing(_ state: ReplicaState) throws {
    let unsent = try store.read { transaction -> SyncStatus.Pending? in
      guard try transaction.setting(Self.allowedSetting) == nil else { return nil }
      let (pending, hasMore) = try PendingLoader.look(
        transaction, schema: schema, acknowledged: state.acknowledged,
        changesMax: SyncTuning.statusChangesMax)
      var counts = try Self.counts(
        pending, carrying: CarriedEnds(schema).waiting(transaction, state), transaction,
        schema: schema)
      counts.hasMore = hasMore
      return counts
    }
    guard let unsent, !unsent.isEmpty else { return }
    let objects =
      "\(unsent.hasMore ? "more than " : "")\(unsent.objects) object\(unsent.objects == 1 ? "" : "s")"
    throw ProtocolError(
      .forbidden,
      "The zone \(state.zone) has another log than the one that this store knew, the token allows only read, and what was "
        + "edited here, of \(objects), was never sent. Nothing was changed",
      suggestion:
        "Ask the operator for a token that may write: driftless-server token create --zone \(state.zone) --verbs read,write; "
        + "enrol with that, and it is sent. Or give up what was not sent, and take the zone's state: syncctl sync --give-up-unsent"
    )
  }

  /// Keeps an export of what the store holds beside it, empties the store, and begins the zone's new
  /// log.
  func takeZone(
    _ info: ZoneInfo, after known: ReplicaState, because said: Reconciliation.Cause,
    _ report: inout SyncReport
  ) async throws {
    try await checkMayBegin(with: info)
    let newest = try store.read { try $0.maximumTransactionNumber() }
    // A zone that was replaced on purpose is no other log by chance.
    let isReplaced = try store.read { try KnownReplacements.misses(info, $0) }
    let cause = isReplaced && said == .mayOnlyRead ? .replaced : said
    var export = try keepExport()
    var isWritten = false
    do {
      try await empty(
        for: info, after: known, because: cause, since: newest, &export, &isWritten, &report)
    } catch {
      // A try that failed leaves no export, or each would take more of a full disk. Where the end of the transaction itself
      // failed for another reason, nobody knows what the disk has: there the export stays.
      let isUndone = !isWritten || (error as? StoreError)?.code == .diskFull
      if isUndone, let export { try? FileManager.default.removeItem(at: export) }
      throw error
    }
    log.warning(
      "\(cause.text): the store takes the zone's state; what it held is in \(export?.path ?? "no file")"
    )
  }

  /// Empties the store for the zone's new log, and names the export of what it held.
  private func empty(
    for info: ZoneInfo, after known: ReplicaState, because cause: Reconciliation.Cause,
    since newest: Int64, _ export: inout URL?, _ isWritten: inout Bool, _ report: inout SyncReport
  ) async throws {
    try await noted(.taken, 0, info, after: known, because: cause, &report) { transaction, state in
      let connection = transaction.connection
      // What another context or process saved meanwhile is in the export as well: nobody saves now.
      if try store.read({ try $0.maximumTransactionNumber() }) != newest {
        let former = export
        export = try keepExport()
        if let former { try? FileManager.default.removeItem(at: former) }
      }
      let pending = try PendingLoader.load(
        transaction, schema: schema, acknowledged: state.acknowledged)
      try GivenUpEdits.keep(
        pending, asOf: export, decidedAt: cause == .asked ? store.now : nil, transaction,
        schema: schema)
      try GivenUpEdits.keepParked(asOf: export, transaction, schema: schema)
      // Of a log that goes on, what is parked comes again.
      if state.generation != info.generation || cause != .asked {
        try FormerParking.keep(transaction)
      }
      try FormerParking.hold(on: connection)
      var count = 0
      for entity in schema.entities {
        var keys: [ObjectKey] = []
        try transaction.forEachKey(of: entity.description) { keys.append($0) }
        for key in keys {
          for property in entity.properties {
            guard case .elements(let relationship) = property.kind else { continue }
            try transaction.removePairs(
              relationship, key, transaction.toManyKeys(of: key, relationship))
          }
          try transaction.delete(key, expectedVersion: nil)
        }
        count += keys.count
      }
      try Self.forgetLog(&state, info.generation, head: info.head, transaction)
      try EngineTables.forgetPending(on: connection)
      try UnsentSince.forget(transaction)
      try WaitingDeletes.note(false, transaction)
      try ParkedValues.removeAll(on: connection)
      try FormerLog.forget(transaction)
      try transaction.setSetting(Self.takesZoneSetting, nil)
      try Graves.dropAll(on: connection)
      state.acknowledged = try transaction.maximumTransactionNumber()
      isWritten = true
      return (count, export)
    }
  }

  private func keepExport() throws -> URL? {
    guard let url = store.url else { return nil }
    let stamp = Int(store.now.timeIntervalSince1970)
    var export = URL(fileURLWithPath: url.path + ".before-\(stamp).jsonl")
    var number = 1
    // The journal may name one of the same second.
    while FileManager.default.fileExists(atPath: export.path) {
      number += 1
      export = URL(fileURLWithPath: url.path + ".before-\(stamp)-\(number).jsonl")
    }
    // Another replica may have brought some of it back by the time that it is imported here.
    // A value whose file is gone cannot be kept, and keeps nobody from taking the zone's.
    try ReplicaExport.write(store, to: export, as: .upsert, leavesOutLost: true)
    return export
  }
}
