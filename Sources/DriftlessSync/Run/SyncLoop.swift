import Driftless
import Foundation

/// Keeps one store in step: carries out what its `SyncSchedule` says, and tells its states.
actor SyncLoop {
  private let id = UUID()
  private let engine: SyncEngine
  /// Not the engine's: what is under way there is cancelled from here. And not the cooperative pool, for it reads the store.
  private let executor: QueueExecutor
  private let tell: @Sendable (SyncState) -> Void
  private var schedule: SyncSchedule
  private var isStopped = false
  private var timer: Task<Void, Never>?
  /// When that ends.
  private var wakeTime: ContinuousClock.Instant?
  private var listening: Task<Void, Never>?
  private var watching: Task<Void, Never>?
  private var hearing: Task<Void, Never>?
  /// What others asked for when it was looked at last.
  private var asked = WantedValues.Notes()
  private var syncing: Task<Void, Never>?
  private var failingSince: Date?
  /// What syncs did that nobody was told of yet.
  private var untold = SyncReport()

  /// - Parameter tell: Called with each state, one after the other.
  init(
    _ engine: SyncEngine, delays: SyncSchedule.Delays, tell: @escaping @Sendable (SyncState) -> Void
  ) {
    self.engine = engine
    executor = QueueExecutor(label: "driftless.sync.loop \(engine.store.label)")
    self.tell = tell
    schedule = SyncSchedule(delays: delays)
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func start() async {
    guard !isStopped else { return }
    watch()
    await engine.addListener(id) { [weak self, tell] notice in
      switch notice {
      case .progress(let state): tell(state)
      case .didSucceed: Task { await self?.otherOperationSucceeded() }
      case .valuesWanted: break
      }
    }
    take(.started)
  }

  /// Cancels what is under way.
  func stop() async {
    isStopped = true
    timer?.cancel()
    listening?.cancel()
    watching?.cancel()
    hearing?.cancel()
    syncing?.cancel()
    await engine.removeListener(id)
  }

  /// Somebody wants to know: what waits for its next attempt is tried now.
  func ask() {
    if schedule.state == .backingOff || failure != nil { take(.asked) }
  }

  /// What the request left for later (a push alone leaves news unread) follows by itself.
  private func otherOperationSucceeded() {
    take(schedule.state == .backingOff ? .asked : .changed)
  }

  private func take(_ event: SyncSchedule.Event) {
    guard !isStopped else { return }
    let left = wakeTime.map { ($0 - .now) / .seconds(1) }
    for action in schedule.handle(event, jitter: .random(in: 0..<1), left: left) {
      switch action {
      case .startSync:
        timer?.cancel()
        syncing = Task { await self.sync() }
      case .wake(let seconds):
        timer?.cancel()
        wakeTime = .now + .seconds(seconds)
        timer = Task {
          do { try await Task.sleep(for: .seconds(seconds)) } catch { return }
          self.take(.timer)
        }
        tellPause(nextAttempt: seconds)
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
    tell(.syncing)
    do {
      let turn = try await engine.syncOnce(false, inTurn: true)
      let hasMore = turn.hasMore
      untold.add(turn.report)
      // What came is some of it: the rest is no failure.
      defer { if hasMore { take(.asked) } }
      let wanted = try SyncEngine.wantedFailure(of: engine.store)
      if let left = turn.waiting.map({ SyncFailure($0) }) ?? wanted.map({ SyncFailure($0) }) {
        failure = left
        failingSince = failingSince ?? Date()
        return take(.succeededInPart(waitsForRoom: left.waitsForRoom))
      }
      failingSince = nil
      failure = nil
      take(.succeeded)
      // What was saved meanwhile is sent by the next one, which tells of both.
      if schedule.state == .listening, !isStopped, !hasMore {
        tell(.inStep(untold))
        untold = SyncReport()
      }
    } catch {
      fail(error)
    }
  }

  /// Long polls, one after the other, until there is news.
  private func listen() async {
    do {
      let seconds = Int(schedule.delays.poll)
      while try await !engine.transport.waitForNews(seconds: seconds) {
        if Task.isCancelled { return }
      }
      if !Task.isCancelled { take(.news) }
    } catch {
      guard !Task.isCancelled else { return }
      fail(error)
    }
  }

  private var failure: SyncFailure?

  private func fail(_ error: any Error) {
    guard !isStopped else { return }
    let failure = SyncFailure(error)
    self.failure = failure
    failingSince = failingSince ?? Date()
    take(
      .failed(
        isTransient: failure.isTransient, retryAfter: failure.retryAfterSeconds,
        waitsForRoom: failure.waitsForRoom))
  }

  /// Nothing is in step while what somebody asked for does not come, though all else goes on.
  private func tellPause(nextAttempt seconds: Double) {
    guard [.backingOff, .listening].contains(schedule.state), let failure else { return }
    let pause = SyncState.Pause(
      failure: failure, since: failingSince ?? Date(),
      nextAttempt: Date(timeIntervalSinceNow: seconds), attempts: schedule.failedAttempts)
    switch failure.kind {
    case .offline: tell(.offline(pause))
    case .waiting: tell(.waitingForPerson(pause))
    case .refused: tell(.refused(pause))
    }
  }

  /// Tells the schedule of every save, by any process.
  private func watch() {
    let changes = engine.store.changes()
    watching = Task { [weak self] in
      for await _ in changes {
        guard let self, !Task.isCancelled else { return }
        await self.take(.changed)
      }
    }
    let bells = engine.store.bells()
    hearing = Task { [weak self] in
      for await _ in bells {
        guard let self, !Task.isCancelled else { return }
        await self.lookAtNotes()
      }
    }
  }

  /// What another process asks for makes no history: it rings.
  private func lookAtNotes() {
    guard let notes = try? engine.store.read({ try WantedValues.Notes($0) }), notes != asked else {
      return
    }
    let isMore = notes.asksForMore(than: asked)
    asked = notes
    if isMore { take(.asked) }
  }
}
