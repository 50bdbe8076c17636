import Foundation

/// What one answer says about the zone's clock. It was written at some moment between the question and its coming, so the
/// distance of the two clocks lies between two bounds, the closer the faster it came.
struct ClockReading: Hashable, Sendable {
  /// By how many milliseconds the zone's clock is ahead, at least and at most.
  let bounds: ClosedRange<Int64>

  /// - Parameters:
  ///   - zone: the zone's time in the answer, in milliseconds since 1970.
  ///   - asked: this host's time of the question.
  ///   - answered: this host's time when the answer was there; before `asked` where the clock was set meanwhile.
  init?(zone: UInt64, asked: Date, answered: Date) {
    let times = [asked, answered].map {
      Int64(exactly: ($0.timeIntervalSince1970 * 1000).rounded())
    }
    guard let zone = Int64(exactly: zone), let asked = times[0], let answered = times[1] else {
      return nil
    }
    let (first, isFarOff) = zone.subtractingReportingOverflow(answered)
    let (second, isFar) = zone.subtractingReportingOverflow(asked)
    guard !isFarOff, !isFar else { return nil }
    bounds = min(first, second)...max(first, second)
  }

  private var width: Int64 { bounds.upperBound - bounds.lowerBound }

  /// Of two answers the faster one; where they contradict each other a clock was set between them, and the later one counts.
  func after(_ former: ClockReading?) -> ClockReading {
    guard let former, former.width < width, former.bounds.overlaps(bounds) else { return self }
    return former
  }

  /// The offset that it gives.
  ///
  /// A slow answer says nothing about a clock whose distance is known better: an upload that took a quarter of a minute would
  /// make a clock that is right seem some seconds behind, and every edit of the host later than it is.
  ///
  /// - Parameter expected: the offset as it was known, in milliseconds.
  func offset(expected: Int64) -> Int64 {
    guard width > SyncTuning.preciseClockMilliseconds, bounds.contains(expected) else {
      return bounds.lowerBound + width / 2
    }
    return expected
  }
}
