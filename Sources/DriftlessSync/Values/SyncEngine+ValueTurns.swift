import Driftless
import DriftlessProtocol
import Foundation

/// The turn of a sync is over, and the zone does not have all large values of the change set in flight.
struct ValuesLeft: Error {}

/// One turn of a sync, a push or a pull.
struct SyncTurn: Sendable {
  let report: SyncReport
  /// Whether the next one goes on with large values.
  let hasMore: Bool
  /// What waits for a person's word, where there is more: no value waits for that. Where there is none, it is thrown.
  let waiting: SyncError?
}

/// Syncs of which others come between while large values take their time.
extension SyncEngine {
  /// As ``sync(allowingMassDelete:)``, for who shares the engine with a loop: large values come and go in the turns of the loop's own
  /// syncs, and what is saved meanwhile goes between.
  package func syncInTurns(allowingMassDelete allowsMassDelete: Bool) async throws -> SyncReport {
    try await inTurns { try await self.syncOnce(allowsMassDelete, inTurn: true) }
  }

  /// As ``push(allowingMassDelete:)``, likewise: it ends when all is sent that was saved before, with its large values.
  package func pushInTurns(allowingMassDelete allowsMassDelete: Bool) async throws -> PushReport {
    try await inTurns { try await self.pushOnce(allowsMassDelete, inTurn: true) }.push
  }

  /// As ``pull(waitSeconds:allowingMassDelete:)``, likewise.
  package func pullInTurns(allowingMassDelete allowsMassDelete: Bool) async throws -> PullReport {
    try await inTurns { try await self.pullOnce(waitSeconds: 0, allowsMassDelete, inTurn: true) }
      .pull
  }

  private func inTurns(_ turn: () async throws -> SyncTurn) async throws -> SyncReport {
    var all = SyncReport()
    while true {
      let turn = try await turn()
      all.add(turn.report)
      guard turn.hasMore else { break }
    }
    tell(.didSucceed)
    return all
  }

  /// One turn of a `push`: the whole of it, or one of several of which others come between.
  ///
  /// - Parameter inTurn: whether it ends with large values after some time.
  func pushOnce(_ allowsMassDelete: Bool, inTurn: Bool) async throws -> SyncTurn {
    try await operation {
      self.valueTurn.begin(after: inTurn ? self.valueTurnSeconds : nil)
      defer { self.valueTurn.stop() }
      self.valueTurn.beginSending()
      var report = SyncReport()
      try await self.reconciling(&report) { try await self.runPush(allowsMassDelete, &$0) }
      return try self.endTurn(report, inTurn: inTurn) {
        try self.tellWaitingDeletes(allowsMassDelete)
      }
    }
  }

  /// - Parameters:
  ///   - inTurn: whether another turn follows where there is more, and throws in the end what waits.
  ///   - tell: throws what waits for a person's word.
  func endTurn(
    _ report: SyncReport, inTurn: Bool, _ tell: () throws -> Void
  ) throws -> SyncTurn {
    let hasMore = valueTurn.hasMore
    do {
      try tell()
    } catch let error as SyncError where inTurn && hasMore && error.code == .massDelete {
      return SyncTurn(report: report, hasMore: true, waiting: error)
    }
    return SyncTurn(report: report, hasMore: hasMore, waiting: nil)
  }

  /// Sends what is pending beside the large values that are under way, with the saves that these are of: nobody is shown a part of a
  /// save. Then what was stale for good, where it is time to try that again. Where nothing else waits, the change set in flight stays
  /// as it is.
  ///
  /// A value that is sealed anew is another one, of which nothing has gone: a change set with such values is not built anew.
  func pushBesideValues(
    _ allowsMassDelete: Bool, _ report: inout SyncReport, pulledUntil full: inout StoreError?
  ) async throws {
    holdsSavesOfLargeValues = true
    defer { holdsSavesOfLargeValues = false }
    guard !schema.entities.contains(where: \.hasSealed) else { return }
    let again = full == nil ? try conflictingToTry() : []
    guard try !again.isEmpty || othersWait(allowsMassDelete) else { return }
    unsentValues = try store.read { transaction in
      var values = LargeValueSet()
      let connection = transaction.connection
      let outbox = try Outbox.load(from: connection)
      values.formUnion(try ValuePieces.named(byOutbox: outbox, on: connection))
      return values
    }
    try discardOutbox()
    try await pushPending(allowsMassDelete, &report, pulledUntil: &full)
    guard !again.isEmpty else { return }
    try await pushPending(allowsMassDelete, &report, pulledUntil: &full, tryingAgain: again)
    try releaseChanged()
  }

  /// Whether something is pending that can go before what has large values.
  ///
  /// What a build leaves out does not count: it would discard what is in flight, and make nothing in its place.
  private func othersWait(_ allowsMassDelete: Bool) throws -> Bool {
    try store.read { transaction in
      let state = try Self.state(on: transaction.connection, of: store)
      let pending = try pendingSet(transaction, state: state)
      let left = try leftOut(of: pending, allowsMassDelete, transaction)
      return try !PushSelection(
        pending, held: left.objects, waiting: left.properties,
        portion: Pusher.Portion(objectsMax: .max), transaction, schema: schema
      ).isEmpty
    }
  }
}
