import Driftless
import DriftlessHTTP
import DriftlessProtocol
import DriftlessSync
import Foundation
import Logging

/// Keeps one store in step with its engine's `run`: opens it, makes the way to its zone, answers
/// requests, and tells how the store does.
///
/// It works on a queue of its own: opening a store waits for disks and for other processes, and so many stores would keep
/// the daemon's other tasks waiting.
actor StoreWorker {
  let entry: DaemonConfiguration.Store
  private let mark: DaemonMark
  private let log: Logger
  private let executor: QueueExecutor
  private let delays: SyncSchedule.Delays
  private var connection: Connection?
  private var isStopped = false
  /// Whether the mark beside the store was this daemon's when it was looked at last.
  private var isMarked = false
  private var running: Task<Void, Never>?
  private var watching: Task<Void, Never>?
  /// Between two attempts to open the store or to read its token.
  private var isPausing = false
  /// Whether there was no file when it was looked for last.
  private var isGone = false
  private var wasEverThere = false
  private var syncState: SyncState?
  private var lastSync: Date?
  private var lastError: String?
  private var failure: SyncStatus.Failure?
  private var nextAttempt: Date?
  private var failedAttempts = 0
  /// How often in a row the server, or what is trusted, had no use for what lies beside the store.
  private var refusals = 0

  /// What it takes to sync: made at the first attempt, and again after a reload.
  private struct Connection {
    var store: PersistentStore
    var engine: SyncEngine
    var curl: CurlTransport
    var way: StoreAccess.Way
  }

  init(
    entry: DaemonConfiguration.Store, mark: DaemonMark, delays: SyncSchedule.Delays, log: Logger
  ) {
    self.entry = entry
    self.mark = mark
    self.delays = delays
    executor = QueueExecutor(label: "syncd \(entry.path.path)")
    var log = log
    log[metadataKey: "store"] = "\(entry.path.path)"
    self.log = log
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func start() {
    running?.cancel()
    guard !isStopped else { return }
    running = Task { await self.keep() }
    if watching == nil { watching = Task { [weak self] in await self?.watchFile() } }
  }

  /// Reads the token anew and syncs: after a reload.
  func restart() async {
    await rest()
    start()
  }

  /// Ends within moments: a request under way is cancelled, and what it sent has one effect when it
  /// is sent again.
  func stop() async {
    isStopped = true
    watching?.cancel()
    await rest()
    mark.remove(forStore: entry.path)
    nextAttempt = nil
  }

  var state: DaemonStoreState {
    let activity: DaemonStoreState.Activity =
      if isStopped { .stopped } else {
        switch syncState {
        case .syncing, .receiving, .sending: .syncing
        case .offline, .waitingForPerson, .refused: .waiting
        case .inStep: .listening
        case nil: nextAttempt == nil ? .syncing : .waiting
        }
      }
    return DaemonStoreState(
      store: entry.path.path, activity: activity, lastSync: lastSync, lastError: lastError,
      failure: failure, nextAttempt: activity == .waiting ? nextAttempt : nil,
      failedAttempts: failedAttempts)
  }

  /// Does at once what a person asks for; the engine's loop hears of it.
  func perform(
    _ verb: DaemonRequest.Verb, allowsMassDelete: Bool
  ) async throws -> SyncSummary? {
    guard !isStopped else {
      throw Failure(
        .tryAgain, code: "stopping", "The daemon is about to end.", suggestion: "try again")
    }
    do {
      if await !reopenIfReplaced(), isElsewhere { await restart() }
      guard verb != .wake else {
        Task { _ = try? await self.perform(.sync, allowsMassDelete: false) }
        return nil
      }
      var summary = try await perform(verb, allowsMassDelete, by: try connected())
      // What was done in a file that is the store no more is no answer.
      if await reopenIfReplaced() {
        guard verb != .giveUpUnsent else {
          throw Failure(
            .tryAgain, code: "changed-meanwhile",
            "Another file was put in the store's place meanwhile.",
            suggestion: "look at what waits to be sent there, and try again")
        }
        summary = try await perform(verb, allowsMassDelete, by: try connected())
      }
      if let summary {
        noteSuccess(summary.text)
        if isPausing { start() }
      }
      return summary
    } catch {
      note(Failure(error))
      throw error
    }
  }

  private func perform(
    _ verb: DaemonRequest.Verb, _ allowsMassDelete: Bool, by connection: Connection
  ) async throws -> SyncSummary? {
    let engine = connection.engine
    let before = try SyncEngine.parked(of: connection.store)
    var summary: SyncSummary
    switch verb {
    case .status, .stores, .wake, .verify, .repair: return nil
    case .sync: summary = SyncSummary(try await engine.sync(allowingMassDelete: allowsMassDelete))
    case .push: summary = SyncSummary(try await engine.push(allowingMassDelete: allowsMassDelete))
    case .pull: summary = SyncSummary(try await engine.pull(allowingMassDelete: allowsMassDelete))
    case .giveUpUnsent: summary = SyncSummary(try await engine.giveUpUnsent())
    }
    try summary.noteSetAside(SyncEngine.parked(of: connection.store), since: before)
    return summary
  }

  /// Compares the store with its zone for a person who asks for it, and maybe mends it.
  func verify(repairs: Bool, allowsMassDelete: Bool) async throws -> VerifyReport {
    guard !isStopped else {
      throw Failure(
        .tryAgain, code: "stopping", "The daemon is about to end.", suggestion: "try again")
    }
    if await !reopenIfReplaced(), isElsewhere { await restart() }
    let engine = try connected().engine
    guard repairs else { return try await engine.verify() }
    return try await engine.repair(allowingMassDelete: allowsMassDelete)
  }

  // MARK: The file

  /// Looks now and then whether another file was put in the store's place.
  private func watchFile() async {
    while !Task.isCancelled, !isStopped {
      await reopenIfReplaced()
      // A first pull may take an hour before it says how far it is.
      if !isMarked, let connection, await connection.engine.holdsSyncLock { leaveMark() }
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
    }
  }

  /// A backup was put in the store's place, say: what is open is a file that nobody else has.
  @discardableResult private func reopenIfReplaced() async -> Bool {
    let isThere = FileManager.default.fileExists(atPath: entry.path.path)
    defer { wasEverThere = wasEverThere || isThere }
    guard isThere != isGone else {
      isGone = !isThere
      let what =
        switch (isThere, wasEverThere) {
        case (true, true): "the store's file is there again"
        case (true, false): "the store's file is there now"
        case (false, true): "the store's file is gone"
        case (false, false): "there is no file at the store's path so far"
        }
      log.warning("\(what)")
      await restart()
      return true
    }
    guard let connection, connection.store.isReplaced else { return false }
    log.warning("another file was put in the store's place: it is opened anew")
    await restart()
    return true
  }

  /// Whether somebody has enrolled the store at another address, under another name of its zone, or with another token or
  /// authority, since it was connected.
  private var isElsewhere: Bool {
    guard let connection else { return false }
    // A command is asked once a connection: it may ask a person, or another host.
    let keys = entry.keyCommand == nil ? nil : connection.way.keys
    guard let way = try? way(of: connection.store, keys: keys) else { return false }
    return way != connection.way
  }

  private func way(
    of store: PersistentStore, keys: KeyRing? = nil
  ) throws -> StoreAccess.Way {
    try StoreAccess.Way(
      of: store, at: entry.path, tokenFile: entry.tokenFile, authorityFile: entry.authorityFile,
      keys: keys.map { .known($0) }
        ?? KeySource.of(store: entry.path, file: entry.keyFile, command: entry.keyCommand))
  }

  // MARK: The loop

  private func keep() async {
    while !Task.isCancelled {
      var mostSeconds = delays.retryMax
      do {
        let engine = try connected().engine
        for await state in engine.run(delays: delays) {
          guard !Task.isCancelled else { return }
          note(state)
          // The next attempt reads the token, or the authority, again.
          if Self.isAboutAccess(state) {
            refusals += 1
            failedAttempts = max(failedAttempts, refusals)
            break
          }
          if failure != nil, isElsewhere {
            log.notice("the store is enrolled in another way by now")
            break
          }
        }
        guard !Task.isCancelled else { return }
        await disconnect()
      } catch {
        let failure = Failure(error)
        failedAttempts += 1
        mostSeconds =
          failure.code == "\(StoreError.Code.diskFull)"
          ? min(delays.roomMax, delays.retryMax) : delays.retryMax
        note(failure)
      }
      guard !Task.isCancelled else { return }
      let seconds = delays.afterFailures(failedAttempts, most: mostSeconds) * .random(in: 0.5..<1)
      nextAttempt = Date(timeIntervalSinceNow: seconds)
      isPausing = true
      defer { isPausing = false }
      do { try await Task.sleep(for: .seconds(seconds)) } catch { return }
      nextAttempt = nil
    }
  }

  /// Whether it failed for what lies in files beside the store, which a person changes.
  private static func isAboutAccess(_ state: SyncState) -> Bool {
    switch state {
    case .waitingForPerson(let pause): pause.failure.isAboutTheToken || pause.failure.isAboutTLS
    default: false
    }
  }

  private func note(_ state: SyncState) {
    syncState = state
    nextAttempt = nil
    switch state {
    case .syncing: break
    case .receiving, .sending: leaveMark()
    case .inStep(let report):
      refusals = 0
      noteSuccess(SyncSummary(report).text)
    case .offline(let pause): note(pause, .offline)
    case .waitingForPerson(let pause): note(pause, .waiting)
    case .refused(let pause): note(pause, .refused)
    }
  }

  private func note(_ pause: SyncState.Pause, _ kind: SyncStatus.Failure.Kind) {
    nextAttempt = pause.nextAttempt
    failedAttempts = pause.attempts
    let failure = pause.failure
    // Another process that syncs the store answers for it; all else failed beyond the lock.
    if failure.code != "\(StoreError.Code.syncLocked)" { leaveMark() }
    note(
      SyncStatus.Failure(
        kind: kind, code: failure.code, message: failure.message, suggestion: failure.suggestion,
        since: pause.since))
  }

  /// Says beside the store that this daemon keeps it, once it holds the store's sync lock.
  private func leaveMark() {
    guard !isStopped else { return }
    guard DaemonMark.read(forStore: entry.path) != mark else {
      isMarked = true
      return
    }
    do {
      try mark.write(forStore: entry.path)
      isMarked = true
    } catch {
      log.warning("syncctl will not find this daemon: \(error)")
    }
  }

  private func noteSuccess(_ text: String) {
    leaveMark()
    if lastError != nil { log.notice("in step again") }
    lastSync = Date()
    lastError = nil
    failure = nil
    failedAttempts = 0
    log.debug("\(text)")
  }

  /// What failed before the engine's loop, or by a person's word: without a store, a token or a file, nothing moves until
  /// somebody has seen to it.
  private func note(_ error: Failure) {
    // Who enrolls it, or puts right what is in the way, wakes the daemon that waits for that.
    if error.code != "\(StoreError.Code.syncLocked)", error.code != "cancelled", !isGone,
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
    if lastError != fresh.message { log.warning("\(fresh.message) \(fresh.suggestion)") }
    lastError = fresh.message
    let since = failure.flatMap { $0.kind == fresh.kind ? $0.since : nil }
    failure = fresh
    if let since { failure?.since = min(since, fresh.since) }
  }

  // MARK: The connection

  private func connected() throws -> Connection {
    if let connection { return connection }
    let store = try StoreAccess.open(entry.path)
    let way: StoreAccess.Way
    do {
      way = try self.way(of: store)
    } catch let failure as Failure where failure.code != "not-enrolled" {
      // The reason is the one to throw, whether it can be kept or not.
      try? SyncEngine.noteUnbegun(
        store, code: failure.code, message: failure.message, suggestion: failure.suggestion)
      throw failure
    }
    let curl = try way.transport()
    let connection = Connection(
      store: store,
      engine: SyncEngine(store: store, transport: curl, options: way.options), curl: curl, way: way)
    self.connection = connection
    return connection
  }

  private func rest() async {
    let former = running
    running = nil
    former?.cancel()
    await disconnect()
    await former?.value
  }

  private func disconnect() async {
    guard let connection else { return }
    self.connection = nil
    isMarked = false
    syncState = nil
    // What is under way is cancelled, so that the engine's close need not wait for the network.
    connection.curl.close()
    await connection.engine.close()
  }
}
