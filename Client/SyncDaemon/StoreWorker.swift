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
  let mark: DaemonMark
  let log: Logger
  private let executor: QueueExecutor
  private var delays: SyncSchedule.Delays
  var connection: Connection?
  var isStopped = false
  var isSettlingCopy = false
  /// Whether the mark beside the store was this daemon's when it was looked at last.
  var isMarked = false
  /// Why that could not be put there last.
  var markFailure: Failure?
  private var running: Task<Void, Never>?
  private var watching: Task<Void, Never>?
  /// Between two attempts to open the store or to read its token.
  private var pause: StorePause?
  /// What lay beside the store before the last attempt to sync it, by the engine's loop or before that.
  private var looks: StoreLooks
  /// Attempts in a row that a save brought nearer, in vain.
  var hastenedAttempts = 0
  /// When the sync began that is under way.
  var syncStart: ContinuousClock.Instant?
  /// Entries of the log that are set aside, as far as was told.
  private var parked: Set<String> = []
  /// What the store lost, as far as was told.
  var toldLost: LostCommits?
  /// The store that lay at the path when it was opened last.
  var known: KnownStore?
  /// Whether there was no file when it was looked for last.
  var isGone = false
  private var wasEverThere = false
  var syncState: SyncState?
  var lastSync: Date?
  var lastError: String?
  var failure: SyncStatus.Failure?
  var nextAttempt: Date?
  var failedAttempts = 0
  /// How often the cause came again that was told last.
  var repeatedFailures = 0
  /// How often in a row the server, or what is trusted, had no use for what lies beside the store.
  var refusals = 0

  /// What it takes to sync: made at the first attempt, and again after a reload.
  struct Connection {
    var store: PersistentStore
    var engine: SyncEngine
    var curl: CurlTransport
    var way: StoreAccess.Way
    /// What lay beside the store before that was read.
    var looks: StoreLooks
  }

  /// Called when the links of the store's path lead to another file.
  private let onOtherTarget: @Sendable () async -> Void
  /// Where they led when that was told last.
  private var toldTarget: URL?

  init(
    entry: DaemonConfiguration.Store, mark: DaemonMark, delays: SyncSchedule.Delays, log: Logger,
    onOtherTarget: @escaping @Sendable () async -> Void = {}
  ) {
    self.entry = entry
    self.onOtherTarget = onOtherTarget
    self.mark = mark
    self.delays = delays
    looks = StoreLooks(of: entry)
    executor = QueueExecutor(label: "syncd \(entry.path.path)")
    var log = log
    log[metadataKey: "store"] = "\(entry.path.path)"
    self.log = log
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func start() {
    running?.cancel()
    pause = nil
    guard !isStopped else { return }
    running = Task { await self.keep() }
    if watching == nil { watching = Task { [weak self] in await self?.watchFile() } }
  }

  /// Reads the token anew and syncs: after a reload.
  ///
  /// - Parameter delays: nil for those of before.
  func restart(delays: SyncSchedule.Delays? = nil) async {
    if let delays { self.delays = delays }
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
        // A person changed something, maybe the keys that a command tells: it is asked once a connection.
        if entry.keyCommand != nil { await restart() }
        Task { _ = try? await self.perform(.sync, allowsMassDelete: false) }
        return nil
      }
      let start = ContinuousClock.now
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
        noteSuccess(summary, since: start)
        if pause != nil { self.start() }
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
    var summary: SyncSummary
    switch verb {
    case .status, .stores, .wake, .verify, .repair: return nil
    case .sync:
      // The engine's loop goes on meanwhile.
      summary = SyncSummary(try await engine.syncInTurns(allowingMassDelete: allowsMassDelete))
    case .push:
      summary = SyncSummary(try await engine.pushInTurns(allowingMassDelete: allowsMassDelete))
    case .pull:
      summary = SyncSummary(try await engine.pullInTurns(allowingMassDelete: allowsMassDelete))
    case .giveUpUnsent: summary = SyncSummary(try await engine.giveUpUnsent())
    }
    try noteSetAside(in: &summary, by: connection)
    try summary.noteLost(in: connection.store)
    return summary
  }

  /// Counts what was set aside since the last time that it was told.
  func noteSetAside(in summary: inout SyncSummary, by connection: Connection) throws {
    let now = Set(try SyncEngine.parked(of: connection.store).map(\.lastingNumber))
    summary.noteSetAside(now, since: parked)
    parked = now
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
      noteOtherTarget()
      await reopenIfReplaced()
      await keepSigns()
      settleCopy()
      if !isStopped { await endPauseEarly() }
      if !isStopped { await reconnectIfAccessChanged() }
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
    }
  }

  /// A link that was turned: the daemon keeps what it leads to by now, as after a reload.
  private func noteOtherTarget() {
    guard let target = entry.otherTarget, target != toldTarget else { return }
    toldTarget = target
    log.warning(
      "\(entry.link?.path ?? "") leads to another file now, \(target.path): that is kept instead.")
    // It ends this one.
    Task { [onOtherTarget] in await onOtherTarget() }
  }

  /// The engine's loop hears of saves by itself, and of nothing else while it waits.
  private func endPauseEarly() async {
    guard nextAttempt != nil else { return }
    let reason = pause.map { $0.endsEarly() } ?? (looks.isAccessChanged ? .access : nil)
    guard let reason else { return }
    log.debug("the pause ends early: \(reason.rawValue)")
    switch reason {
    case .access:
      // Somebody may have had it connect meanwhile, with what lay there then.
      await restart()
    case .saved, .file:
      hastenedAttempts += 1
      start()
    }
  }

  /// A token, an authority or keys that were put in the place of others hold while all is well, too: nothing fails by keys of
  /// before, and what others seal with the new ones would be set aside.
  private func reconnectIfAccessChanged() async {
    guard nextAttempt == nil, let looks = connection?.looks, looks.isAccessChanged else { return }
    guard isElsewhere else {
      // The same, or nothing that can be read so far.
      connection?.looks = StoreLooks(of: entry)
      return
    }
    log.notice("what lies beside the store was changed: it connects anew")
    await restart()
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
        case (false, true): "the store's file is gone: it is opened as soon as it is there again"
        case (false, false): "there is no file at the store's path so far"
        }
      log.warning("\(what)")
      await restart()
      return true
    }
    guard let store = connection?.store else { return false }
    if let change = store.fileChange {
      log.warning("\(change) The store is opened anew: nothing more goes to the former files.")
    } else if store.strayLogSinceLastLook == nil {
      return false
    }
    // Where the log is not the file's it cannot be opened, which tells why: it is let go of, so that somebody can see to it.
    await restart()
    return true
  }

  /// Whether somebody has enrolled the store at another address, under another name of its zone, or with another token,
  /// authority or certificate of this host, since it was connected.
  private var isElsewhere: Bool {
    guard let connection else { return false }
    // A command is asked once a connection: it may ask a person, or another host.
    let keys = entry.keyCommand == nil ? nil : connection.way.keys
    guard let way = try? entry.way(of: connection.store, keys: keys) else { return false }
    return way != connection.way
  }

  // MARK: The loop

  private func keep() async {
    while !Task.isCancelled {
      var mostSeconds = delays.retryMax
      var goesOn = false
      // Before it connects: what is changed during the attempt counts.
      looks = StoreLooks(of: entry)
      if isElsewhere { await disconnect() }
      guard !Task.isCancelled else { return }
      do {
        let engine = try connected().engine
        for await state in engine.run(delays: delays) {
          guard !Task.isCancelled else { return }
          if state == .syncing { looks = StoreLooks(of: entry) }
          note(state)
          if failure != nil, isElsewhere {
            log.notice("the store is enrolled in another way by now")
            goesOn = true
            break
          }
          // The next attempt reads the token, or the authority, again.
          if state.isAboutAccess {
            refusals += 1
            failedAttempts = max(failedAttempts, refusals)
            break
          }
        }
        guard !Task.isCancelled else { return }
        await disconnect()
        if goesOn {
          nextAttempt = nil
          continue
        }
      } catch {
        let failure = Failure(error)
        failedAttempts += 1
        mostSeconds = failure.waitsForRoom ? min(delays.roomMax, delays.retryMax) : delays.retryMax
        note(failure)
      }
      guard !Task.isCancelled else { return }
      let seconds = delays.afterFailures(failedAttempts, most: mostSeconds) * .random(in: 0.5..<1)
      nextAttempt = Date(timeIntervalSinceNow: seconds)
      pause = StorePause(
        after: looks,
        secondsAfterSave: delays.afterChange(hastenedAttempts) * .random(in: 0.5..<1))
      // Who ends it early has begun another loop.
      do { try await Task.sleep(for: .seconds(seconds)) } catch { return }
      pause = nil
      nextAttempt = nil
    }
  }

  // MARK: The connection

  private func connected() throws -> Connection {
    if let connection { return connection }
    let store = try StoreAccess.open(entry.path)
    noteStore(store)
    let looks = StoreLooks(of: entry)
    let way: StoreAccess.Way
    do {
      way = try entry.way(of: store)
    } catch let failure as Failure where failure.code != "not-enrolled" && !failure.isTransient {
      // The reason is the one to throw, whether it can be kept or not.
      try? SyncEngine.noteUnbegun(
        store, code: failure.code, message: failure.message, suggestion: failure.suggestion)
      throw failure
    }
    let curl = try way.transport()
    let connection = Connection(
      store: store,
      engine: SyncEngine(store: store, transport: curl, options: way.options), curl: curl, way: way,
      looks: looks)
    parked = Set(try SyncEngine.parked(of: store).map(\.lastingNumber))
    noteLost(try store.lostCommits())
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
