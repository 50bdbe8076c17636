/// How many levels of predicates and expressions a part of a predicate has, itself included. Only the functions that make
/// parts give one, so that no part is deeper than all that walks it can go: evaluation, SQL, comparison, release.
public struct PredicateNesting: Hashable, Sendable {
  /// As deep as SQLite's own expressions may be.
  package static let levelsMax = 1_000

  let levels: Int

  /// nil where the part would be too deep.
  fileprivate init?(around inner: Int) {
    guard inner < Self.levelsMax else { return nil }
    levels = inner + 1
  }

  /// What using a part that is too deep throws.
  static var error: FetchError {
    FetchError(
      .tooDeep, "The predicate nests deeper than \(levelsMax) levels",
      suggestion: "Give the conditions as one list to and(_:) or or(_:), or values to IN.")
  }

  /// A key path is followed step by step, each within the one before.
  static func check(steps: Int) throws(FetchError) {
    guard steps <= levelsMax else {
      throw FetchError(
        .tooDeep, "A key path has \(steps) steps, and at most \(levelsMax) are followed",
        suggestion: "Check how the key path was made.")
    }
  }
}

extension FetchPredicate {
  /// True when all are; true when empty. ``tooDeep`` where one of them is as deep as predicates may be.
  public static func and(_ parts: [FetchPredicate]) -> FetchPredicate {
    PredicateNesting(around: parts.deepest(\.levels)).map { .and(parts, $0) } ?? .tooDeep
  }

  /// True when one is; false when empty. ``tooDeep`` where one of them is as deep as predicates may be.
  public static func or(_ parts: [FetchPredicate]) -> FetchPredicate {
    PredicateNesting(around: parts.deepest(\.levels)).map { .or(parts, $0) } ?? .tooDeep
  }

  /// True when the other is false. ``tooDeep`` where that is as deep as predicates may be.
  public static func not(_ part: FetchPredicate) -> FetchPredicate {
    PredicateNesting(around: part.levels).map { .not(part, $0) } ?? .tooDeep
  }

  /// At once, since each part knows its own.
  var levels: Int {
    switch self {
    case .constant, .block: 1
    case .comparison(let comparison): max(comparison.left.levels, comparison.right.levels) + 1
    case .and(_, let nesting), .or(_, let nesting), .not(_, let nesting): nesting.levels
    case .tooDeep: PredicateNesting.levelsMax
    }
  }
}

extension FetchExpression {
  private static func bounded(
    _ inner: Int, _ part: (PredicateNesting) -> FetchExpression
  ) -> FetchExpression {
    PredicateNesting(around: inner).map(part) ?? .tooDeep
  }

  /// `{a, b, c}`
  public static func list(_ items: [FetchExpression]) -> FetchExpression {
    bounded(items.deepest(\.levels)) { .list(items, $0) }
  }

  /// An arithmetic or text function.
  public static func function(
    _ function: FetchFunction, _ operands: [FetchExpression]
  ) -> FetchExpression {
    bounded(operands.deepest(\.levels)) { .function(function, operands, $0) }
  }

  /// `books.@sum.pages`; `path` is the key path behind the operator.
  public static func collection(
    _ operation: CollectionOperator, of collection: FetchExpression, path: [String]
  ) -> FetchExpression {
    bounded(collection.levels) { .collection(operation, of: collection, path: path, $0) }
  }

  /// `SUBQUERY(books, $b, $b.pages > 3)`
  public static func subquery(
    of collection: FetchExpression, variable: String, where condition: FetchPredicate
  ) -> FetchExpression {
    bounded(max(collection.levels, condition.levels)) {
      .subquery(of: collection, variable: variable, where: condition, $0)
    }
  }

  /// `TERNARY(pages > 300, 'long', 'short')`
  public static func conditional(
    _ condition: FetchPredicate, then one: FetchExpression, else other: FetchExpression
  ) -> FetchExpression {
    bounded(max(condition.levels, one.levels, other.levels)) {
      .conditional(condition, then: one, else: other, $0)
    }
  }

  /// `chapters[FIRST].title`
  public static func element(
    of collection: FetchExpression, at place: ElementPlace, path: [String]
  ) -> FetchExpression {
    bounded(collection.levels) { .element(of: collection, at: place, path: path, $0) }
  }

  /// `FUNCTION($manager, "…", …)`
  public static func message(
    to receiver: FetchExpression, selector: String, _ operands: [FetchExpression]
  ) -> FetchExpression {
    bounded(max(receiver.levels, operands.deepest(\.levels))) {
      .message(to: receiver, selector: selector, operands, $0)
    }
  }

  /// `SUBQUERY(books, $b, $b.pages > 3).title`
  public static func property(of collection: FetchExpression, path: [String]) -> FetchExpression {
    bounded(collection.levels) { .property(of: collection, path: path, $0) }
  }

  /// `CAST(born, 'NSDate')`
  public static func cast(_ operand: FetchExpression, _ type: FetchCast) -> FetchExpression {
    bounded(operand.levels) { .cast(operand, type, $0) }
  }

  /// `books.@distinctUnionOfObjects.title`
  public static func distinct(_ collection: FetchExpression) -> FetchExpression {
    bounded(collection.levels) { .distinct(collection, $0) }
  }

  /// At once, since each part knows its own.
  package var levels: Int {
    switch self {
    // A fetch within a predicate is made by `SubFetchProviding`, which bounds it.
    case .constant, .keyPath, .variable: 1
    case .fetch(let fetch, _): (fetch.predicate?.levels ?? 0) + 1
    case .list(_, let nesting), .function(_, _, let nesting), .collection(_, _, _, let nesting),
      .subquery(_, _, _, let nesting), .conditional(_, _, _, let nesting),
      .element(_, _, _, let nesting), .message(_, _, _, let nesting), .property(_, _, let nesting),
      .cast(_, _, let nesting), .distinct(_, let nesting):
      nesting.levels
    case .tooDeep: PredicateNesting.levelsMax
    }
  }
}

extension Array {
  fileprivate func deepest(_ levels: (Element) -> Int) -> Int { lazy.map(levels).max() ?? 0 }
}
