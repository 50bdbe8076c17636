/// What `@…` in a key path computes over a collection.
public enum CollectionOperator: String, Hashable, Sendable, CaseIterable {
  case count, sum, avg, min, max
  /// Of numbers: the one in the middle, or the mean of the two that are.
  case median
  /// Of numbers: the most frequent one, and the least of several.
  case mode
  /// Of numbers: how far they are from their mean, as a root mean square.
  case stddev
}

extension CollectionOperator {
  /// What a statistical operator gives, the same in memory and inside the store; nil for no numbers.
  func statistic(_ numbers: [Double]) -> Double? {
    let sorted = numbers.sorted()
    guard let first = sorted.first else { return nil }
    switch self {
    case .median:
      let middle = sorted.count / 2
      return sorted.count.isMultiple(of: 2)
        ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    case .mode:
      var best = (number: first, count: 0)
      var run = best
      for number in sorted {
        run = number == run.number ? (number, run.count + 1) : (number, 1)
        if run.count > best.count { best = run }
      }
      return best.number
    case .stddev:
      let mean = sorted.reduce(0, +) / Double(sorted.count)
      let squares = sorted.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
      return (squares / Double(sorted.count)).squareRoot()
    case .count, .sum, .avg, .min, .max: return nil
    }
  }
}
