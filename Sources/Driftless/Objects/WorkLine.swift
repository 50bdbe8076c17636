import Dispatch
import Synchronization

/// The line in which work for the stores of a coordinator waits for a thread: so many pieces are at work at once, the others
/// begin in the order in which they came.
///
/// Only work that was sent waits here, and holds no thread while it does. Whoever waits for a queue with a thread of its own
/// (`ContextQueue.sync`) takes what was sent to that queue past the line: else pieces that hold all threads could wait for
/// one that waits for a thread. What else a piece may wait for cannot be seen, say another piece that it sent: when none has
/// ended for long, the first in the line begins beyond the bound.
package final class WorkLine: Sendable {
  private struct State {
    var limit: Int
    var running = 0
    /// How many more are at work for as long as there is a line, because those within the bound do not end.
    var beyond = 0
    /// What lets each of them begin, the first of the line first.
    var waiting = ArrivalOrder<@Sendable () -> Void>()
    /// When a piece began, or ended, last.
    var lastStep = ContinuousClock.now
    /// Whether somebody will look whether the line moves.
    var isWatched = false

    /// Takes out of the line what there is room for.
    mutating func admit() -> [@Sendable () -> Void] {
      var admitted: [@Sendable () -> Void] = []
      while running < limit + beyond, let next = waiting.popFirst() {
        running += 1
        admitted.append(next)
      }
      if waiting.isEmpty { beyond = 0 }
      if !admitted.isEmpty { lastStep = .now }
      return admitted
    }
  }

  private let state: Mutex<State>
  private let patience: Duration

  /// - Parameter patience: How long no piece may have ended before the first that waits begins beyond the bound.
  package init(limit: Int, patience: Duration = .seconds(10)) {
    state = Mutex(State(limit: max(1, limit)))
    self.patience = patience
  }

  /// How many pieces are at work at once. A smaller number than are at work takes effect as they end.
  package var limit: Int {
    get { state.withLock { $0.limit } }
    set {
      change { $0.limit = max(1, newValue) }
    }
  }

  /// How many pieces are at work.
  package var runningCount: Int { state.withLock { $0.running } }
  /// How many more than `limit` may be at work, because those do not end.
  package var beyondCount: Int { state.withLock { $0.beyond } }
  /// How many queues wait, each with its first piece.
  package var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Calls `begin` when it is its turn, here or where another piece ends; it must not wait for anything. `leave` must follow.
  func enter(_ begin: @escaping @Sendable () -> Void) {
    change { $0.waiting.append(begin) }
  }

  /// A piece has ended. What follows it in its queue goes to the end of the line, so that others have their turn.
  func leave(andEnter next: (@Sendable () -> Void)?) {
    change { state in
      assert(state.running > 0, "who leaves has entered")
      state.running -= 1
      state.lastStep = .now
      if let next { state.waiting.append(next) }
    }
  }

  private func change(_ change: (inout State) -> Void) {
    let (admitted, isUnwatched) = state.withLock { state -> ([@Sendable () -> Void], Bool) in
      change(&state)
      let admitted = state.admit()
      let isUnwatched = !state.isWatched && !state.waiting.isEmpty
      if isUnwatched { state.isWatched = true }
      return (admitted, isUnwatched)
    }
    for begin in admitted { begin() }
    if isUnwatched { watch(after: patience) }
  }

  /// Looks later whether the line moves, for as long as there is one.
  private func watch(after delay: Duration) {
    DispatchQueue.global().asyncAfter(deadline: .now() + delay / .seconds(1)) {
      let (admitted, next) = self.state.withLock { state -> ([@Sendable () -> Void], Duration?) in
        let idle = .now - state.lastStep
        var admitted: [@Sendable () -> Void] = []
        if idle >= self.patience, !state.waiting.isEmpty {
          // Whoever ends gives the place to the next: the line moves on, although others stand still.
          state.beyond += 1
          admitted = state.admit()
        }
        state.isWatched = !state.waiting.isEmpty
        return (
          admitted, state.isWatched ? self.patience - (admitted.isEmpty ? idle : .zero) : nil
        )
      }
      for begin in admitted { begin() }
      if let next { self.watch(after: max(next, .milliseconds(1))) }
    }
  }
}
