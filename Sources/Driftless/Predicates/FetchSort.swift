package import Foundation

/// One sort key of a fetch: a key path through to-one relationships.
///
/// Missing values come first when ascending. Text sorts by its UTF-8 bytes, without case and diacritics, by the rules of
/// the locale, or as a file manager does, as `options` or a ``Selector`` say.
public struct FetchSort: Hashable, Sendable {
  /// The property names from the entity on.
  public var keyPath: [String]
  /// From the least value up.
  public var ascending: Bool
  /// How texts are ordered.
  public var options: FetchComparison.Options

  /// `FetchSort("author.name")`
  public init(
    _ keyPath: String, ascending: Bool = true, options: FetchComparison.Options = []
  ) {
    self.keyPath = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    self.ascending = ascending
    self.options = options
  }

  /// Core Data's orders of texts. The raw values are its selectors.
  public enum Selector: String, Sendable, CaseIterable {
    case compare = "compare:"
    case caseInsensitiveCompare = "caseInsensitiveCompare:"
    case localizedCompare = "localizedCompare:"
    case localizedCaseInsensitiveCompare = "localizedCaseInsensitiveCompare:"
    /// As a file manager shows names: without case, by the locale, file9 before file10.
    case localizedStandardCompare = "localizedStandardCompare:"

    /// The options that give the order.
    public var options: FetchComparison.Options {
      switch self {
      case .compare: []
      case .caseInsensitiveCompare: .caseInsensitive
      case .localizedCompare: .localized
      case .localizedCaseInsensitiveCompare: [.localized, .caseInsensitive]
      case .localizedStandardCompare: [.localized, .caseInsensitive, .numeric]
      }
    }
  }

  /// `FetchSort("title", selector: .localizedStandardCompare)`
  public init(_ keyPath: String, ascending: Bool = true, selector: Selector) {
    self.init(keyPath, ascending: ascending, options: selector.options)
  }

  init(path: [String], ascending: Bool, options: FetchComparison.Options) {
    keyPath = path
    self.ascending = ascending
    self.options = options
  }
}

extension [FetchSort] {
  /// Whether `left` comes before `right`, as the store would sort them: null first when ascending,
  /// ties by primary key.
  /// - Throws: ``FetchError`` for an unknown key.
  package func areInIncreasingOrder(
    _ left: any PropertySource, _ right: any PropertySource
  ) throws(FetchError) -> Bool {
    for sort in self {
      let order = try sort.order(left, right)
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

extension FetchSort {
  /// The order of two by this alone, from the least value up.
  package func order(
    _ left: any PropertySource, _ right: any PropertySource
  ) throws(FetchError) -> ComparisonResult {
    let leftReader = PredicateEvaluator(nulls: .unknown, source: left)
    let rightReader = PredicateEvaluator(nulls: .unknown, source: right)
    let path = FetchExpression.keyPath(keyPath)
    return try leftReader.value(leftReader.operand(path), path).sortOrder(
      try rightReader.value(rightReader.operand(path), path), options)
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
