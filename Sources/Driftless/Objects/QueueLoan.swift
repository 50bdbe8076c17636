import Dispatch
import Synchronization

/// A queue that another thread works on for a while: a piece of work of the queue offers it, and waits until it is given back.
final class QueueLoan: Sendable {
  /// How long who asks waits for a queue that was free a moment before, and then got work. One that is free takes less than a thread
  /// takes to begin.
  private static let patience = DispatchTimeInterval.milliseconds(50)
  /// How long who asks waits for a queue that is at work: that may be about to end, as the piece of work is that asks.
  private static let patienceAtWork = DispatchTimeInterval.milliseconds(1)

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

  /// - Parameter isAtWork: Whether the queue has work as it is asked.
  /// - Returns: Whether the queue is the caller's until it gives that back.
  func take(_ isAtWork: Bool) -> Bool {
    let patience = isAtWork ? Self.patienceAtWork : Self.patience
    if isTaken.wait(timeout: .now() + patience) == .success { return true }
    // It may have been offered in this very moment.
    return state.withLock { state in
      if state == .open { state = .given }
      return state == .taken
    }
  }

  func giveBack() { isBack.signal() }
}
