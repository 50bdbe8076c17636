import Driftless
import DriftlessProtocol
import Foundation
import Logging

/// A snapshot that this replica cannot take in: it reads the log instead, which has all of it.
struct UnfitSnapshot: Error {
  let reason: String
}

/// Where a snapshot stood that could not be taken in, with the last transaction of the store by then.
struct UnfitPlace {
  let place: LogMark
  let newest: Int64
  let reason: String
  /// Whether the log could be read in place of it: then more stands in the way.
  let hadLog: Bool
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
    let outcome = try await takeSnapshot(&report) { snapshot in
      let place = snapshot.place.sequence
      guard place > state.cursor, place <= head, place >= state.mark?.sequence ?? 0 else {
        return false
      }
      let log = bytesPerEntry * Double(place - state.cursor)
      return Double(snapshot.bytes) < log * self.options.snapshotShare
    }
    return outcome.isTaken
  }

  /// How a try at the zone's snapshot ended.
  enum SnapshotOutcome {
    case taken
    /// There is none, or none that is wanted.
    case none
    /// It says what cannot be taken in here.
    case unfit(String)
    /// It could not be fetched, or be read.
    case failed(any Error)

    var isTaken: Bool {
      if case .taken = self { return true }
      return false
    }
  }

  /// - Parameter hasLog: whether the log can be read where the snapshot cannot be taken.
  func takeSnapshot(
    _ report: inout SyncReport, hasLog: Bool = true, allowsMassDelete: Bool = false,
    where isWanted: (Snapshot) -> Bool
  ) async throws -> SnapshotOutcome {
    var outcome = SnapshotOutcome.none
    let instead = Self.instead(hasLog: hasLog)
    let generation = try replicaState().generation
    for _ in 0..<SyncTuning.snapshotAttemptsMax {
      do {
        let wanted = try await listed(of: generation, hasLog: hasLog).filter(isWanted)
        // What stood in its way may be gone, where there is nothing else.
        let newest = try store.read { try $0.maximumTransactionNumber() }
        var isOutdated = false
        var asked: Snapshot?
        for listed in wanted {
          if let known = unfitSnapshots.first(where: {
            $0.place == listed.place
              && (hasLog || !$0.hadLog && $0.newest == newest && !allowsMassDelete)
          }) {
            outcome = .unfit(known.reason)
            continue
          }
          // Who has something pending looks for it among the names of what the zone knows.
          let snapshot = try store.read({ try hasNothing($0) }) ? listed.objects : listed
          do {
            guard try await fetch(snapshot, report, beside: wanted) else {
              isOutdated = true
              break
            }
            try await fetchValues(of: snapshot)
            try await checkPlace(of: snapshot)
            report.pull.add(
              try install(snapshot, hasLog: hasLog, allowsMassDelete: allowsMassDelete))
            return .taken
          } catch let unfit as UnfitSnapshot {
            outcome = note(unfit, snapshot, newest, hasLog: hasLog)
          } catch is OldCountQuestion {
            // An older snapshot may tell of them.
            asked = asked ?? snapshot
          } catch let error as ProtocolError where asked != nil && Self.isOfSnapshot(error) {
            log.warnOfLasting("The zone's older snapshot tells nothing: \(error.message)")
          }
        }
        if isOutdated { continue }
        guard let asked else { break }
        do {
          report.pull.add(
            try install(
              asked, hasLog: hasLog, allowsMassDelete: allowsMassDelete, mayDecideOldCounts: true))
          return .taken
        } catch let unfit as UnfitSnapshot {
          return note(unfit, asked, newest, hasLog: hasLog)
        } catch let question as OldCountQuestion {
          try bookkeep { try Self.ask(question, $0) }
          throw question.error
        }
      } catch let error as ProtocolError where Self.isOfSnapshot(error) {
        log.warnOfLasting("The zone's snapshot cannot be taken in: \(error.message)")
        // It may have been damaged on its way.
        try bookkeep { try SegmentPieces.dropAll(on: $0.connection) }
        outcome = .failed(error)
      } catch let error where Self.isOfWay(error) {
        // The log may come all the same: a page of it says what is wrong, if anything is.
        log.warnOfLasting("\(instead): \(error)")
        outcome = .failed(error)
        break
      }
    }
    // Where the log does not come, it is tried again at each sync, and what was fetched of it is there.
    if case .unfit = outcome { return outcome }
    // So it is where there is no room: what is here need not be fetched again.
    if !hasLog, case .failed(let error as StoreError) = outcome, error.code == .diskFull {
      return outcome
    }
    try dropPieces()
    return outcome
  }

  private func note(
    _ unfit: UnfitSnapshot, _ snapshot: Snapshot, _ newest: Int64, hasLog: Bool
  ) -> SnapshotOutcome {
    unfitSnapshots.removeAll { $0.place == snapshot.place || $0.newest != newest }
    unfitSnapshots.append(
      UnfitPlace(place: snapshot.place, newest: newest, reason: unfit.reason, hadLog: hasLog))
    log.notice("\(Self.instead(hasLog: hasLog)): \(unfit.reason)")
    return .unfit(unfit.reason)
  }

  private static func instead(hasLog: Bool) -> String {
    hasLog
      ? "The log is read, not the zone's snapshot" : "The zone's snapshot is not taken"
  }

  /// The zone's snapshots, the newest first. The one that stands for what was purged is at the floor or above it: where the newest cannot be
  /// taken in, since something came that only the log tells, it and the log do.
  private func listed(of generation: UUID, hasLog: Bool) async throws -> [Snapshot] {
    var listed = [try await transport.snapshot(of: generation)]
    if !hasLog { listed.append(try await transport.keptSnapshot(of: generation)) }
    var places: Set<LogMark> = []
    return try listed.compactMap(\.self).filter { snapshot in
      guard snapshot.place.sequence > 0, places.insert(snapshot.place).inserted else {
        return false
      }
      try check(snapshot)
      return true
    }
  }

  /// A snapshot that was not taken is wanted no more where the log goes on.
  func dropPieces() throws {
    guard try store.read({ try SegmentPieces.exist(on: $0.connection) }) else { return }
    try bookkeep { try SegmentPieces.dropAll(on: $0.connection) }
  }

  /// Whether the snapshot's place is one of the zone's log, for a replica that has something of the log: the snapshot may be of
  /// what a server had before it was put back.
  private func checkPlace(of snapshot: Snapshot) async throws {
    let state = try replicaState()
    guard state.cursor > 0 else { return }
    // A pull after that place would tell the server that this replica has it.
    for place in [snapshot.place, state.mark].compactMap(\.self) {
      guard
        try await transport.commonPlace(of: [place], generation: snapshot.generation) == place
      else { throw UnfitSnapshot(reason: "it is of another log") }
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
  ///
  /// - Parameter hasLog: whether the log can be read in its place. Where it cannot, the snapshot has what entries say that are
  ///   set aside for names that the model does not have.
  func mayTakeSnapshot(_ transaction: ReadTransaction, hasLog: Bool = true) throws -> Bool {
    let state = try Self.state(on: transaction.connection, of: store)
    return try Self.mayTakeSnapshot(transaction, hasLog: hasLog) {
      try pendingSet(transaction, state: state)
    }
  }

  static func mayTakeSnapshot(
    _ transaction: ReadTransaction, hasLog: Bool, pending: () throws -> PendingSet
  ) throws -> Bool {
    let connection = transaction.connection
    guard try !Outbox.exists(on: connection),
      try Parking.entries(on: connection).allSatisfy({ !hasLog && $0.code == .unknownNames }),
      try !RememberedDeletes(connection).haveCome, try FormerLog.time(transaction) == nil
    else { return false }
    let pending = try pending()
    return !pending.hasOffers && !pending.objects.containsState { $0.isOffered }
  }

  /// Whether the replica has nothing of the zone's log, and nothing that the zone may have to be told.
  private func hasNothing(_ transaction: ReadTransaction) throws -> Bool {
    let connection = transaction.connection
    let state = try Self.state(on: connection, of: store)
    guard state.cursor == 0, state.mark == nil, try mayTakeSnapshot(transaction),
      try !DanglingReferences.exist(on: connection), try ZoneStates(connection).keys.isEmpty,
      try RememberedDeletes(connection).isEmpty
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
  private func fetch(
    _ snapshot: Snapshot, _ report: SyncReport, beside others: [Snapshot]
  ) async throws -> Bool {
    let files = snapshot.files
    let names = Set((files + others.flatMap(\.files)).map(\.name))
    try bookkeep { try SegmentPieces.drop(but: names, on: $0.connection) }
    let total = files.reduce(0) { $0.addingClamped($1.bytes) }
    let there = try store.read { transaction in
      try files.reduce(0) {
        try $0.addingClamped(SegmentPieces.size(of: $1.name, on: transaction.connection))
      }
    }
    if let room = room(), let full = snapshotFilled, room.free <= full {
      throw StoreError(
        .diskFull,
        "The zone's snapshot did not fit the file system of \(store.label) while \(full) bytes were free, and \(room.free) are free "
          + "now.",
        suggestion:
          "Make room there: sync goes on by itself then, with what was fetched. Saves go on.")
    }
    try requireRoom(
      for: total.multipliedClamped(by: SyncTuning.appliedShare + 1) - min(there, total),
      "The zone's snapshot")
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
  private func install(
    _ snapshot: Snapshot, hasLog: Bool, allowsMassDelete: Bool, mayDecideOldCounts: Bool = false
  ) throws -> PullReport {
    let free = room()?.free
    var report: PullReport
    do {
      report = try installed(snapshot, hasLog, allowsMassDelete, mayDecideOldCounts)
    } catch let error as StoreError where error.code == .diskFull {
      snapshotFilled = free
      throw error
    }
    snapshotFilled = nil
    report.bytes = snapshot.bytes
    return report
  }

  private func installed(
    _ snapshot: Snapshot, _ hasLog: Bool, _ allowsMassDelete: Bool, _ mayDecideOldCounts: Bool
  ) throws -> PullReport {
    try settling(after: HybridTime(rawValue: snapshot.newestTime)) { applier, state in
      applier.hasLog = hasLog
      applier.allowsMassDelete = allowsMassDelete
      applier.mayDecideOldCounts = mayDecideOldCounts
      let connection = applier.transaction.connection
      let isNothing = try applier.pending.isEmpty && hasNothing(applier.transaction)
      // Without the names, nothing that is pending can be looked for.
      guard state.generation == snapshot.generation, state.cursor < snapshot.place.sequence,
        state.mark?.sequence ?? 0 <= snapshot.place.sequence,
        try mayTakeSnapshot(applier.transaction, hasLog: hasLog),
        applier.pending.isEmpty || snapshot.objects != snapshot
      else {
        guard hasLog else {
          throw SyncError(
            .superseded, "Something was saved while the zone's snapshot was fetched.",
            suggestion: "Sync again.")
        }
        throw UnfitSnapshot(reason: "something was saved meanwhile")
      }
      let reader = try SnapshotReader(snapshot) { file in
        try SegmentPieces.bytes(of: file.name, on: connection)
      }
      let known = try KnownLog(state, isNothing: isNothing, applier.transaction)
      let unknown = try applier.install(reader, at: snapshot.place, over: known)
      try NamesLeftOut.keep(unknown, of: snapshot, at: store.now, applier.transaction)
      // A person's word was used, or there was no question.
      try Self.endOldCounts(applier.transaction)
      // What the replica has of the log's entries ends at a gap: a server that loses them is offered what they came to.
      try KeptFrames.dropAll(on: connection)
      try LogPlaces.note(snapshot.place, nextNumber: snapshot.nextObject, on: connection)
      try SegmentPieces.dropAll(on: connection)
      try trimPieces(applier.transaction)
      try noteUnsettled(applier)
      try ImportTimes.purge(connection)
      applier.report.changeSets = Int(clamping: snapshot.place.sequence - state.cursor)
      state.move(to: snapshot.place)
      state.head = max(state.head, snapshot.place.sequence)
      return applier.report
    }
  }
}
