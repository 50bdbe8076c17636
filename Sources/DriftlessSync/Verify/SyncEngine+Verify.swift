import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Logging

extension SyncEngine {
  /// Compares the store with its zone, without changing anything but for what a pull brings.
  ///
  /// Both sides make digests of what they have at one place of the zone's log; where two differ, their parts are compared,
  /// down to the values. So what crosses the wire follows the difference, and not the size.
  ///
  /// - Parameter progress: told how far it is.
  /// - Throws: `SyncError` (`notVerified` where the server has nothing to compare with, or the zone moves on too fast),
  ///   `ProtocolError` or `StoreError`.
  public func verify(
    progress: (@Sendable (VerifyProgress) -> Void)? = nil
  ) async throws -> VerifyReport {
    try await compared(repairs: false, allowsMassDelete: false, progress)
  }

  /// Compares the store with its zone, and gives the store what the zone has where the two differ.
  ///
  /// What waits to be pushed stays as it is. What the store had in place of the zone's values goes to the journal.
  ///
  /// - Parameters:
  ///   - allowsMassDelete: deletes of a large part of the replica are meant (`SyncOptions.massDelete`).
  ///   - progress: told how far it is.
  /// - Throws: as ``verify(progress:)``. What was repaired by then stays so.
  public func repair(
    allowingMassDelete allowsMassDelete: Bool = false,
    progress: (@Sendable (VerifyProgress) -> Void)? = nil
  ) async throws -> VerifyReport {
    try await compared(repairs: true, allowsMassDelete: allowsMassDelete, progress)
  }

  private func compared(
    repairs: Bool, allowsMassDelete: Bool, _ progress: (@Sendable (VerifyProgress) -> Void)?
  ) async throws -> VerifyReport {
    let report = try await operation {
      var report = VerifyReport()
      for round in 0..<(repairs ? SyncTuning.repairRoundsMax : 1) {
        let found = try await self.compare(
          repairs: repairs, allowsMassDelete: allowsMassDelete, takesOut: round == 0, progress)
        report.add(round: found, isFirst: round == 0)
        // What refers to an object that was missing is seen once that is there.
        guard found.repairedCount > 0 else { break }
      }
      return report
    }
    tell(.didSucceed)
    return report
  }

  /// Compares without a pull, and leaves no trace in the store: for who knows that nothing else is at it.
  package func compareAsItIs() async throws -> VerifyReport {
    let place = try replicaState().position
    return try await ZoneVerification(
      engine: self, digests: try await digests(at: place, nil), at: place, repairs: false,
      allowsMassDelete: false, progress: nil
    ).run()
  }

  /// Comes to one place with the zone, and compares there.
  private func compare(
    repairs: Bool, allowsMassDelete: Bool, takesOut: Bool,
    _ progress: (@Sendable (VerifyProgress) -> Void)?
  ) async throws -> VerifyReport {
    for _ in 0..<SyncTuning.verifyAttemptsMax {
      progress?(.pulling)
      var pulled = SyncReport()
      try await reconciling(&pulled) {
        try await self.runPull(waitSeconds: 0, allowsMassDelete, &$0)
      }
      let state = try replicaState()
      let digests = try await digests(at: state.position, progress)
      // What it acknowledged above its cursor is pulled first, and what the server has added up beyond it.
      guard digests.place == state.position.mark,
        state.mark?.sequence ?? 0 <= state.cursor
      else { continue }
      do {
        return try await ZoneVerification(
          engine: self, digests: digests, at: state.position, repairs: repairs,
          allowsMassDelete: allowsMassDelete, takesOut: takesOut, progress: progress
        ).run()
      } catch let error as ProtocolError where error.code == .noSnapshot {
        // The server has the digests of another place by now.
        continue
      } catch is ZoneVerification.Moved {
        continue
      }
    }
    throw SyncError(
      .notVerified, "The zone moved on faster than it could be compared with.",
      suggestion: "Verify again when less is written to it.")
  }

  /// The zone's digests at a place, or a later one, once the server has them.
  func digests(
    at place: Cursor, _ progress: (@Sendable (VerifyProgress) -> Void)?,
    seconds: Int = SyncTuning.digestWaitSeconds
  ) async throws -> ZoneDigests {
    if place.sequence == 0 {
      return ZoneDigests(isReady: true, place: place.mark, nextObject: 1, columns: [])
    }
    let start = ContinuousClock.now
    var pause = SyncTuning.digestPauseMilliseconds
    while ContinuousClock.now - start < .seconds(seconds) {
      do {
        let digests = try await transport.digests(at: place)
        if digests.isReady {
          try check(digests)
          return digests
        }
      } catch let error as ProtocolError where error.code == .unsupported {
        throw SyncError(.notVerified, "\(error.message).", suggestion: error.suggestion)
      }
      progress?(.awaitingServer)
      try await Task.sleep(for: .milliseconds(pause))
      pause = min(2 * pause, SyncTuning.digestPauseMillisecondsMax)
    }
    throw SyncError(
      .notVerified, "The server has not added up its log within \(seconds) seconds.",
      suggestion: "Ask its operator to look at the server's log.")
  }

  /// Nothing of what a server says is believed before it fits what this replica knows of the log.
  private func check(_ digests: ZoneDigests) throws {
    let next = try store.read { transaction in
      try LogPlaces.nextNumber(after: digests.place.sequence, on: transaction.connection)
    }
    let names = Set(digests.columns.lazy.map(\.column))
    guard names.count == digests.columns.count,
      digests.columns.count <= DigestBuilder.digestsMax,
      next.map({ $0 == digests.nextObject }) ?? true
    else {
      throw ProtocolError.malformed(
        "The zone's digests are of objects up to \(digests.nextObject), and its log has others")
    }
  }
}

extension VerifyReport {
  /// Adds what another round found: what is still different counts once.
  fileprivate mutating func add(round: VerifyReport, isFirst: Bool) {
    var round = round
    round.bytes += bytes
    round.requests += requests
    guard !isFirst else {
      self = round
      return
    }
    let repaired = differences.filter(\.isRepaired)
    round.differenceCount += repairedCount
    round.repairedCount += repairedCount
    round.differences = Array((repaired + round.differences).prefix(Self.differencesMax))
    self = round
  }
}
