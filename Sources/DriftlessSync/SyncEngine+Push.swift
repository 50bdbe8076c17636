import Driftless
import DriftlessProtocol
import Foundation

extension SyncEngine {
  /// Pushes everything that is pending. When the zone has something newer of the same properties,
  /// pulls it first.
  ///
  /// After a return everything that was saved before the call is acknowledged by the zone, or is in
  /// quarantine (`quarantine(of:)`) because the server refuses it for good.
  ///
  /// - Parameter allowsMassDelete: deletes of a large part of the replica are meant
  ///   (`SyncOptions.massDelete`).
  /// - Throws: `SyncError` (`massDelete` when so many deletes must be allowed first),
  ///   `ProtocolError` or `StoreError`. What was not acknowledged stays pending.
  public func push(allowingMassDelete allowsMassDelete: Bool = false) async throws -> PushReport {
    let report = try await pushOnce(allowsMassDelete, inTurn: false).report.push
    tell(.didSucceed)
    return report
  }

  /// Pulls, pushes, and goes on until neither has anything to do.
  ///
  /// Everything that was saved before the call is with the zone after it. Of several calls that wait
  /// for an operation to end, one does the work and all give its report.
  ///
  /// - Parameter allowsMassDelete: deletes of a large part of the replica are meant, on either side.
  /// - Throws: `SyncError` (`massDelete` when so many deletes must be allowed first, `notEnrolled`, `diverged`), `ProtocolError`,
  ///   `StoreError`, what the transport throws, `CancellationError`. What was not acknowledged stays pending.
  public func sync(allowingMassDelete allowsMassDelete: Bool = false) async throws -> SyncReport {
    let report = try await syncOnce(allowsMassDelete, inTurn: false).report
    tell(.didSucceed)
    return report
  }

  /// One turn of a `sync`: of a loop, which hears of its end by itself, or of several of which others come between.
  ///
  /// - Parameter inTurn: whether it ends with large values after some time.
  func syncOnce(_ allowsMassDelete: Bool, inTurn: Bool) async throws -> SyncTurn {
    let asked = queue.ticket()
    return try await operation {
      // A turn may have left values unsent.
      if let last = self.lastSync, last.began > asked, last.allowsMassDelete == allowsMassDelete,
        inTurn || !last.turn.hasMore
      {
        return last.turn
      }
      let began = self.queue.ticket()
      var report = SyncReport()
      self.valueTurn.begin(after: inTurn ? self.valueTurnSeconds : nil)
      defer { self.valueTurn.stop() }
      try await self.reconciling(&report) { report in
        do {
          try await self.pullAndPush(allowsMassDelete, &report)
        } catch let error as StoreError where error.code == .diskFull {
          guard try await self.letGoForRoom() else { throw error }
          self.valueTurn.begin(after: inTurn ? self.valueTurnSeconds : nil)
          self.valueTurn.noteLetGo()
          try await self.pullAndPush(allowsMassDelete, &report)
        }
        try await self.mendValues()
      }
      let turn = try self.endTurn(report, inTurn: inTurn) {
        try self.tellSetAside()
        try self.tellWaitingDeletes(allowsMassDelete)
      }
      self.lastSync = (began, allowsMassDelete, turn)
      return turn
    }
  }

  /// - Throws: `StoreError` (`diskFull`) where there is no room for all that comes, or goes.
  private func pullAndPush(_ allowsMassDelete: Bool, _ report: inout SyncReport) async throws {
    let full = try await pullWhatFits(allowsMassDelete, &report)
    valueTurn.beginSending()
    try await runPush(allowsMassDelete, &report, pulledUntil: full)
  }

  /// Pulls as far as there is room, and settles what of it was taken in with what is pending: what does not fit the disk holds
  /// up nothing that was edited here.
  ///
  /// A push says then what is settled up to the cursor. What it meets beyond that the server calls stale.
  ///
  /// - Returns: why the rest did not fit; nil where the pull reached the head.
  private func pullWhatFits(
    _ allowsMassDelete: Bool, _ report: inout SyncReport
  ) async throws -> StoreError? {
    do {
      try await runPull(waitSeconds: 0, allowsMassDelete, &report)
      return nil
    } catch let error as StoreError where error.code == .diskFull {
      report.pull.add(try settle(allowsMassDelete: allowsMassDelete))
      return error
    }
  }

  /// - Parameter full: why a pull before this did not reach the head; it is thrown once all is sent.
  func runPush(
    _ allowsMassDelete: Bool, _ report: inout SyncReport, pulledUntil full: StoreError? = nil
  ) async throws {
    var full = full
    try lock()
    if valueBounds?.areOld == true { valueBounds = nil }
    unsentValues = LargeValueSet()
    clockRefusals = 0
    defer {
      revivedEdits = RevivedEdits()
      fullPushObjects = nil
      waitingForRoom = []
    }
    try noteMeaning(reads: false)
    try carryEnds()
    // What was parked is older than what is pending: it must not come after it.
    try replayParked()
    try releaseChanged()
    try endDecided()
    // A pull that was cut before the head goes on first: a push says what is settled.
    if try full == nil && !isSettled() { full = try await pullWhatFits(allowsMassDelete, &report) }
    try offerSealedAnew()
    try await offerLostCells()
    if !allowsMassDelete { try noteWaitingDeletes(store.read { try waitingDeletes($0) }) }
    do {
      try await pushPending(allowsMassDelete, &report, pulledUntil: &full)
      // It waited for what was under way.
      if try offerSealedAnew() {
        try await pushPending(allowsMassDelete, &report, pulledUntil: &full)
      }
      // What is parked of a log that is gone waited for what was pending of its objects.
      if try isFormerDue() {
        try replayParked()
        try await pushPending(allowsMassDelete, &report, pulledUntil: &full)
      }
      // Others show what was sent as their models hold it.
      try parkRefused()
      // What was stale for good is tried again after all else, which it never holds up.
      let again = full == nil ? try conflictingToTry() : []
      if !again.isEmpty {
        try await pushPending(
          allowsMassDelete, &report, pulledUntil: &full, tryingAgain: again)
        try releaseChanged()
      }
    } catch let error as NoRoomForValues {
      try await pushWithoutValues(allowsMassDelete, &report, pulledUntil: &full)
      try parkRefused()
      throw error.error
    } catch is ValuesLeft {
      valueTurn.noteUnsent()
      try await pushBesideValues(allowsMassDelete, &report, pulledUntil: &full)
      try parkRefused()
    }
    if let full { throw full }
  }

  /// Sends what has no large values: those wait until the server has room for them.
  private func pushWithoutValues(
    _ allowsMassDelete: Bool, _ report: inout SyncReport, pulledUntil full: inout StoreError?
  ) async throws {
    holdsLargeValues = true
    defer { holdsLargeValues = false }
    try discardOutbox()
    try await pushPending(allowsMassDelete, &report, pulledUntil: &full)
  }

  /// - Parameters:
  ///   - full: why a pull did not reach the head, if one did not: what meets the zone beyond that waits, and the rest goes.
  ///   - again: objects in quarantine that were stale for good, and are sent all the same.
  func pushPending(
    _ allowsMassDelete: Bool, _ report: inout SyncReport, pulledUntil full: inout StoreError?,
    tryingAgain again: Set<ObjectKey> = []
  ) async throws {
    let before = report.push.objects
    // The object in flight, when it is the only one.
    var single: ObjectKey?
    // What is in flight, when it is one save.
    var save: Set<ObjectKey> = []
    // What was kept of the log before something went while there was no room.
    var keptBytes: Int?
    var untried = again
    var sent: Outbox?
    var pusher = Pusher(
      objectsMax: options.pushObjectsMax, staleRetriesMax: options.staleRetriesMax,
      triedAgain: again.count)
    var mayAskForBounds = true
    // What is stale at a place is found alone where no pull mends it.
    var isStaleAtPlace = false
    var action = pusher.handle(.begin(hasOutbox: try hasOutbox()))
    while true {
      pusher.isCut = full != nil
      switch action {
      case .build(let portion):
        var built = try await buildWithValues(
          portion, allowsMassDelete, tryingAgain: untried, isCut: full != nil)
        if case .unbuildable(_, let error) = built, error.code == .tooLarge, valueBounds != nil,
          mayAskForBounds
        {
          // The server may take larger ones by now.
          mayAskForBounds = false
          valueBounds = nil
          built = try await buildWithValues(
            portion, allowsMassDelete, tryingAgain: untried, isCut: full != nil)
        }
        switch built {
        case .nothing: action = pusher.handle(.built(isEmpty: true, objects: 0))
        case .outbox(let objects):
          single = objects.single
          save = objects.save
          action = pusher.handle(.built(isEmpty: false, objects: objects.count))
        case .unbuildable(let objects, let error):
          single = objects.single
          action = pusher.handle(.unbuildable(error, objects: objects.count))
        }
      case .sendOutbox:
        let outbox = try store.read { try Outbox.load(from: $0.connection) }
        guard let outbox else { throw SyncError.damaged("the change set in flight") }
        sent = outbox
        tell(.progress(.sending(progress(report.push, since: before, outbox))))
        let answer = await send(outbox, &report)
        if case .stale(_, let place, _) = answer {
          report.push.staleAnswers += 1
          isStaleAtPlace = place != nil
        }
        action = pusher.handle(.answered(answer))
      case .acknowledge(let reply):
        guard let sent else { throw SyncError.damaged("the change set in flight") }
        if full != nil, keptBytes == nil {
          keptBytes = try store.read { try KeptFrames.bytes(on: $0.connection) }
        }
        try acknowledge(reply, for: sent)
        if full != nil, let keptBytes { try makeRoomOfKept(keptBytes) }
        action = pusher.handle(.acknowledged)
      case .discardOutbox:
        try discardOutbox()
        action = pusher.handle(.discarded)
      case .pull:
        full = try await pullWhatFits(allowsMassDelete, &report)
        if let full, !isStaleAtPlace { throw full }
        if full == nil { waitingForRoom = [] }
        pusher.isCut = full != nil
        action = pusher.handle(.pulled)
      case .renewReplica:
        try renewReplica()
        action = pusher.handle(.renewed)
      case .quarantine(let reason):
        guard let single else { throw reason }
        let isAgain = untried.remove(single) != nil
        try quarantine(single, reason, isAgain: isAgain)
        if !isAgain { report.push.quarantined += 1 }
        action = pusher.handle(.quarantined)
      case .leaveOut(let numbers):
        let isFound = try leaveOut(numbers, orSave: save)
        // A save that waits already comes no second time.
        if let full, !isFound, !save.isEmpty { throw full }
        action = pusher.handle(.leftOut(isFound: isFound))
      case .finish:
        return
      case .fail(let error):
        throw error
      }
    }
  }

  /// Builds the next change set; the server is asked what it takes of large values when there is one.
  private func buildWithValues(
    _ portion: Pusher.Portion, _ allowsMassDelete: Bool, tryingAgain again: Set<ObjectKey>,
    isCut: Bool
  ) async throws -> BuiltOutbox {
    do {
      return try buildOutbox(portion, allowsMassDelete, tryingAgain: again, isCut: isCut)
    } catch is UnknownValueBounds {
      try await learnValueBounds()
      return try buildOutbox(portion, allowsMassDelete, tryingAgain: again, isCut: isCut)
    }
  }

  /// How much of what is pending has gone, before `outbox` goes.
  private func progress(
    _ report: PushReport, since before: Int, _ outbox: Outbox
  ) -> SyncState.Progress {
    let sent = report.objects - before
    return SyncState.Progress(
      done: sent, total: sent + max(outbox.objects, pendingCache?.set.objects.count ?? 0),
      bytes: report.bytes)
  }

  /// Sends the bytes in the outbox and sorts the answer.
  private func send(_ outbox: Outbox, _ report: inout SyncReport) async -> Pusher.Answer {
    do {
      let reply = try await sendParts(of: outbox)
      report.push.add(outbox)
      clockRefusals = 0
      return .accepted(reply)
    } catch let error as ProtocolError where error.code == .unsupported && takesNoParts {
      // It is built anew, as one change set.
      return .stale([], at: nil, reason: error.message)
    } catch let error as ProtocolError where error.code == .tooLarge && mayGoInSmallerParts(outbox)
    {
      // It is built anew, as the parts of one push: a save that is halved would be seen by halves.
      return .stale([], at: nil, reason: error.message)
    } catch let error as SyncError where error.code == .damagedState {
      // What it names is damaged here: it is built anew at once, since a pull waits for none of its values.
      return .stale([], at: nil, reason: error.message)
    } catch let missing as ValuesAreNowhere {
      return answer(missing)
    } catch let error as ProtocolError where error.code == .clockAhead {
      // Moved back to the zone's clock, it is built anew. What stays ahead cannot be moved, and waits until it is not.
      believesZoneClock = true
      clockRefusals += 1
      guard clockRefusals < SyncTuning.clockRefusalsMax else { return .failed(error) }
      return .stale([], at: nil, reason: error.message)
    } catch let error as ProtocolError {
      // Another server may take other values, and this one others than it did.
      if error.code == .unsupported || error.code == .tooLarge { valueBounds = nil }
      return Self.answer(error, outbox)
    } catch {
      return .failed(error)
    }
  }

  /// What is told by the names of values that are nowhere goes without them: it is built anew.
  private func answer(_ missing: ValuesAreNowhere) -> Pusher.Answer {
    do {
      return try withdrawNames(of: missing.values)
        ? .stale([], at: nil, reason: missing.reason.message) : .refused(missing.reason)
    } catch {
      return .failed(error)
    }
  }

  /// Whether the bytes in the outbox are what they were when they were built.
  static func isWhole(_ outbox: Outbox) -> Bool {
    (try? ChangeSetDecoder().decodeIndex(outbox.frame)) != nil
  }

  /// Whether the server refuses what a change set holds, for good.
  static func isRefusal(_ error: ProtocolError) -> Bool {
    error.code == .tooLarge || error.code == .malformed
  }

  /// - Parameter isOwn: no change set could be made of it, so no server was asked.
  static func refusal(_ error: ProtocolError, isOwn: Bool = false) -> SyncError {
    if isOwn {
      return SyncError(
        error.code == .tooLarge ? .tooLarge : .refused,
        "No change set can hold it: \(error.message)",
        suggestion: "Make it smaller: it is sent again when it changes.")
    }
    if error.code == .tooLarge {
      return SyncError(
        .tooLarge, "It is larger than the server takes: \(error.message)",
        suggestion: "Make it smaller: it is sent again when it changes. Or raise the limit, then "
          + "run: syncctl quarantine retry")
    }
    return SyncError(
      .refused, "The server refuses it: \(error.message)",
      suggestion: "\(error.suggestion) It is sent again when it changes, or by: "
        + "syncctl quarantine retry")
  }

  private static func answer(_ error: ProtocolError, _ outbox: Outbox) -> Pusher.Answer {
    switch error.code {
    case .stale:
      .stale(
        error.objects, at: ChangeSetHeader.storedPlace(of: outbox.frame), reason: error.message)
    case .forked: .forked
    case _ where isRefusal(error): .refused(refusal(error))
    // A pull goes on by the snapshot, and what is pending is built on that.
    case .purged: .stale([], at: nil, reason: error.message)
    // Another version of this program, or of the server, may agree about other bytes; another log
    // takes bytes that were built on it.
    case .unsupported, .diverged, .generationChanged: .rejected(error)
    // Damaged on the way, the bytes go again; damaged here, they would be refused for ever.
    case .notStaged: .failed(error)
    case .damaged:
      isWhole(outbox) ? .failed(SyncError.damagedOnTheWay(error.message)) : .rejected(error)
    default: .failed(error)
    }
  }
}
