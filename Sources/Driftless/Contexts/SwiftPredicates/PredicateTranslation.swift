import Foundation

/// Turns the tree that `#Predicate` makes into a ``FetchPredicate``.
final class PredicateTranslation {
  /// What a node of the tree stands for.
  enum Term {
    /// A value, an object, or a collection.
    case value(FetchExpression)
    case condition(FetchPredicate)
    /// A condition on what an optional has in it.
    case optionalCondition(FetchPredicate, isPresent: FetchPredicate)
    /// Bounds that are missing bound nothing.
    case range(lower: FetchExpression?, upper: FetchExpression?, isClosed: Bool)
  }

  let probe: PropertyProbe
  /// What the closures' parameters stand for.
  var variables: [PredicateExpressions.VariableID: FetchExpression] = [:]
  private var depth = 0

  init(_ probe: PropertyProbe) { self.probe = probe }

  func term(_ node: Any) throws(FetchError) -> Term {
    guard let node = node as? any TranslatableNode else { throw unsupported(node) }
    return try node.term(self)
  }

  func value(_ node: Any) throws(FetchError) -> FetchExpression {
    switch try term(node) {
    case .value(let expression): return expression
    case .condition(let condition):
      return .conditional(
        condition, then: .constant(.bool(true)), else: .constant(.bool(false)))
    case .optionalCondition, .range: throw unsupported(node)
    }
  }

  func condition(_ node: Any) throws(FetchError) -> FetchPredicate {
    switch try term(node) {
    case .condition(let condition): return condition
    case .optionalCondition(let condition, let isPresent): return .and([isPresent, condition])
    case .value(.constant(.bool(let value))): return .constant(value)
    case .value(let expression): return Self.compare(expression, .equal, .constant(.bool(true)))
    case .range: throw unsupported(node)
    }
  }

  /// The elements that satisfy the condition.
  func subquery<Element>(
    _ sequence: Any, _ variable: PredicateExpressions.Variable<Element>,
    _ condition: (PredicateTranslation) throws(FetchError) -> FetchPredicate
  ) throws(FetchError) -> FetchExpression {
    let collection = try value(sequence)
    let name = "e\(depth)"
    depth += 1
    defer { depth -= 1 }
    variables[variable.key] = .variable(name, path: [])
    return .subquery(of: collection, variable: name, where: try condition(self))
  }

  static func compare(
    _ left: FetchExpression, _ operator: FetchComparison.Operator, _ right: FetchExpression
  ) -> FetchPredicate {
    .comparison(FetchComparison(left, `operator`, right))
  }

  static func isPresent(_ expression: FetchExpression) -> FetchPredicate {
    compare(expression, .notEqual, .constant(.null))
  }

  func unsupported(_ node: Any, _ reason: String = "") -> FetchError {
    let type = String(describing: type(of: node)).prefix { $0 != "<" }
    return FetchError(
      .unsupported, "\(type) in #Predicate cannot be asked of a store\(reason)",
      suggestion: "Fetch by the rest, and filter the objects with the predicate's evaluate.")
  }

  // MARK: Equality

  /// As Swift has it: an optional without a value equals nil alone, and is unequal to all others.
  func equal(
    _ left: Any, isOptional leftIsOptional: Bool, _ right: Any, isOptional rightIsOptional: Bool
  ) throws(FetchError) -> FetchPredicate {
    switch (try term(left), try term(right)) {
    case (.value(let left), .value(let right)):
      let equality = Self.compare(left, .equal, right)
      if left == .constant(.null) || right == .constant(.null) { return equality }
      let optionals = [(left, leftIsOptional), (right, rightIsOptional)].filter {
        if case .constant = $0.0 { return false }
        return $0.1
      }.map(\.0)
      if optionals.isEmpty { return equality }
      let certain = FetchPredicate.and([equality] + optionals.map(Self.isPresent))
      if optionals.count < 2 { return certain }
      return .or([certain, .and(optionals.map { Self.compare($0, .equal, .constant(.null)) })])
    case (.optionalCondition(_, let isPresent), .value(.constant(.null))),
      (.value(.constant(.null)), .optionalCondition(_, let isPresent)):
      return .not(isPresent)
    case (.optionalCondition(let condition, let isPresent), .value(.constant(.bool(let value)))),
      (.value(.constant(.bool(let value))), .optionalCondition(let condition, let isPresent)):
      return .and([isPresent, value ? condition : .not(condition)])
    default:
      let (one, other) = (try condition(left), try condition(right))
      return .or([.and([one, other]), .and([.not(one), .not(other)])])
    }
  }
}

/// A node of the tree that a store can be asked.
protocol TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTranslation.Term
}
