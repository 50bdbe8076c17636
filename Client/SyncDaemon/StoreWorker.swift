import Driftless
import DriftlessHTTP
import DriftlessSync
import Foundation
import Logging

/// Keeps one store in step: carries out what its `SyncSchedule` says.
actor StoreWorker {
  let entry: DaemonConfiguration.Store
  private let mark: DaemonMark
  private let log: Logger
  private var schedule: SyncSchedule
  private var connection: Connection?
  private var isStopped = false
  private var timer: Task<Void, Never>?
  private var listening: Task<Void, Never>?
  private var watching: Task<Void, Never>?
  private var syncing: Task<Void, Never>?
  private var lastSync: Date?
  private var lastError: String?
  private var nextAttempt: Date?

  /// What it takes to sync: made at the first attempt, and again after a reload.
  private struct Connection {
    var engine: SyncEngine
    var curl: CurlTransport
    var news: NewsTransport
  }

  /// Seconds of one long poll. Shorter than the minute after which many proxies cut silent
  /// connections.
  private static let pollSeconds = 50

  init(
    entry: DaemonConfiguration.Store, mark: DaemonMark, delays: SyncSchedule.Delays, log: Logger
  ) {
    self.entry = entry
    self.mark = mark
    schedule = SyncSchedule(delays: delays)
    var log = log
    log[metadataKey: "store"] = "\(entry.path.path)"
    self.log = log
  }

  func start() { take(.started) }

  /// Reads the token anew and syncs: after a reload.
  func restart() async {
    if case .syncing = schedule.state {} else { await disconnect() }
    take(.started)
  }

  /// Ends within moments: a request under way is cancelled, and what it sent has one effect when it
  /// is sent again.
  func stop() async {
    isStopped = true
    timer?.cancel()
    listening?.cancel()
    watching?.cancel()
    syncing?.cancel()
    await syncing?.value
    await disconnect()
    mark.remove(forStore: entry.path)
    nextAttempt = nil
  }

  var state: DaemonStoreState {
    let activity: DaemonStoreState.Activity =
      if isStopped { .stopped } else {
        switch schedule.state {
        case .syncing: .syncing
        case .backingOff: .waiting
        case .listening, .settling: .listening
        }
      }
    return DaemonStoreState(
      store: entry.path.path, activity: activity, lastSync: lastSync, lastError: lastError,
      nextAttempt: schedule.state == .backingOff ? nextAttempt : nil,
      failedAttempts: schedule.failedAttempts)
  }

  // MARK: Requests

  /// Does at once what a person asks for, and tells the schedule how it went.
  func perform(
    _ verb: DaemonRequest.Verb, allowsMassDelete: Bool
  ) async throws -> SyncSummary? {
    guard !isStopped else {
      throw Failure(
        .tryAgain, code: "stopping", "The daemon is about to end.", suggestion: "try again")
    }
    do {
      let engine = try connected().engine
      let summary: SyncSummary? =
        switch verb {
        case .status: nil
        case .sync: SyncSummary(try await engine.sync(allowingMassDelete: allowsMassDelete))
        case .push: SyncSummary(try await engine.push(allowingMassDelete: allowsMassDelete))
        case .pull: SyncSummary(try await engine.pull(allowingMassDelete: allowsMassDelete))
        }
      note(success: summary)
      // What the request left for later (a push alone leaves news unread) follows by itself.
      if verb != .status { take(.changed) }
      return summary
    } catch {
      note(failure: Failure(error))
      throw error
    }
  }

  // MARK: The schedule

  private func take(_ event: SyncSchedule.Event) {
    guard !isStopped else { return }
    for action in schedule.handle(event, jitter: .random(in: 0..<1)) {
      switch action {
      case .startSync:
        syncing = Task { await self.sync() }
      case .wake(let seconds):
        timer?.cancel()
        nextAttempt = Date(timeIntervalSinceNow: seconds)
        timer = Task {
          do { try await Task.sleep(for: .seconds(seconds)) } catch { return }
          self.take(.timer)
        }
      case .listen:
        listening?.cancel()
        listening = Task { await self.listen() }
      case .deafen:
        listening?.cancel()
        listening = nil
      }
    }
  }

  private func sync() async {
    do {
      let summary = SyncSummary(try await connected().engine.sync())
      note(success: summary)
      take(.succeeded)
    } catch {
      let failure = Failure(error)
      note(failure: failure)
      // A refusal may be about the token: the next attempt reads it again.
      if !failure.isTransient { await disconnect() }
      take(.failed(isTransient: failure.isTransient, retryAfter: failure.retryAfterSeconds))
    }
  }

  /// Long polls, one after the other, until there is news.
  private func listen() async {
    guard let news = connection?.news else { return }
    do {
      while try await !news.waitForNews(seconds: Self.pollSeconds) {
        if Task.isCancelled { return }
      }
      if !Task.isCancelled { take(.news) }
    } catch {
      guard !Task.isCancelled else { return }
      let failure = Failure(error)
      note(failure: failure)
      take(.failed(isTransient: failure.isTransient, retryAfter: failure.retryAfterSeconds))
    }
  }

  /// Says beside the store that this daemon keeps it, once it holds the store's sync lock.
  private func leaveMark() {
    guard DaemonMark.read(forStore: entry.path) != mark else { return }
    do {
      try mark.write(forStore: entry.path)
    } catch {
      log.warning("syncctl will not find this daemon: \(error)")
    }
  }

  private func note(success summary: SyncSummary?) {
    guard let summary else { return }
    leaveMark()
    if lastError != nil { log.notice("in step again") }
    lastSync = Date()
    lastError = nil
    log.debug("\(summary.text)")
  }

  private func note(failure: Failure) {
    guard failure.code != "cancelled" else { return }
    // Unreachable means that the engine got past the lock.
    if failure.status == .unreachable { leaveMark() }
    // One line a cause: an hour offline does not fill the log.
    if lastError != failure.message { log.warning("\(failure.message) \(failure.suggestion)") }
    lastError = failure.message
  }

  // MARK: The connection

  private func connected() throws -> Connection {
    if let connection { return connection }
    let store = try StoreAccess.open(entry.path)
    let curl = try StoreAccess.transport(
      for: store, at: entry.path, tokenFile: entry.tokenFile)
    let news = NewsTransport(curl)
    let connection = Connection(
      engine: SyncEngine(store: store, transport: news), curl: curl, news: news)
    self.connection = connection
    watch(store)
    return connection
  }

  private func disconnect() async {
    watching?.cancel()
    watching = nil
    guard let connection else { return }
    self.connection = nil
    connection.curl.close()
    await connection.engine.close()
  }

  /// Tells the schedule of every save, by any process.
  private func watch(_ store: PersistentStore) {
    watching?.cancel()
    let changes = store.changes()
    watching = Task { [weak self] in
      for await _ in changes {
        guard let self, !Task.isCancelled else { return }
        await self.take(.changed)
      }
    }
  }
}
