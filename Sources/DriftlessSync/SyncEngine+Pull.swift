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
    let report = try await pullOnce(waitSeconds: waitSeconds, allowsMassDelete, inTurn: false)
      .report.pull
    tell(.didSucceed)
    return report
  }

  /// One turn of a `pull`: the whole of it, or one of several of which others come between.
  ///
  /// - Parameter inTurn: whether it ends with large values after some time.
  func pullOnce(
    waitSeconds: Int, _ allowsMassDelete: Bool, inTurn: Bool
  ) async throws -> SyncTurn {
    try await operation {
      self.valueTurn.begin(after: inTurn ? self.valueTurnSeconds : nil)
      defer { self.valueTurn.stop() }
      var report = SyncReport()
      try await self.reconciling(&report) {
        try await self.runPull(waitSeconds: waitSeconds, allowsMassDelete, &$0)
        try await self.mendValues()
      }
      return try self.endTurn(report, inTurn: inTurn) { try self.tellSetAside() }
    }
  }

  func runPull(
    waitSeconds: Int, _ allowsMassDelete: Bool, _ report: inout SyncReport
  ) async throws {
    try lock()
    valueLine.begin()
    let odd = try oddDefaults()
    try noteMeaning(reads: true)
    try await pullToHead(waitSeconds: waitSeconds, allowsMassDelete, &report)
    let isTaken = try await takeAnew(odd: odd) {
      try await self.pullToHead(waitSeconds: 0, allowsMassDelete, &report)
    }
    guard isTaken else { return }
    // What is pending meets what the zone has of it.
    report.pull.add(
      try finishPull(head: replicaState().head, allowsMassDelete: allowsMassDelete))
  }

  private func pullToHead(
    waitSeconds: Int, _ allowsMassDelete: Bool, _ report: inout SyncReport
  ) async throws {
    try lock()
    try carryEnds()
    try await followLeftLog(&report)
    // A change set without an answer may be in the log already: what it holds is settled first.
    if try hasOutbox() { try await settleOutbox(&report) }
    try await fetchDamaged()
    try await fetchMissingValues()
    try replayParked()
    try await joinBySnapshot(&report)
    let first = try replicaState().cursor
    var hasAskedForSnapshot = first == 0
    var puller = Puller()
    var page: PullPage?
    var lostValues: String?
    var action = puller.handle(.begin(cursor: try pulledThrough()))
    while true {
      switch action {
      case .request(let cursor):
        let asked: PullPage?
        do {
          asked = try await ask(after: cursor, waitSeconds: page == nil ? waitSeconds : 0)
        } catch let error as ProtocolError where error.code == .purged {
          try await goOnBySnapshot(error, allowsMassDelete, &report)
          asked = nil
        }
        guard let own = asked else {
          // The cursor may stand behind the page, or elsewhere.
          puller = Puller()
          action = puller.handle(.begin(cursor: try pulledThrough()))
          continue
        }
        page = own
        lostValues = own.lostValues
        // Where more of the log is to come, what was fetched of a snapshot may be less.
        if own.entries.last.map({ $0.sequence >= own.head }) ?? true { try dropPieces() }
        action = puller.handle(
          .page(places: own.entries.map(\.mark), generation: own.generation, head: own.head))
      case .apply(let cursor, let head):
        report.pull.add(
          try await applyWithValues(
            page?.entries ?? [], cursor: cursor, head: head, allowsMassDelete: allowsMassDelete))
        tell(
          .progress(
            .receiving(
              SyncState.Progress(
                done: Int(clamping: cursor.sequence - first), total: Int(clamping: head - first),
                bytes: report.pull.bytes))))
        action = puller.handle(.applied)
        if !hasAskedForSnapshot, cursor.sequence < head, let page,
          try cursor == replicaState().position
        {
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
        try await learnLacking(lostValues)
        return
      case .fail(let error):
        throw error
      }
    }
  }

  /// The log after a cursor, with what is this replica's own as headers; nil where an answer for a change set in flight was in it.
  private func ask(after cursor: Cursor, waitSeconds: Int) async throws -> PullPage? {
    let state = try replicaState()
    let answer = try await transport.pull(
      PullRequest(
        cursor: cursor, mark: state.mark, maxBytes: options.pullBytesMax,
        waitSeconds: waitSeconds, replica: state.replica, ownThrough: state.mark?.sequence ?? 0))
    try learnClock()
    try check(answer, after: cursor.mark)
    if try takeAnswers(in: answer, after: cursor) { return nil }
    return try await own(answer, after: cursor)
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
  ///
  /// - Returns: whether it did.
  private func takeAnswers(in page: PullPage, after cursor: Cursor) throws -> Bool {
    guard let outbox = try store.read({ try Outbox.load(from: $0.connection) }),
      // One that is damaged here has no digest, nor has an entry that is damaged there.
      let digest = ChangeSetHeader.storedDigest(of: outbox.frame)
    else { return false }
    for entry in page.entries where ChangeSetHeader.storedDigest(of: entry.frame) == digest {
      let before = try chain(beforePartsOf: outbox, entry, in: page, after: cursor)
      try acknowledge(
        PushReply(
          sequence: entry.sequence, firstObjectNumber: entry.firstObjectNumber, chain: entry.chain,
          chainBefore: before, generation: page.generation, pushNumber: outbox.pushNumber,
          digest: digest, serverTimeMilliseconds: page.serverTimeMilliseconds), for: outbox)
      return true
    }
    return false
  }

  /// The chain before the first part of a push whose last one came.
  private func chain(
    beforePartsOf outbox: Outbox, _ last: PullPage.Entry, in page: PullPage, after cursor: Cursor
  ) throws -> LogChain? {
    guard outbox.earlierParts > 0, last.sequence > UInt64(outbox.earlierParts) else { return nil }
    let sequence = last.sequence - UInt64(outbox.earlierParts) - 1
    if let entry = page.entries.first(where: { $0.sequence == sequence }) { return entry.chain }
    if cursor.sequence == sequence { return cursor.chain }
    let position = try replicaState().position
    if position.sequence == sequence { return position.chain }
    return try store.read { try StagedEntries.entry(at: sequence, on: $0.connection)?.chain }
  }

  /// The page with what is this replica's own as headers. What another copy of this store sent under its ID is not: then this
  /// one takes another ID, and reads all that follows its cursor, since what that copy sent may lie below its own.
  private func own(_ answer: PullPage, after cursor: Cursor) async throws -> PullPage {
    let (page, isOfCopy) = try withOwnAsHeaders(answer)
    guard isOfCopy else { return page }
    try becomeAnother(than: replicaState().replica, after: cursor)
    let state = try replicaState()
    let whole = try await transport.pull(
      PullRequest(
        cursor: cursor, mark: state.mark, maxBytes: options.pullBytesMax, waitSeconds: 0,
        replica: state.replica, ownThrough: 0))
    try check(whole, after: cursor.mark)
    guard !whole.entries.contains(where: \.isOwnHeaderOnly) else {
      throw SyncError.brokenLog("The server sends but the header of what others pushed.")
    }
    return whole
  }

  /// What this replica has acknowledged above its cursor is its own, under whatever ID it was sent.
  ///
  /// - Returns: also whether another copy of this store sent something under this replica's ID.
  private func withOwnAsHeaders(_ page: PullPage) throws -> (PullPage, isOfCopy: Bool) {
    var page = page
    var isOfCopy = false
    try store.read { transaction in
      let state = try Self.state(on: transaction.connection, of: store)
      for place in page.entries.indices {
        let entry = page.entries[place]
        if try LogPlaces.has(entry.mark, on: transaction.connection) {
          page.entries[place].isOwnHeaderOnly = true
          continue
        }
        let header = try? ChangeSetDecoder().decodeHeader(entry.frame)
        let isNotYetUsed =
          header.map { $0.replica == state.replica && $0.pushNumber > state.pushNumber } ?? false
        if entry.isOwnHeaderOnly || isNotYetUsed { isOfCopy = true }
      }
    }
    return (page, isOfCopy)
  }

  /// Sends the change set in flight again and takes the answer; a *stale* one empties the outbox.
  ///
  /// - Returns: what it has to wait for.
  @discardableResult
  func settleOutbox(_ report: inout SyncReport) async throws -> ProtocolError? {
    guard let outbox = try store.read({ try Outbox.load(from: $0.connection) }) else { return nil }
    do {
      // Values wait for the push: what others wrote is shown before hours of those.
      let reply = try await sendAll(of: outbox)
      try acknowledge(reply, for: outbox)
      report.push.add(outbox)
    } catch let error as ProtocolError
      where error.code == .stale || Self.isRefusal(error) || error.code == .unsupported
      || error.code == .diverged || error.code == .clockAhead || error.code == .purged
    {
      // The next push builds it anew, and finds what is refused in it.
      if error.code == .clockAhead { believesZoneClock = true }
      try discardOutbox()
    } catch let error as ProtocolError where error.code == .forked {
      try discardOutbox()
      try renewReplica()
    } catch let error as ProtocolError where error.code == .damaged && !Self.isWhole(outbox) {
      // Damaged here, it would be refused for ever.
      try discardOutbox()
    } catch let error as ProtocolError where error.code != .generationChanged {
      // A pull waits for no push: where the log has the change set, it brings the answer.
      log.debug("The change set in flight has to wait: \(error.message)")
      return error
    }
    return nil
  }
}

extension PullPage {
  /// What an entry of it takes, evenly. Bytes.
  fileprivate var bytesPerEntry: Double {
    Double(entries.reduce(0) { $0 + $1.frame.count }) / Double(max(1, entries.count))
  }
}
