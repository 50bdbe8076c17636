/// When a failed request is made again: a value without clock or randomness of its own, so that
/// each rule is a test.
///
/// Delays grow by doubling and are drawn evenly between half and the whole (jitter), so that
/// clients which lost one server together do not return together. A `Retry-After` of the server is
/// a floor. When the server asks for more patience than `delaySecondsMax`, the request fails at
/// once with that time in the error: the caller knows better what to do with it than a sleeping
/// request, and no attempt is burnt.
public struct RetryPolicy: Hashable, Sendable {
  /// Attempts in all, the first included. Few: whoever syncs in a loop backs off over minutes by
  /// itself.
  public var attemptsMax = 4
  /// Seconds before the second attempt, before jitter.
  public var delaySecondsFirst = 0.25
  /// Seconds that one delay lasts at most.
  public var delaySecondsMax = 10.0

  /// The delays above.
  public init() {}

  /// The delay before the next attempt, or nil when the error stands.
  ///
  /// - Parameters:
  ///   - error: How the last attempt failed.
  ///   - attempt: The number of the attempt that failed, from 1.
  ///   - jitter: A random number from 0 up to 1.
  /// - Returns: Seconds to wait.
  public func delaySeconds(after error: TransportError, attempt: Int, jitter: Double) -> Double? {
    guard attempt < attemptsMax, Self.isTransient(error.code) else { return nil }
    let asked = error.retryAfterSeconds ?? 0
    guard asked <= delaySecondsMax else { return nil }
    // 2^30 already exceeds any cap; the bound keeps the shift defined for whatever attempt a caller
    // passes.
    let doubled = delaySecondsFirst * Double(1 << max(0, min(attempt - 1, 30)))
    let ceiling = min(doubled, delaySecondsMax)
    let jittered = ceiling * (0.5 + 0.5 * min(max(jitter, 0), 1))
    return asked + (asked > 0 ? jittered * 0.5 : jittered)
  }

  /// Whether another attempt can end differently without anybody doing anything.
  static func isTransient(_ code: TransportError.Code) -> Bool {
    code == .unreachable || code == .timedOut || code == .busy || code == .damagedBody
  }

  /// Whether a shorter answer may come where this one did not.
  static func isOfLine(_ code: TransportError.Code) -> Bool {
    code == .unreachable || code == .timedOut || code == .damagedBody
  }

  /// The seconds that a `Retry-After` header asks for: a number, or nil when it is a date or
  /// nonsense. A date would need the server's clock and ours to agree; jittered back-off is the
  /// safer reading.
  static func retryAfterSeconds(_ header: String?) -> Double? {
    guard let header, let seconds = UInt32(header.trimmingSpaces()) else { return nil }
    return Double(seconds)
  }
}

extension String {
  func trimmingSpaces() -> String {
    String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
}
