import Foundation

extension FetchPredicate {
  /// Whether the object satisfies the predicate, null being a value like any other, as Core Data
  /// does it in memory: `name != "x"` is true for an object without a name.
  /// - Throws: ``FetchError`` for an unknown key, values of kinds that do not compare, or a
  ///   variable that was not substituted.
  package func evaluate(_ source: any PropertySource) throws(FetchError) -> Bool {
    try PredicateEvaluator(nulls: .value, source: source).truth(of: self) ?? false
  }

  /// Whether a fetch from the store would find the object: null makes a comparison unknown.
  package func matches(_ source: any PropertySource) throws(FetchError) -> Bool {
    try PredicateEvaluator(nulls: .unknown, source: source).truth(of: self) ?? false
  }
}

extension FetchExpression {
  /// What the expression stands for of an object: a value, an object, a list of them, or nil.
  /// - Throws: as a predicate's evaluation.
  package func value(of source: any PropertySource) throws(FetchError) -> Any? {
    Self.plain(try PredicateEvaluator(nulls: .value, source: source).operand(self))
  }

  private static func plain(_ operand: PredicateEvaluator.Operand) -> Any? {
    switch operand {
    case .value(let value): value.isNull ? nil : value.plain as Any?
    case .object(let object): object
    case .list(let items): items.compactMap(plain)
    }
  }
}

/// Evaluates a predicate on one object in memory. The comparison of values is in
/// `PredicateEvaluator+Comparison.swift`, the computing of expressions in
/// `PredicateEvaluator+Expression.swift`.
struct PredicateEvaluator {
  /// What a comparison with null gives.
  enum NullRule {
    /// Core Data's answer in memory: null equals null and nothing else, and is in no order.
    case value
    /// The store's answer: neither true nor false.
    case unknown
  }

  /// What an expression stands for.
  enum Operand {
    case value(PropertyValue)
    case object(any PropertySource)
    case list([Operand])

    var isNull: Bool {
      if case .value(let value) = self { return value.isNull }
      return false
    }
  }

  let nulls: NullRule
  let source: any PropertySource
  /// The elements that the SUBQUERYs around are looking at.
  var variables: [String: Operand] = [:]
  /// Answers FUNCTIONs of a migration.
  var answer: ((_ receiver: String, _ selector: String, [Operand]) throws(FetchError) -> Operand)?
  let now = Date()

  init(nulls: NullRule, source: any PropertySource) {
    self.nulls = nulls
    self.source = source
  }

  /// nil for unknown, which `.value` never gives.
  func truth(of predicate: FetchPredicate) throws(FetchError) -> Bool? {
    switch predicate {
    case .constant(let value):
      return value
    case .not(let part, _):
      return try truth(of: part).map { !$0 }
    case .and(let parts, _):
      var result: Bool? = true
      for part in parts {
        guard let truth = try truth(of: part) else {
          result = nil
          continue
        }
        if !truth { return false }
      }
      return result
    case .or(let parts, _):
      var result: Bool? = false
      for part in parts {
        guard let truth = try truth(of: part) else {
          result = nil
          continue
        }
        if truth { return true }
      }
      return result
    case .comparison(let comparison):
      return try truth(of: comparison)
    case .block(let block):
      return try block(source)
    case .tooDeep: throw PredicateNesting.error
    }
  }

  private func truth(of comparison: FetchComparison) throws(FetchError) -> Bool? {
    let left = try operand(comparison.left)
    let right = try operand(comparison.right)
    guard comparison.modifier != .direct else {
      if case .list = left, comparison.operator != .contains, comparison.operator != .in {
        throw FetchError(
          .toManyNotAllowed,
          "\(comparison.left) has many values, but \(comparison.operator.rawValue) needs one",
          suggestion: "Put ANY, ALL or NONE in front, or use @count, @max or SUBQUERY.")
      }
      let truth = try compare(left, right, comparison)
      return nulls == .value ? truth ?? false : truth
    }
    let elements = try self.elements(of: left, comparison.left)
    for element in elements {
      let truth = try compare(element, right, comparison) ?? false
      switch comparison.modifier {
      case .any where truth: return true
      case .all where !truth: return false
      case .none where truth: return false
      default: continue
      }
    }
    return comparison.modifier != .any
  }

  /// The elements of a collection; null, the end of a key path through nothing, has none.
  func elements(
    of operand: Operand, _ expression: FetchExpression
  ) throws(FetchError) -> [Operand] {
    switch operand {
    case .list(let elements): return elements
    case _ where operand.isNull: return []
    default:
      throw FetchError(
        .typeMismatch, "\(expression) is one value, but a collection is needed",
        suggestion: "Leave out ANY, ALL, NONE or the @ operator, or use a to-many key path.")
    }
  }
}
