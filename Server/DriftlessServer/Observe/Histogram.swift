/// Spans of time, counted by how long they were.
struct Histogram: Sendable {
  /// Seconds: what a span has at most that is counted there. Longer ones are counted behind the last.
  static let bounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

  private var counts = [UInt64](repeating: 0, count: bounds.count + 1)
  private(set) var seconds = 0.0

  /// How many there were.
  var total: UInt64 { counts.reduce(0, +) }

  mutating func count(_ duration: Duration) {
    let span = max(0, duration / .seconds(1))
    seconds += span
    counts[Self.bounds.firstIndex { span <= $0 } ?? Self.bounds.count] += 1
  }

  /// The samples of Prometheus' text: each bound with the count of all that are not longer, the sum, the count.
  ///
  /// - Parameter label: `name="value"`, or nothing.
  func samples(_ label: String = "") -> [(suffix: String, value: String)] {
    var samples: [(suffix: String, value: String)] = []
    var sum: UInt64 = 0
    let prefix = label.isEmpty ? "" : label + ","
    for (bound, count) in zip(Self.bounds.map { "\($0)" } + ["+Inf"], counts) {
      sum += count
      samples.append(("_bucket{\(prefix)le=\"\(bound)\"}", "\(sum)"))
    }
    let labels = label.isEmpty ? "" : "{\(label)}"
    samples.append(("_sum\(labels)", "\(seconds)"))
    samples.append(("_count\(labels)", "\(sum)"))
    return samples
  }
}
