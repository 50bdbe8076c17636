import Synchronization

/// Counts what each client does in a span of time, and says when it is too much.
///
/// What is counted is forgotten at the end of each span, so memory is bounded by `keysMax`.
package final class RateLimit: Sendable {
  private struct State {
    var start: ContinuousClock.Instant
    var counts: [String: Int] = [:]
  }

  private let countMax: Int
  private let span: Duration
  private let state: Mutex<State>

  /// Clients told apart in one span; all further ones share one count.
  private static let keysMax = 50_000

  package init(
    countMax: Int, seconds: Int, now: ContinuousClock.Instant = ContinuousClock.now
  ) {
    self.countMax = countMax
    span = .seconds(seconds)
    state = Mutex(State(start: now))
  }

  /// Counts one; nil when that is within the limit, else the seconds until it is again.
  package func secondsToWait(
    of key: String, now: ContinuousClock.Instant = ContinuousClock.now
  ) -> Int? {
    state.withLock { state in
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
