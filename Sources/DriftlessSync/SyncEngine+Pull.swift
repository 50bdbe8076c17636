import Driftless
import DriftlessProtocol
import Foundation
import Logging

extension SyncEngine {
  /// Pulls what other replicas pushed and merges it, page by page, until the zone has nothing
  /// newer.
  ///
  /// - Parameters:
  ///   - waitSeconds: how long the server may wait for news before it answers that there are none.
  ///   - allowsMassDelete: deletes of a large part of the replica are meant
  ///     (`SyncOptions.massDelete`).
  /// - Throws: `SyncError` (`massDelete` when so many deletes must be allowed first),
  ///   `ProtocolError` or `StoreError`. Pages that were applied stay applied.
  public func pull(
    waitSeconds: Int = 0, allowingMassDelete allowsMassDelete: Bool = false
  ) async throws -> PullReport {
    let report = try await operation {
      var report = SyncReport()
      try await self.reconciling(&report) {
        try await self.runPull(waitSeconds: waitSeconds, allowsMassDelete, &$0)
      }
      try self.tellSetAside()
      return report.pull
    }
    tell(.didSucceed)
    return report
  }

  func runPull(
    waitSeconds: Int, _ allowsMassDelete: Bool, _ report: inout SyncReport
  ) async throws {
    try lock()
    // A change set without an answer may be in the log already: what it holds is settled first.
    if try hasOutbox() { try await settleOutbox(&report) }
    try await fetchDamaged()
    try replayParked()
    try await joinBySnapshot(&report)
    let first = try replicaState().cursor
    var hasAskedForSnapshot = first == 0
    var puller = Puller()
    var page: PullPage?
    var action = puller.handle(.begin(cursor: try replicaState().position))
    while true {
      switch action {
      case .request(let cursor):
        let state = try replicaState()
        let answer = try await transport.pull(
          PullRequest(
            cursor: cursor, mark: state.mark, maxBytes: options.pullBytesMax,
            waitSeconds: page == nil ? waitSeconds : 0, replica: state.replica,
            ownThrough: state.mark?.sequence ?? 0))
        try learnClock()
        try check(answer, after: cursor.mark)
        try takeAnswers(in: answer)
        page = try withOwnAsHeaders(answer)
        action = puller.handle(
          .page(
            places: answer.entries.map(\.mark), generation: answer.generation,
            head: answer.head))
      case .apply(let cursor, let head):
        report.pull.add(
          try apply(
            page?.entries ?? [], cursor: cursor, head: head, allowsMassDelete: allowsMassDelete))
        tell(
          .progress(
            .receiving(
              SyncState.Progress(
                done: Int(clamping: cursor.sequence - first), total: Int(clamping: head - first),
                bytes: report.pull.bytes))))
        action = puller.handle(.applied)
        if !hasAskedForSnapshot, cursor.sequence < head, let page {
          hasAskedForSnapshot = true
          if try await catchUpBySnapshot(
            bytesPerEntry: page.bytesPerEntry, head: head, &report)
          {
            let position = try replicaState().position
            puller = Puller()
            action = puller.handle(.begin(cursor: position))
          }
        }
      case .finish(let head):
        report.pull.add(try finishPull(head: head, allowsMassDelete: allowsMassDelete))
        return
      case .fail(let error):
        throw error
      }
    }
  }

  /// Whether a page goes on with the log that this replica knows.
  private func check(_ page: PullPage, after place: LogMark) throws {
    var last = place
    for entry in page.entries {
      guard entry.follows(last) else {
        throw ProtocolError(
          .diverged, "Entry \(entry.sequence) does not follow the log that this replica knows",
          suggestion: "The server was put back to an older copy.", head: page.head)
      }
      last = entry.mark
    }
  }

  /// A change set in flight that stands in the log has its answer there.
  private func takeAnswers(in page: PullPage) throws {
    guard let outbox = try store.read({ try Outbox.load(from: $0.connection) }) else { return }
    // One that is damaged here has no digest, nor has an entry that is damaged there.
    guard let digest = ChangeSetHeader.storedDigest(of: outbox.frame) else { return }
    for entry in page.entries where ChangeSetHeader.storedDigest(of: entry.frame) == digest {
      return try acknowledge(
        PushReply(
          sequence: entry.sequence, firstObjectNumber: entry.firstObjectNumber, chain: entry.chain,
          generation: page.generation, pushNumber: outbox.pushNumber, digest: digest,
          serverTimeMilliseconds: page.serverTimeMilliseconds), for: outbox)
    }
  }

  /// What this replica has acknowledged above its cursor is its own, under whatever ID it was sent.
  private func withOwnAsHeaders(_ page: PullPage) throws -> PullPage {
    var page = page
    try store.read { transaction in
      for place in page.entries.indices where !page.entries[place].isOwnHeaderOnly {
        if try LogPlaces.has(page.entries[place].mark, on: transaction.connection) {
          page.entries[place].isOwnHeaderOnly = true
        }
      }
    }
    return page
  }

  /// Sends the change set in flight again and takes the answer; a *stale* one empties the outbox.
  private func settleOutbox(_ report: inout SyncReport) async throws {
    guard let outbox = try store.read({ try Outbox.load(from: $0.connection) }) else { return }
    do {
      let reply = try await transport.push(outbox.frame)
      guard outbox.isAnswered(by: reply) else { throw SyncError.otherAnswer }
      try acknowledge(reply, for: outbox)
      report.push.add(outbox)
    } catch let error as ProtocolError
      where error.code == .stale || Self.isRefusal(error) || error.code == .unsupported
      || error.code == .diverged || error.code == .clockAhead
    {
      // The next push builds it anew, and finds what is refused in it.
      if error.code == .clockAhead { believesZoneClock = true }
      try discardOutbox()
    } catch let error as ProtocolError where error.code == .forked {
      try discardOutbox()
      try renewReplica()
    } catch let error as ProtocolError where error.code != .generationChanged {
      // A pull waits for no push: where the log has the change set, it brings the answer.
      log.debug("The change set in flight has to wait: \(error.message)")
    }
  }
}

extension PullPage {
  /// What an entry of it takes, evenly. Bytes.
  fileprivate var bytesPerEntry: Double {
    Double(entries.reduce(0) { $0 + $1.frame.count }) / Double(max(1, entries.count))
  }
}
