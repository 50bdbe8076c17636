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
      throw ProtocolError.later("the change set in flight has no answer so far", refusal)
    }
    guard try store.read({ try mayTakeSnapshot($0) }) else {
      throw SyncError.logPurged(
        "something is offered anew, or set aside, that only the log can settle")
    }
    let state = try replicaState()
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
    case .unfit(let reason): throw SyncError.logPurged(reason)
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

  /// Looks whether an empty store can take in the snapshot of a zone whose log was purged, before a store is emptied.
  ///
  /// - Throws: `SyncError` (`.logPurged`).
  func checkMayBegin(with info: ZoneInfo) async throws {
    guard info.floor ?? 0 > 0 else { return }
    for _ in 0..<SyncTuning.snapshotAttemptsMax {
      guard let listed = try await transport.snapshot(of: info.generation) else { break }
      try listed.check()
      guard listed.zoneID == info.zoneID, listed.generation == info.generation else { break }
      let snapshot = listed.objects
      guard try await fetch(snapshot, SyncReport()) else { continue }
      do {
        try store.read { transaction in
          var reader = try SnapshotReader(snapshot) { file in
            try SegmentPieces.bytes(of: file.name, on: transaction.connection)
          }
          try reader.forEachPart { part in
            for number in 0..<part.count {
              for entity in try part.index(number).entities {
                try PageApplier.checkNames(entity, schema)
              }
            }
          }
          guard reader.isPlain else {
            throw UnfitSnapshot(reason: "an object was deleted under another entity's name")
          }
        }
        return
      } catch let unfit as UnfitSnapshot {
        try bookkeep { try SegmentPieces.dropAll(on: $0.connection) }
        throw SyncError.logPurged("an empty store could not take it in either: \(unfit.reason)")
      }
    }
    throw ProtocolError(
      .busy, "The zone's log was purged, and its snapshot could not be fetched",
      suggestion: "Nothing was changed. Try again later.")
  }
}

extension ProtocolError {
  fileprivate static func later(_ what: String, _ refusal: ProtocolError) -> ProtocolError {
    ProtocolError(
      .busy, "The zone's log was purged below what this store has of it, and \(what)",
      suggestion: "Nothing is lost: sync again in a moment.", head: refusal.head)
  }
}
