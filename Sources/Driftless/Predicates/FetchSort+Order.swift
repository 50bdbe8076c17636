import Foundation

extension [FetchSort] {
  /// Whether `left` comes before `right`, as the store would sort them: null first when ascending,
  /// ties by primary key.
  /// - Throws: ``FetchError`` for an unknown key.
  package func areInIncreasingOrder(
    _ left: any PropertySource, _ right: any PropertySource
  ) throws(FetchError) -> Bool {
    let leftReader = PredicateEvaluator(nulls: .unknown, source: left)
    let rightReader = PredicateEvaluator(nulls: .unknown, source: right)
    for sort in self {
      let path = FetchExpression.keyPath(sort.keyPath)
      let order = try leftReader.value(leftReader.operand(path), path).sortOrder(
        try rightReader.value(rightReader.operand(path), path), sort.options)
      if order == .orderedSame { continue }
      return (order == .orderedAscending) == sort.ascending
    }
    let leftKey = left.predicateObjectKey?.key ?? 0
    let rightKey = right.predicateObjectKey?.key ?? 0
    // Temporary keys are negative and count down: unsaved objects come last, oldest first.
    if leftKey < 0 || rightKey < 0 { return leftKey > rightKey }
    return leftKey < rightKey
  }
}

extension PropertyValue {
  fileprivate func sortOrder(
    _ other: PropertyValue, _ options: FetchComparison.Options
  ) throws(FetchError) -> ComparisonResult {
    switch (self, other) {
    case (.null, .null): return .orderedSame
    case (.null, _): return .orderedAscending
    case (_, .null): return .orderedDescending
    case (.reference(let left), .reference(let right)):
      return left.key < right.key
        ? .orderedAscending : left.key > right.key ? .orderedDescending : .orderedSame
    default: return try order(other, options) ?? .orderedSame
    }
  }
}
