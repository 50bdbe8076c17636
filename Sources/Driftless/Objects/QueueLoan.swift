import Dispatch
import Synchronization

/// A queue that another thread works on for a while: a piece of work of the queue offers it, and waits until it is given back.
final class QueueLoan: Sendable {
  /// How long who asks waits for a queue that is at work. One that is free takes less than a thread takes to begin.
  private static let patience = DispatchTimeInterval.milliseconds(50)

  private enum State { case open, taken, given }

  private let state = Mutex(State.open)
  private let isTaken = DispatchSemaphore(value: 0)
  private let isBack = DispatchSemaphore(value: 0)

  /// On the queue: nothing is done where nobody waits any more.
  func offer() {
    let isWanted = state.withLock { state in
      guard state == .open else { return false }
      state = .taken
      return true
    }
    guard isWanted else { return }
    isTaken.signal()
    isBack.wait()
  }

  /// - Returns: Whether the queue is the caller's until it gives that back.
  func take() -> Bool {
    if isTaken.wait(timeout: .now() + Self.patience) == .success { return true }
    // It may have been offered in this very moment.
    return state.withLock { state in
      if state == .open { state = .given }
      return state == .taken
    }
  }

  func giveBack() { isBack.signal() }
}
