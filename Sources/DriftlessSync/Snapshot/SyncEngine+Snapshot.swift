import Driftless
import DriftlessProtocol
import Foundation
import Logging

/// A snapshot that this replica cannot take in: it reads the log instead, which has all of it.
struct UnfitSnapshot: Error {
  let reason: String
}

extension SyncEngine {
  /// A replica that has nothing of the zone, and nothing of its own, takes what the zone's log comes to, where the zone has
  /// added it up. The log goes on from there.
  func joinBySnapshot(_ report: inout SyncReport) async throws {
    guard try store.read({ try hasNothing($0) }) else { return }
    let generation = try replicaState().generation
    for _ in 0..<SyncTuning.snapshotAttemptsMax {
      do {
        guard let snapshot = try await transport.snapshot(of: generation)?.objects,
          snapshot.place.sequence > 0
        else { break }
        try check(snapshot)
        guard try await fetch(snapshot, report) else { continue }
        report.pull.add(try install(snapshot))
        return
      } catch let unfit as UnfitSnapshot {
        log.notice("The whole log is read, not the zone's snapshot: \(unfit.reason)")
        break
      } catch let error as ProtocolError where Self.isOfSnapshot(error) {
        log.warning("The zone's snapshot cannot be taken in: \(error.message)")
        // It may have been damaged on its way.
        try bookkeep { try SegmentPieces.dropAll(on: $0.connection) }
      } catch let error where Self.isOfWay(error) {
        // The log may come all the same: a page of it says what is wrong, if anything is.
        log.warning("The whole log is read, not the zone's snapshot: \(error)")
        break
      }
    }
    guard try store.read({ try SegmentPieces.exist(on: $0.connection) }) else { return }
    try bookkeep { try SegmentPieces.dropAll(on: $0.connection) }
  }

  /// Whether an error lies in what the snapshot says, and not in the way to it.
  private static func isOfSnapshot(_ error: ProtocolError) -> Bool {
    [.damaged, .malformed, .unsupported, .tooLarge].contains(error.code)
  }

  /// Whether an error is of this way to join, and need not be of the other: a server or a proxy that does not know it, a disk
  /// that has room for the log alone.
  private static func isOfWay(_ error: any Error) -> Bool {
    switch error {
    case let error as StoreError: isOfEntry(error) || error.code == .diskFull
    case let error as ProtocolError: ["storage", "not-found"].contains(error.code.rawValue)
    case let error as any TransportFailure:
      ["not-driftless", "damaged-body", "body-too-large"].contains(error.name)
    default: false
    }
  }

  /// Whether the replica has nothing of the zone's log, and nothing that the zone may have to be told.
  private func hasNothing(_ transaction: ReadTransaction) throws -> Bool {
    let connection = transaction.connection
    let state = try Self.state(on: connection, of: store)
    guard state.cursor == 0, state.mark == nil, try !Outbox.exists(on: connection),
      try Parking.entries(on: connection).isEmpty, try !DanglingReferences.exist(on: connection),
      try RememberedDeletes(connection).rows.isEmpty, try ZoneStates(connection).keys.isEmpty
    else { return false }
    return try pendingSet(transaction, state: state).isEmpty
  }

  private func check(_ snapshot: Snapshot) throws {
    let state = try replicaState()
    try snapshot.check()
    guard snapshot.zoneID == state.zoneID, snapshot.generation == state.generation else {
      throw ProtocolError.malformed("The zone's snapshot is of another zone")
    }
  }

  /// Brings the snapshot's files into the store.
  ///
  /// - Returns: false when the zone has another snapshot meanwhile.
  private func fetch(_ snapshot: Snapshot, _ report: SyncReport) async throws -> Bool {
    let files = snapshot.files
    try bookkeep { try SegmentPieces.drop(but: Set(files.map(\.name)), on: $0.connection) }
    let total = files.reduce(0) { $0.addingClamped($1.bytes) }
    var done = 0
    for file in files {
      var have = try store.read { try SegmentPieces.size(of: file.name, on: $0.connection) }
      while have < file.bytes {
        let range = have..<min(file.bytes, have + SyncTuning.segmentPieceBytes)
        let piece: Data
        do {
          piece = try await transport.segment(file.name, of: snapshot.generation, range: range)
        } catch let error as ProtocolError where error.code == .noSnapshot {
          return false
        }
        guard piece.count <= range.count,
          piece.count >= min(range.count, SyncTuning.segmentPieceBytesMin)
        else {
          throw ProtocolError(
            .damaged, "The file \(file.name) of the zone's snapshot ends too early",
            suggestion: "Ask the operator to fold the zone anew.")
        }
        try bookkeep { try SegmentPieces.add(piece, at: have, of: file.name, on: $0.connection) }
        have += piece.count
        tell(.progress(.receiving(progress(snapshot, done + have, of: total, report))))
      }
      done = done.addingClamped(file.bytes)
    }
    return true
  }

  /// How far a download is, told as a part of the log's entries.
  private func progress(
    _ snapshot: Snapshot, _ done: Int, of total: Int, _ report: SyncReport
  ) -> SyncState.Progress {
    let entries = Int(clamping: snapshot.place.sequence)
    let share = total > 0 ? Double(done) / Double(total) : 1
    return SyncState.Progress(
      done: Int(exactly: (Double(entries) * min(1, share)).rounded(.down)) ?? entries,
      total: entries,
      bytes: report.pull.bytes.addingClamped(done))
  }

  /// Takes in what the files say: rows, history, numbers and cursor in one transaction.
  private func install(_ snapshot: Snapshot) throws -> PullReport {
    var report = try settling(after: HybridTime(rawValue: snapshot.newestTime)) { applier, state in
      let connection = applier.transaction.connection
      guard state.generation == snapshot.generation, applier.pending.isEmpty,
        try hasNothing(applier.transaction)
      else { throw UnfitSnapshot(reason: "something was saved meanwhile") }
      let reader = try SnapshotReader(snapshot) { file in
        try SegmentPieces.bytes(of: file.name, on: connection)
      }
      try applier.install(reader, at: snapshot.place)
      try LogPlaces.note(snapshot.place, nextNumber: snapshot.nextObject, on: connection)
      try SegmentPieces.dropAll(on: connection)
      state.move(to: snapshot.place)
      state.head = max(state.head, snapshot.place.sequence)
      return applier.report
    }
    report.changeSets = Int(clamping: snapshot.place.sequence)
    report.bytes = snapshot.bytes
    return report
  }
}
