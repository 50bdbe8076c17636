import Driftless
public import Foundation

/// A predicate that compares two expressions. Foundation's has no way to make one on Linux.
open class NSComparisonPredicate: NSPredicate, KnowingPredicate {
  /// How the elements of a to-many key path on the left side count. The raw values are Core Data's.
  public enum Modifier: UInt, Sendable {
    case direct = 0
    case all = 1
    case any = 2
  }

  /// How the sides are compared. The raw values are Core Data's.
  public enum Operator: UInt, Sendable {
    case lessThan = 0
    case lessThanOrEqualTo = 1
    case greaterThan = 2
    case greaterThanOrEqualTo = 3
    case equalTo = 4
    case notEqualTo = 5
    case matches = 6
    case like = 7
    case beginsWith = 8
    case endsWith = 9
    case `in` = 10
    case contains = 99
    case between = 100
  }

  /// How texts are compared.
  public struct Options: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// `[c]`
    public static let caseInsensitive = Options(rawValue: 1)
    /// `[d]`
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// `[n]`
    public static let normalized = Options(rawValue: 4)
  }

  /// The left side.
  public let leftExpression: NSExpression
  /// The right side.
  public let rightExpression: NSExpression
  /// How the elements of a to-many key path on the left side count.
  public let comparisonPredicateModifier: Modifier
  /// How the sides are compared.
  public let predicateOperatorType: Operator
  /// How texts are compared.
  public let options: Options
  /// As the library has it, or why it has none.
  let outcome: Result<FetchPredicate, FetchError>

  /// - Parameters:
  ///   - lhs: The left side.
  ///   - rhs: The right side.
  ///   - modifier: How the elements of a to-many key path on the left side count.
  ///   - type: How the sides are compared.
  ///   - options: How texts are compared.
  public init(
    leftExpression lhs: NSExpression, rightExpression rhs: NSExpression, modifier: Modifier,
    type: Operator, options: Options = []
  ) {
    leftExpression = lhs
    rightExpression = rhs
    comparisonPredicateModifier = modifier
    predicateOperatorType = type
    self.options = options
    let outcome = Result { () throws(FetchError) in
      FetchPredicate.comparison(
        FetchComparison(
          try lhs.outcome.get(), type.known, try rhs.outcome.get(), modifier: modifier.known,
          options: FetchComparison.Options(rawValue: Int(options.rawValue))))
    }
    self.outcome = outcome
    super.init(block: PredicateTrees.block(outcome))
  }

  /// One of the library's, of a modifier that is Core Data's.
  init(known comparison: FetchComparison) {
    leftExpression = NSExpression(known: comparison.left)
    rightExpression = NSExpression(known: comparison.right)
    comparisonPredicateModifier = Modifier(comparison.modifier)
    predicateOperatorType = Operator(comparison.operator)
    options = Options(rawValue: UInt(comparison.options.rawValue))
    outcome = .success(.comparison(comparison))
    super.init(block: PredicateTrees.block(outcome))
  }

  /// The predicate itself: it does not change.
  open override func copy(with zone: NSZone? = nil) -> Any { self }

  /// Equal are those that ask the same.
  open override func isEqual(_ object: Any?) -> Bool { asksTheSame(as: object) }

  open override var hash: Int { hashOfAsked }

  /// The predicate in words.
  open override var description: String { words }

  /// There are no archives of predicates.
  public required init?(coder: NSCoder) { nil }
}

extension NSComparisonPredicate.Modifier {
  fileprivate init(_ known: FetchComparison.Modifier) {
    self =
      switch known {
      case .direct: .direct
      case .all: .all
      case .any, .none: .any
      }
  }

  fileprivate var known: FetchComparison.Modifier {
    switch self {
    case .direct: .direct
    case .all: .all
    case .any: .any
    }
  }
}

extension NSComparisonPredicate.Operator {
  private static let all: [Self] = [
    .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo, .equalTo, .notEqualTo,
    .matches, .like, .beginsWith, .endsWith, .in, .contains, .between,
  ]

  fileprivate init(_ known: FetchComparison.Operator) {
    // Each of the library's is the one of one case here.
    self = Self.all.first { $0.known == known } ?? .equalTo
  }

  fileprivate var known: FetchComparison.Operator {
    switch self {
    case .lessThan: .less
    case .lessThanOrEqualTo: .lessOrEqual
    case .greaterThan: .greater
    case .greaterThanOrEqualTo: .greaterOrEqual
    case .equalTo: .equal
    case .notEqualTo: .notEqual
    case .matches: .matches
    case .like: .like
    case .beginsWith: .beginsWith
    case .endsWith: .endsWith
    case .in: .in
    case .contains: .contains
    case .between: .between
    }
  }
}
