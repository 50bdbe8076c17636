import DriftlessHTTP
import Testing

@Suite struct RetryPolicyTests {
  private func error(_ code: TransportError.Code, retryAfter: Double? = nil) -> TransportError {
    TransportError(code, "m", suggestion: "s", retryAfterSeconds: retryAfter)
  }

  @Test("F28 Delays double, stay under the cap and lie between half and the whole")
  func growth() throws {
    var policy = RetryPolicy()
    policy.attemptsMax = 100
    policy.delaySecondsFirst = 1
    policy.delaySecondsMax = 10
    for (attempt, whole) in [(1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 10.0), (99, 10.0)] {
      let least = policy.delaySeconds(after: error(.unreachable), attempt: attempt, jitter: 0)
      let most = policy.delaySeconds(after: error(.unreachable), attempt: attempt, jitter: 1)
      #expect(least == whole / 2)
      #expect(most == whole)
    }
  }

  @Test("The attempts are bounded")
  func bounded() {
    let policy = RetryPolicy()
    let last = policy.attemptsMax
    #expect(policy.delaySeconds(after: error(.timedOut), attempt: last - 1, jitter: 0) != nil)
    #expect(policy.delaySeconds(after: error(.timedOut), attempt: last, jitter: 0) == nil)
  }

  @Test("What cannot end differently is not tried again")
  func permanent() {
    let codes: [TransportError.Code] = [
      .untrusted, .notDriftless, .tooLarge, .cancelled, .badConfiguration,
    ]
    for code in codes {
      #expect(RetryPolicy().delaySeconds(after: error(code), attempt: 1, jitter: 0) == nil)
    }
  }

  @Test("F23 Retry-After is a floor, and beyond the cap it ends the attempts")
  func retryAfter() throws {
    let policy = RetryPolicy()
    let delay = try #require(
      policy.delaySeconds(after: error(.busy, retryAfter: 5), attempt: 1, jitter: 0))
    #expect(delay >= 5)
    #expect(
      policy.delaySeconds(after: error(.busy, retryAfter: 60), attempt: 1, jitter: 0) == nil)
  }
}
