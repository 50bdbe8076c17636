import Driftless
import Synchronization

/// What all engines of one store file in this process share: the order of their operations, the
/// queue that does their work, and the store's sync lock.
///
/// An actor lets others in while it waits for the network, so two operations of one engine would
/// mix. Here an operation begins when the one before it has ended, first come, first served.
final class StoreQueue: Sendable {
  private struct Waiter {
    let ticket: UInt64
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var isBusy = false
    var waiters: [Waiter] = []
    var tickets: UInt64 = 0
    /// The engine whose operation was the last one.
    var lastEngine: UInt64?
    /// By the path of the lock's file: a store that was moved has another one.
    var locks: [String: SyncLock] = [:]
    var lockHolders = 0
  }

  let executor: QueueExecutor
  /// The run that keeps the store in step for all who ask for it (`LocalStore.sync`).
  let sharedRun = SharedRun()
  private let state = Mutex(State())
  /// Held while a lock's file is opened, or let go of: nothing else waits for that.
  private let locking = Mutex(())

  private init(label: String) {
    executor = QueueExecutor(label: "driftless.sync \(label)")
  }

  // MARK: The queues of a process

  private final class Reference: Sendable {
    private let queue: Mutex<WeakQueue>
    init(_ queue: StoreQueue) { self.queue = Mutex(WeakQueue(value: queue)) }
    var value: StoreQueue? { queue.withLock { $0.value } }
  }

  private struct WeakQueue { weak var value: StoreQueue? }

  private static let queues = Mutex<[String: Reference]>([:])

  /// The queue of a store: one for each file, however often and under whatever paths it is open.
  static func shared(for store: PersistentStore) -> StoreQueue {
    let name = store.fileMark ?? store.identifier
    return queues.withLock { queues in
      if let queue = queues[name]?.value { return queue }
      queues = queues.filter { $0.value.value != nil }
      let queue = StoreQueue(label: store.label)
      queues[name] = Reference(queue)
      return queue
    }
  }

  /// Whether an engine of this process has the store's sync lock.
  static func isLocked(_ store: PersistentStore) -> Bool {
    let name = store.fileMark ?? store.identifier
    let queue = queues.withLock { $0[name]?.value }
    return queue?.state.withLock { !$0.locks.isEmpty } ?? false
  }

  // MARK: Turns

  /// A number that is higher than all that were given out before.
  func ticket() -> UInt64 {
    state.withLock { state in
      state.tickets += 1
      return state.tickets
    }
  }

  /// How many operations wait for the one that runs.
  var waiting: Int { state.withLock { $0.waiters.count } }

  /// Waits for the operations before this one to end. `leave` must follow.
  ///
  /// - Throws: `CancellationError` when the task is cancelled before it is its turn.
  func enter() async throws {
    let ticket = ticket()
    let isIn = await withTaskCancellationHandler {
      await wait(ticket, unless: { Task.isCancelled })
    } onCancel: {
      let waiter = state.withLock { state -> Waiter? in
        state.waiters.firstIndex { $0.ticket == ticket }.map { state.waiters.remove(at: $0) }
      }
      waiter?.continuation.resume(returning: false)
    }
    guard isIn else { throw CancellationError() }
  }

  /// As `enter`, for what has to be done even when the task is cancelled.
  func enterAnyway() async {
    _ = await wait(ticket(), unless: { false })
  }

  private func wait(_ ticket: UInt64, unless isCancelled: () -> Bool) async -> Bool {
    await withCheckedContinuation { continuation in
      let answer = state.withLock { state -> Bool? in
        // A cancellation before this found no waiter to wake.
        guard !isCancelled() else { return false }
        guard state.isBusy else {
          state.isBusy = true
          return true
        }
        state.waiters.append(Waiter(ticket: ticket, continuation: continuation))
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  func leave() {
    let next = state.withLock { state -> Waiter? in
      assert(state.isBusy, "who leaves has entered")
      guard !state.waiters.isEmpty else {
        state.isBusy = false
        return nil
      }
      return state.waiters.removeFirst()
    }
    next?.continuation.resume(returning: true)
  }

  /// Notes whose operation begins.
  ///
  /// - Returns: whether the last one was the same engine's, so that what it remembers is so still.
  func begin(engine: UInt64) -> Bool {
    state.withLock { state in
      defer { state.lastEngine = engine }
      return state.lastEngine == engine
    }
  }

  // MARK: The sync lock

  /// One engine's part in the store's sync lock: the last one to go lets go of it.
  final class LockShare: Sendable {
    private let queue: StoreQueue

    fileprivate init(_ queue: StoreQueue) { self.queue = queue }

    deinit { queue.locking.withLock { _ in queue.letGo() } }

    /// Whether nobody else can sync the store: a lock's file that was removed is made anew.
    func keep() -> Bool { queue.locking.withLock { _ in queue.keepLocks() } }
  }

  /// One that another process has by now is ours no more.
  private func keepLocks() -> Bool {
    let locks = state.withLock { $0.locks }
    let lost = locks.filter { !$0.value.keep() }.keys
    state.withLock { state in for path in lost { state.locks[path] = nil } }
    return lost.isEmpty
  }

  /// The last one to go lets go of the locks, before another can ask for them.
  private func letGo() {
    let locks = state.withLock { state -> [String: SyncLock] in
      state.lockHolders -= 1
      assert(state.lockHolders >= 0, "the lock is let go of as often as it was taken")
      guard state.lockHolders == 0 else { return [:] }
      defer { state.locks = [:] }
      return state.locks
    }
    withExtendedLifetime(locks) {}
  }

  /// - Throws: `StoreError` (`syncLocked`) while another process syncs the store.
  func lock(_ store: PersistentStore) throws -> LockShare {
    let path = store.syncLockPath
    try locking.withLock { _ in
      let isHeld = state.withLock { state in
        state.lockHolders += 1
        return state.locks[path] != nil
      }
      guard !isHeld else { return }
      do {
        let lock = try store.acquireSyncLock()
        state.withLock { $0.locks[path] = lock }
      } catch {
        letGo()
        throw error
      }
    }
    return LockShare(self)
  }
}
