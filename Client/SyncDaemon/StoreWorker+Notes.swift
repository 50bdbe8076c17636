import Driftless
import DriftlessProtocol
import DriftlessSync
import Foundation
import Glibc
import Logging
import ProgramStart

/// What a worker notes of its engine: how the store does, for who asks and for the log.
extension StoreWorker {
  func note(_ state: SyncState) {
    syncState = state
    nextAttempt = nil
    switch state {
    case .syncing: syncStart = syncStart ?? .now
    case .receiving, .sending: leaveMark()
    case .inStep(let report):
      refusals = 0
      var summary = SyncSummary(report)
      if report.pull.changeSets > 0, let connection {
        // What was done is told also where it cannot be read what was not.
        try? noteSetAside(in: &summary, by: connection)
      }
      noteSuccess(summary, since: syncStart ?? .now)
    case .offline(let pause): note(pause, .offline)
    case .waitingForPerson(let pause): note(pause, .waiting)
    case .refused(let pause): note(pause, .refused)
    }
  }

  private func note(_ pause: SyncState.Pause, _ kind: SyncStatus.Failure.Kind) {
    nextAttempt = pause.nextAttempt
    failedAttempts = pause.attempts
    syncStart = nil
    let failure = pause.failure
    // Another process that syncs the store answers for it; all else failed beyond the lock.
    if failure.code != Failure.syncLockedCode { leaveMark() }
    note(
      SyncStatus.Failure(
        kind: kind, code: failure.code, message: failure.message, suggestion: failure.suggestion,
        since: pause.since))
  }

  /// Says which store lies at the path, where it is another one than before: two that were swapped by mistake would go on in
  /// silence else.
  func noteStore(_ store: PersistentStore) {
    let present = KnownStore(store)
    defer { known = present }
    guard let known, known.identifier != present.identifier else { return }
    log.warning(
      """
      Another store lies at this path than before: \(present), in place of \(known). It is kept in step as what it is. \
      Where that was not meant, put the files of each store back at its own path: both go on there.
      """)
  }

  /// Makes anew what somebody removed beside the store: the lock's file and the mark, by which others see that it is kept.
  func keepSigns() async {
    let mark = DaemonMark.url(forStore: entry.path).path
    let isWhole =
      isMarked && access(mark, F_OK) == 0
      && access(entry.path.path + "-driftless-sync", F_OK) == 0
    // A first pull may take an hour before it says how far it is.
    guard !isWhole, let connection, await connection.engine.keepSyncLock() else { return }
    if isMarked, access(mark, F_OK) != 0 {
      log.warning("\(mark) was removed, and is there again")
    }
    leaveMark()
  }

  /// Whoever opens the store may find that it is a copy, and cannot take note while this daemon has it.
  func settleCopy() {
    guard !isSettlingCopy, let engine = connection?.engine else { return }
    isSettlingCopy = true
    Task {
      // What fails here fails in the next sync, which tells it.
      try? await engine.settleCopy()
      isSettlingCopy = false
    }
  }

  /// Says once what the store lost, as it was found when it was opened.
  func noteLost(_ lost: LostCommits?) {
    defer { toldLost = lost }
    guard let lost, lost != toldLost else { return }
    let saves = "\(lost.count) acknowledged save\(lost.count == 1 ? " is" : "s are")"
    log.warning(
      "\(saves) lost: look at it with syncctl doctor --store \(entry.path.path.shellWord)")
  }

  /// Says beside the store that this daemon keeps it, once it holds the store's sync lock.
  func leaveMark() {
    guard !isStopped else { return }
    guard DaemonMark.read(forStore: entry.path) != mark else {
      isMarked = true
      return
    }
    do {
      try mark.write(forStore: entry.path)
      isMarked = true
      markFailure = nil
    } catch {
      let failure = Failure(error)
      if markFailure != failure { log.warning("syncctl will not find this daemon: \(failure)") }
      markFailure = failure
    }
  }

  /// A sync that did something is a line in the log, with what it did and how long it took.
  func noteSuccess(_ summary: SyncSummary, since start: ContinuousClock.Instant) {
    leaveMark()
    if lastError != nil { log.notice("in step again", metadata: takeRepeats()) }
    lastSync = Date()
    lastError = nil
    failure = nil
    failedAttempts = 0
    hastenedAttempts = 0
    syncStart = nil
    let seconds = String(format: "%.1f", (ContinuousClock.now - start) / .seconds(1))
    log.log(level: summary.isEmpty ? .debug : .info, "\(summary.text), in \(seconds) s")
  }

  /// What failed before the engine's loop, or by a person's word: without a store, a token or a file, nothing moves until
  /// somebody has seen to it.
  func note(_ error: Failure) {
    // Who enrolls it, or puts right what is in the way, wakes the daemon that waits for that.
    if error.code != Failure.syncLockedCode, error.code != "cancelled", !isGone,
      !DaemonClient.isKept(store: entry.path)
    {
      leaveMark()
    }
    note(
      SyncStatus.Failure(
        kind: error.isTransient ? .offline : .waiting, code: error.code, message: error.message,
        suggestion: error.suggestion, since: Date()))
  }

  private func note(_ fresh: SyncStatus.Failure) {
    guard fresh.code != "cancelled" else { return }
    // One line a cause: an hour offline does not fill the log.
    if fresh.isOfCause(lastError) {
      repeatedFailures += 1
    } else {
      let way = AdvisedCommand.naming(store: entry.path.path, in: fresh.suggestion)
      log.warning("\(FailureText.line(fresh.message, try: way))", metadata: takeRepeats())
    }
    lastError = fresh.message
    let since = failure.flatMap { $0.kind == fresh.kind ? $0.since : nil }
    failure = fresh
    if let since { failure?.since = min(since, fresh.since) }
  }
}

extension StoreWorker {
  /// What the next line says of the cause that was told last: how often it came again.
  private func takeRepeats() -> Logger.Metadata {
    defer { repeatedFailures = 0 }
    return repeatedFailures > 0 ? ["repeated": "\(repeatedFailures)"] : [:]
  }
}

extension SyncStatus.Failure {
  /// Whether a message tells the same cause. What a disk without room has free, and what is to go there, is another number with
  /// each attempt; so is how long it took until it failed.
  ///
  /// - Parameter message: of the failure before; nil where there is none.
  func isOfCause(_ message: String?) -> Bool {
    guard let message, code == "disk-full" else {
      return message.map(FailureText.withoutMeasures) == FailureText.withoutMeasures(self.message)
    }
    func words(_ text: String) -> String { text.filter { !$0.isNumber } }
    return words(message) == words(self.message)
  }
}

/// A store as people tell it from others.
struct KnownStore: CustomStringConvertible {
  let identifier: String
  let description: String

  init(_ store: PersistentStore) {
    identifier = store.identifier
    let home = try? SyncEngine.home(of: store)
    let name = (try? SyncEngine.name(of: store))?.map { "\($0.text), " } ?? ""
    let zone = home.map { " of zone \($0.zone)" } ?? ", which is not enrolled"
    description = "\(name)store \(store.identifier.lowercased())\(zone)"
  }
}
