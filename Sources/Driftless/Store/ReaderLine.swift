import Foundation
import Synchronization

/// The line in which threads wait to read a store: so many are at work at once, the others follow in the order in which they
/// came.
///
/// Who has a connection of a store already, to read or to write, waits for nobody here: readers that wait for the writer, and a
/// writer that reads, would wait for each other. What else the code of a reader may wait for cannot be seen; when
/// nobody has left for long, the first in the line goes on beyond the bound.
final class ReaderLine: Sendable {
  /// How a thread came in.
  enum Pass {
    /// It counts, and others wait for it to leave.
    case counted
    /// It has a connection already.
    case inner
  }

  fileprivate final class Waiter: Sendable {
    let turn = DispatchSemaphore(value: 0)
  }

  fileprivate struct State {
    var working = 0
    /// How many more may work for as long as there is a line, because those within the bound do not leave.
    var beyond = 0
    var waiting: ArraySlice<Waiter> = []
    /// When somebody came in, or left, last, while there is a line; else when the line began.
    var lastStep = ContinuousClock.now
  }

  let limit: Int
  private let patience: Duration
  private let state = Mutex(State())

  init(
    limit: Int, patience: Duration = .milliseconds(StoreTuning.readerPatienceMilliseconds)
  ) {
    self.limit = max(1, limit)
    self.patience = patience
  }

  /// How many threads wait.
  var waitingCount: Int { state.withLock { $0.waiting.count } }
  /// How many more than `limit` may be at work, because those do not leave.
  var beyondCount: Int { state.withLock { $0.beyond } }
  /// How many are at work that others wait for.
  var workingCount: Int { state.withLock { $0.working } }

  /// Waits for its turn. `leave` must follow.
  func enter() -> Pass {
    if HeldConnections.areAny { return .inner }
    let waiter = state.withLock { state -> Waiter? in
      guard state.working >= limit + state.beyond else {
        assert(state.waiting.isEmpty, "nobody waits while there is room")
        state.working += 1
        return nil
      }
      // Where nobody waits, nobody asks when the last step was: a look at the clock costs as much as all else here.
      if state.waiting.isEmpty { state.lastStep = .now }
      let waiter = Waiter()
      state.waiting.append(waiter)
      return waiter
    }
    guard let waiter else { return .counted }
    while waiter.turn.wait(timeout: .now() + patience.seconds) == .timedOut { admitBeyond() }
    return .counted
  }

  func leave(_ pass: Pass) {
    guard pass == .counted else { return }
    let next = state.withLock { state -> Waiter? in
      assert(state.working > 0, "who leaves has entered")
      state.working -= 1
      if !state.waiting.isEmpty { state.lastStep = .now }
      return state.working < limit + state.beyond ? state.admit() : nil
    }
    next?.turn.signal()
  }

  /// Lets the first of the line in where nobody has moved for long.
  private func admitBeyond() {
    let first = state.withLock { state -> Waiter? in
      guard .now - state.lastStep >= patience, !state.waiting.isEmpty else { return nil }
      // Whoever leaves gives the place to the next: the line moves on, although others stand still.
      state.beyond += 1
      return state.admit()
    }
    first?.turn.signal()
  }
}

extension ReaderLine.State {
  /// The first of the line, who is at work from now on.
  fileprivate mutating func admit() -> ReaderLine.Waiter? {
    lastStep = .now
    guard let first = waiting.popFirst() else { return nil }
    working += 1
    if waiting.isEmpty { beyond = 0 }
    return first
  }
}

extension Duration {
  fileprivate var seconds: Double { self / .seconds(1) }
}

/// Which threads have a connection of a store, of any store, to read or to write.
enum HeldConnections {
  /// A task's values would be inherited by tasks that go on without the connection, so it is the thread that knows.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// Whether this thread has one.
  static var areAny: Bool { pthread_getspecific(key) != nil }

  static func hold<Value>(_ body: () throws -> Value) rethrows -> Value {
    let before = pthread_getspecific(key)
    // Any address but none: nobody looks at what is there.
    pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    defer { pthread_setspecific(key, before) }
    return try body()
  }
}
