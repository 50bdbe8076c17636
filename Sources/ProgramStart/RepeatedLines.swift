import Logging
import Synchronization

/// Lines of a log that say the same again: what lasts is told once, and again after a while with how often it was said.
///
/// An engine says with each sync what keeps it from something. A store that is saved to each second would fill the log with that. Such a
/// line is marked where it is said (`key`); one that is not tells of an event, and is another one each time.
package final class RepeatedLines: Sendable {
  /// In the metadata of a line that says what lasts: it says it again for as long as that is so.
  private static let key = "lasts"

  /// Takes the mark off.
  ///
  /// - Returns: whether it was there.
  static func unmark(_ metadata: inout Logger.Metadata) -> Bool {
    metadata.removeValue(forKey: key) != nil
  }

  package typealias Instant = ContinuousClock.Instant

  private struct Said {
    var since: Instant
    var repeats = 0
  }

  /// A line that is said again before this is over is left out.
  private static let pause = Duration.seconds(3600)
  /// So many lines are known at most.
  private static let linesMax = 1000

  private let lines = Mutex<[String: Said]>([:])

  package init() {}

  /// A line is said.
  ///
  /// - Returns: How often it was left out since it was written last; nil where it is left out now.
  package func say(_ line: String, at now: Instant = .now) -> Int? {
    let line = FailureText.withoutMeasures(line)
    return lines.withLock { lines in
      if let said = lines[line], now < said.since + Self.pause {
        lines[line]?.repeats += 1
        return nil
      }
      let repeats = lines[line]?.repeats ?? 0
      if lines[line] == nil, lines.count >= Self.linesMax {
        let oldest = lines.min { $0.value.since < $1.value.since }?.key
        if let oldest { lines[oldest] = nil }
      }
      lines[line] = Said(since: now)
      return repeats
    }
  }
}
