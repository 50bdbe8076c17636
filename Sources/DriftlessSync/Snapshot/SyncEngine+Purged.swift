import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// A zone whose log was purged below what the store has of it: what the log came to stands for it.
///
/// Where that cannot be, nothing is changed and a person decides: nothing is ever given up because of a purge.
extension SyncEngine {
  /// Takes the zone's snapshot, since the log does not go on from here any more.
  ///
  /// - Parameter refusal: what the server said.
  /// - Throws: `SyncError`: `.logPurged` where the snapshot cannot stand for the log here, `.massDelete`; `ProtocolError`
  ///   (`.busy`) where it comes later.
  func goOnBySnapshot(
    _ refusal: ProtocolError, _ allowsMassDelete: Bool, _ report: inout SyncReport
  ) async throws {
    // What of a push was fetched so far comes with the snapshot.
    if try letGoOfStaged() { return }
    if try hasOutbox() {
      guard let answer = try await settleOutbox(&report) else { return }
      guard answer.code == .forbidden || answer.code == .unauthorized else {
        throw ProtocolError.later("the change set in flight has no answer so far", refusal)
      }
      throw answer
    }
    guard try store.read({ try mayTakeSnapshot($0, hasLog: false) }) else {
      throw SyncError.logPurged(
        "something is offered anew, or set aside, that only the log can settle")
    }
    let state = try replicaState()
    let hasNothing = state.cursor == 0
    var tooLow = false
    let outcome = try await takeSnapshot(
      &report, hasLog: false, allowsMassDelete: allowsMassDelete
    ) { snapshot in
      let place = snapshot.place.sequence
      guard place > state.cursor, place >= refusal.floor ?? 0 else { return false }
      tooLow = place < state.mark?.sequence ?? 0
      return !tooLow
    }
    switch outcome {
    case .taken: return
    case .unfit(let reason): throw SyncError.logPurged(reason, hasNothing: hasNothing)
    case .failed(let error): throw error
    case .none:
      // The server adds up its log for who asks for the digests of a place.
      if tooLow, let mark = state.mark {
        _ = try? await transport.digests(
          at: Cursor(generation: state.generation, sequence: mark.sequence, chain: mark.chain))
      }
      throw ProtocolError.later("its snapshot is not there yet", refusal)
    }
  }

  /// Fails where the log of a zone was purged and what is to be done needs all of it. Nothing was changed so far.
  static func checkHasLog(_ info: ZoneInfo, after place: UInt64 = 0, _ reason: String) throws {
    guard let floor = info.floor, place < floor else { return }
    throw SyncError.logPurged(reason)
  }

  /// Fails where a store would offer anew what it holds to a zone whose log was purged: that only all of the log can settle.
  ///
  /// - Throws: `SyncError` (`.logPurged`), before anything was kept.
  static func checkMayJoin(
    _ info: ZoneInfo, _ state: ReplicaState, _ store: PersistentStore, _ schema: SyncSchema,
    _ transaction: ReadTransaction
  ) throws {
    guard let floor = info.floor, state.cursor < floor else { return }
    let mayTake = try mayTakeSnapshot(transaction, hasLog: false) {
      try PendingLoader.load(transaction, schema: schema, acknowledged: state.acknowledged)
    }
    guard !mayTake else { return }
    throw SyncError.offeredToPurged(store.label)
  }

  /// Fails where a store that holds something would begin anew in a zone whose log was purged: the snapshot has what it holds under the
  /// names that it sent it under, and does not tell which of both is newer.
  ///
  /// - Throws: `SyncError` (`.logPurged`), before anything was forgotten.
  static func checkMayBeginAnew(
    _ info: ZoneInfo, _ store: PersistentStore, _ schema: SyncSchema, _ transaction: ReadTransaction
  ) throws {
    guard info.floor ?? 0 > 0 else { return }
    for entity in schema.entities {
      var hasRows = false
      try transaction.forEachKey(of: entity.description) { _ in hasRows = true }
      if hasRows { throw SyncError.offeredToPurged(store.label) }
    }
  }

  /// Has an empty store beside this one take in the snapshot of a zone whose log was purged, before this one is emptied.
  ///
  /// - Throws: `SyncError` (`.logPurged`).
  func checkMayBegin(with info: ZoneInfo) async throws {
    guard info.floor ?? 0 > 0 else { return }
    let newcomer = try Newcomer(
      beside: store, replicaState(), info: info, by: transport.way, options)
    let outcome: SnapshotOutcome
    do {
      var report = SyncReport()
      // Nobody sees that store: deletes take nothing away there.
      outcome = try await newcomer.engine.takeSnapshot(
        &report, hasLog: false, allowsMassDelete: true
      ) { $0.place.sequence >= info.floor ?? 0 }
    } catch {
      await newcomer.remove()
      throw error
    }
    await newcomer.remove()
    switch outcome {
    case .taken: return
    case .unfit(let reason):
      throw SyncError.logPurged("an empty store could not take it in either: \(reason)")
    case .failed(let error): throw error
    case .none:
      throw ProtocolError(
        .busy, "The zone's log was purged, and its snapshot could not be fetched",
        suggestion: "Nothing was changed. Try again later.")
    }
  }
}

extension ProtocolError {
  fileprivate static func later(_ what: String, _ refusal: ProtocolError) -> ProtocolError {
    ProtocolError(
      .busy, "The zone's log was purged below what this store has of it, and \(what)",
      suggestion: "Nothing is lost: sync again in a moment.", head: refusal.head)
  }
}
