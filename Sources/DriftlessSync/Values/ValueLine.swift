import DriftlessProtocol
import Foundation

/// How the way to large values does, which may break, or stall, while the zone answers to all else. What that costs one operation is
/// bounded: after a few attempts that failed in a row, or some more in all, nothing is asked for until the next one begins, which finds
/// out with one attempt whether the way is there again.
struct ValueLine {
  typealias Instant = ContinuousClock.Instant

  private var inARow = 0
  private var inAll = 0
  /// Whether so many failed in a row that nothing was asked for.
  private var hasStopped = false
  /// The values of those in a row: while none comes, it is the way that fails, and none of them by itself.
  private var values: Set<LargeValue> = []
  private var last: (any Error)?
  /// The server asks not to be asked before.
  private var pausedUntil: Instant?

  /// An operation begins.
  mutating func begin() {
    inAll = 0
    inARow = min(inARow, SyncTuning.valueFailuresInARowMax - 1)
  }

  /// Why nothing is asked for; nil where it is.
  func stop(at now: Instant = .now) -> (any Error)? {
    let isPaused = pausedUntil.map { now < $0 } ?? false
    let isStopped =
      inARow >= SyncTuning.valueFailuresInARowMax || inAll >= SyncTuning.valueFailuresMax
    return isPaused || isStopped ? last : nil
  }

  /// Nothing came of an attempt at a value, or at what the zone says of values.
  mutating func noteFailure(_ error: any Error, of value: LargeValue?, at now: Instant = .now) {
    inARow += 1
    inAll += 1
    if inARow >= SyncTuning.valueFailuresInARowMax { hasStopped = true }
    last = error
    if let value { values.insert(value) }
    guard let seconds = (error as? any TransportFailure)?.retryAfterSeconds, seconds > 0 else {
      return
    }
    pausedUntil = now + .seconds(min(seconds, Double(SyncTuning.missingValuesSeconds)))
  }

  /// The zone answered to a question for a value.
  ///
  /// - Returns: those at which the way broke just before, and whether it may have been the way, which broke at all then: else it was they.
  mutating func noteAnswer(
    of value: LargeValue
  ) -> (values: Set<LargeValue>, why: any Error, mayBeWay: Bool)? {
    defer { (inARow, values, pausedUntil, hasStopped) = (0, [], nil, false) }
    let others = values.subtracting([value])
    guard !others.isEmpty, let last else { return nil }
    return (others, last, hasStopped)
  }
}
