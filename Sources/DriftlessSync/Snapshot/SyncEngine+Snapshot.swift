import Driftless
import DriftlessProtocol
import Foundation
import Logging

/// A snapshot that this replica cannot take in: it reads the log instead, which has all of it.
struct UnfitSnapshot: Error {
  let reason: String
}

extension SyncEngine {
  /// A replica that has nothing of the zone's log takes what the log comes to, where the zone has added it up. The log goes on
  /// from there.
  func joinBySnapshot(_ report: inout SyncReport) async throws {
    guard try replicaState().cursor == 0, try store.read({ try mayTakeSnapshot($0) }) else {
      return
    }
    _ = try await takeSnapshot(&report) { _ in true }
  }

  /// A replica that has much of the log to read yet takes what the log comes to, where that is less.
  ///
  /// - Parameters:
  ///   - bytesPerEntry: what entries that came just now take.
  ///   - head: the last entry of the zone.
  /// - Returns: whether the cursor stands elsewhere now.
  func catchUpBySnapshot(
    bytesPerEntry: Double, head: UInt64, _ report: inout SyncReport
  ) async throws -> Bool {
    guard try store.read({ try mayTakeSnapshot($0) }) else { return false }
    let state = try replicaState()
    return try await takeSnapshot(&report) { snapshot in
      let place = snapshot.place.sequence
      guard place > state.cursor, place <= head, place >= state.mark?.sequence ?? 0 else {
        return false
      }
      let log = bytesPerEntry * Double(place - state.cursor)
      return Double(snapshot.bytes) < log * self.options.snapshotShare
    }
  }

  private func takeSnapshot(
    _ report: inout SyncReport, where isWanted: (Snapshot) -> Bool
  ) async throws -> Bool {
    let generation = try replicaState().generation
    for _ in 0..<SyncTuning.snapshotAttemptsMax {
      do {
        guard let listed = try await transport.snapshot(of: generation),
          listed.place.sequence > 0
        else { break }
        try check(listed)
        guard listed.place != unfitSnapshot, isWanted(listed) else { break }
        // Who has something pending looks for it among the names of what the zone knows.
        let snapshot = try store.read({ try hasNothing($0) }) ? listed.objects : listed
        guard try await fetch(snapshot, report) else { continue }
        try await fetchValues(of: snapshot)
        do {
          try await checkPlace(of: snapshot)
          report.pull.add(try install(snapshot))
          return true
        } catch let unfit as UnfitSnapshot {
          unfitSnapshot = snapshot.place
          throw unfit
        }
      } catch let unfit as UnfitSnapshot {
        log.notice("The log is read, not the zone's snapshot: \(unfit.reason)")
        break
      } catch let error as ProtocolError where Self.isOfSnapshot(error) {
        log.warning("The zone's snapshot cannot be taken in: \(error.message)")
        // It may have been damaged on its way.
        try bookkeep { try SegmentPieces.dropAll(on: $0.connection) }
      } catch let error where Self.isOfWay(error) {
        // The log may come all the same: a page of it says what is wrong, if anything is.
        log.warning("The log is read, not the zone's snapshot: \(error)")
        break
      }
    }
    guard try store.read({ try SegmentPieces.exist(on: $0.connection) }) else { return false }
    try bookkeep { try SegmentPieces.dropAll(on: $0.connection) }
    return false
  }

  /// Whether the snapshot's place is one of the zone's log, for a replica that has something of the log: the snapshot may be of
  /// what a server had before it was put back.
  private func checkPlace(of snapshot: Snapshot) async throws {
    let state = try replicaState()
    guard state.cursor > 0 else { return }
    do {
      _ = try await transport.pull(
        PullRequest(
          cursor: Cursor(
            generation: snapshot.generation, sequence: snapshot.place.sequence,
            chain: snapshot.place.chain), mark: state.mark, maxBytes: 1, waitSeconds: 0,
          replica: state.replica, ownThrough: state.mark?.sequence ?? 0))
    } catch let error as ProtocolError where error.code == .diverged {
      throw UnfitSnapshot(reason: "it is of another log")
    }
  }

  /// Whether an error lies in what the snapshot says, and not in the way to it.
  private static func isOfSnapshot(_ error: ProtocolError) -> Bool {
    [.damaged, .malformed, .unsupported, .tooLarge].contains(error.code)
  }

  /// Whether an error is of this way to join, and need not be of the other: a server or a proxy that does not know it, or
  /// has none any more, a disk that has room for the log alone.
  private static func isOfWay(_ error: any Error) -> Bool {
    switch error {
    case let error as StoreError: isOfEntry(error) || error.code == .diskFull
    case let error as ProtocolError:
      ["storage", "not-found", "no-snapshot"].contains(error.code.rawValue)
    case let error as any TransportFailure:
      ["not-driftless", "damaged-body", "body-too-large"].contains(error.name)
    default: false
    }
  }

  /// Whether a snapshot can be taken in beside what the replica has: what is set aside, or waits for a person, and what is
  /// offered anew go by entries of the log.
  private func mayTakeSnapshot(_ transaction: ReadTransaction) throws -> Bool {
    let connection = transaction.connection
    let state = try Self.state(on: connection, of: store)
    guard try !Outbox.exists(on: connection), try Parking.entries(on: connection).isEmpty,
      try !RememberedDeletes(connection).haveCome, try FormerLog.time(transaction) == nil
    else { return false }
    let pending = try pendingSet(transaction, state: state)
    return !pending.hasOffers && !pending.objects.containsState { $0.isOffered }
  }

  /// Whether the replica has nothing of the zone's log, and nothing that the zone may have to be told.
  private func hasNothing(_ transaction: ReadTransaction) throws -> Bool {
    let connection = transaction.connection
    let state = try Self.state(on: connection, of: store)
    guard state.cursor == 0, state.mark == nil, try mayTakeSnapshot(transaction),
      try !DanglingReferences.exist(on: connection), try ZoneStates(connection).keys.isEmpty,
      try RememberedDeletes(connection).rows.isEmpty
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
        tell(.progress(.receiving(try progress(snapshot, done + have, of: total, report))))
      }
      done = done.addingClamped(file.bytes)
    }
    return true
  }

  /// How far a download is, told as a part of the log's entries.
  private func progress(
    _ snapshot: Snapshot, _ done: Int, of total: Int, _ report: SyncReport
  ) throws -> SyncState.Progress {
    let cursor = try replicaState().cursor
    let entries = Int(clamping: snapshot.place.sequence - min(cursor, snapshot.place.sequence))
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
      let isNothing = try applier.pending.isEmpty && hasNothing(applier.transaction)
      // Without the names, nothing that is pending can be looked for.
      guard state.generation == snapshot.generation, state.cursor < snapshot.place.sequence,
        state.mark?.sequence ?? 0 <= snapshot.place.sequence,
        try mayTakeSnapshot(applier.transaction),
        applier.pending.isEmpty || snapshot.objects != snapshot
      else { throw UnfitSnapshot(reason: "something was saved meanwhile") }
      let reader = try SnapshotReader(snapshot) { file in
        try SegmentPieces.bytes(of: file.name, on: connection)
      }
      let known = try KnownLog(state, isNothing: isNothing, on: connection)
      try applier.install(reader, at: snapshot.place, over: known)
      // What the replica has of the log's entries ends at a gap: a server that loses them is offered what they came to.
      try KeptFrames.dropAll(on: connection)
      try LogPlaces.note(snapshot.place, nextNumber: snapshot.nextObject, on: connection)
      try SegmentPieces.dropAll(on: connection)
      try ValuePieces.trim(on: connection)
      try noteUnsettled(applier)
      try ImportTimes.purge(connection)
      applier.report.changeSets = Int(clamping: snapshot.place.sequence - state.cursor)
      state.move(to: snapshot.place)
      state.head = max(state.head, snapshot.place.sequence)
      return applier.report
    }
    report.bytes = snapshot.bytes
    return report
  }
}
