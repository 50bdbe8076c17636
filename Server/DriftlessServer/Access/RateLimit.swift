import Synchronization

/// Counts what each client does in a span of time, and says when it is too much.
///
/// What is counted is forgotten at the end of each span, so memory is bounded by `keysMax`.
package final class RateLimit: Sendable {
  private struct State {
    var start: ContinuousClock.Instant
    var counts: [String: Int] = [:]
  }

  private let countMax: @Sendable () -> Int
  private let seconds: @Sendable () -> Int
  private let state: Mutex<State>

  /// Clients told apart in one span; all further ones share one count.
  private static let keysMax = 50_000

  /// - Parameters:
  ///   - countMax: asked anew with each count, as is `seconds`: both may change.
  package init(
    countMax: @autoclosure @escaping @Sendable () -> Int,
    seconds: @autoclosure @escaping @Sendable () -> Int,
    now: ContinuousClock.Instant = ContinuousClock.now
  ) {
    self.countMax = countMax
    self.seconds = seconds
    state = Mutex(State(start: now))
  }

  /// Counts one; nil when that is within the limit, else the seconds until it is again.
  package func secondsToWait(
    of key: String, now: ContinuousClock.Instant = ContinuousClock.now
  ) -> Int? {
    let countMax = countMax()
    let span = Duration.seconds(seconds())
    return state.withLock { state in
      if now - state.start >= span { state = State(start: now) }
      let isKnown = state.counts[key] != nil || state.counts.count < Self.keysMax
      let count = state.counts[isKnown ? key : "", default: 0] + 1
      guard count > countMax else {
        state.counts[isKnown ? key : ""] = count
        return nil
      }
      return max(1, Int((span - (now - state.start)).components.seconds) + 1)
    }
  }
}
