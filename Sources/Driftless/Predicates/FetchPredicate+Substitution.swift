extension FetchPredicate {
  /// The predicate with each `$NAME` replaced by the value of that name.
  ///
  /// Variables that SUBQUERY declares stay. Pass nil for null. A managed object stands for itself, and for its properties as
  /// they are now: `$AUTHOR.name`.
  /// - Throws: ``FetchError`` for a variable without a value, or a value that no predicate can
  ///   hold.
  public func withSubstitutionVariables(
    _ variables: [String: Any?]
  ) throws(FetchError) -> FetchPredicate {
    try substituting(variables, declared: [])
  }

  fileprivate func substituting(
    _ variables: [String: Any?], declared: Set<String>
  ) throws(FetchError) -> FetchPredicate {
    switch self {
    case .constant, .block:
      return self
    case .comparison(var comparison):
      comparison.left = try comparison.left.substituting(variables, declared: declared)
      comparison.right = try comparison.right.substituting(variables, declared: declared)
      return .comparison(comparison)
    case .and(let parts, _):
      var mapped: [FetchPredicate] = []
      for part in parts { mapped.append(try part.substituting(variables, declared: declared)) }
      return .and(mapped)
    case .or(let parts, _):
      var mapped: [FetchPredicate] = []
      for part in parts { mapped.append(try part.substituting(variables, declared: declared)) }
      return .or(mapped)
    case .not(let part, _):
      return .not(try part.substituting(variables, declared: declared))
    case .tooDeep: throw PredicateNesting.error
    }
  }
}

extension FetchExpression {
  /// What an expression came to, for an object that stands for a variable.
  private init(_ operand: PredicateEvaluator.Operand) throws(FetchError) {
    switch operand {
    case .value(let value): self = .constant(value)
    case .object(let object):
      let key = (object as? any ObjectKeyProviding)?.providedObjectKey
      self = .constant((key ?? object.predicateObjectKey).map { .reference($0) } ?? .null)
    case .list(let operands):
      var items: [FetchExpression] = []
      for operand in operands { items.append(try FetchExpression(operand)) }
      self = .list(items)
    }
  }

  fileprivate func substituting(
    _ variables: [String: Any?], declared: Set<String>
  ) throws(FetchError) -> FetchExpression {
    switch self {
    case .constant, .keyPath, .fetch:
      return self
    case .tooDeep: throw PredicateNesting.error
    case .variable(let name, let path):
      if declared.contains(name) { return self }
      guard let value = variables[name] else {
        throw FetchError(
          .unboundVariable, "No value was given for $\(name)",
          suggestion: "Add \"\(name)\" to the substitution variables.")
      }
      guard !path.isEmpty else { return try FetchExpression(argument: value) }
      guard let source = value as? any PropertySource else {
        throw FetchError(
          .unsupported,
          "$\(name).\(path.joined(separator: ".")) is a property of what is no object",
          suggestion: "Substitute an object, or the property's value itself.")
      }
      let evaluator = PredicateEvaluator(nulls: .value, source: source)
      return try FetchExpression(try evaluator.operand(.keyPath(path)))
    case .list(let items, _):
      return .list(try Self.substituting(items, variables, declared))
    case .function(let function, let operands, _):
      return .function(function, try Self.substituting(operands, variables, declared))
    case .collection(let operation, let collection, let path, _):
      return .collection(
        operation, of: try collection.substituting(variables, declared: declared), path: path)
    case .cast(let operand, let type, _):
      return .cast(try operand.substituting(variables, declared: declared), type)
    case .property(let collection, let path, _):
      return .property(of: try collection.substituting(variables, declared: declared), path: path)
    case .distinct(let collection, _):
      return .distinct(try collection.substituting(variables, declared: declared))
    case .conditional(let predicate, let one, let other, _):
      return .conditional(
        try predicate.substituting(variables, declared: declared),
        then: try one.substituting(variables, declared: declared),
        else: try other.substituting(variables, declared: declared))
    case .element(let collection, let place, let path, _):
      return .element(
        of: try collection.substituting(variables, declared: declared), at: place, path: path)
    case .message(let receiver, let selector, let operands, _):
      return .message(
        to: receiver, selector: selector, try Self.substituting(operands, variables, declared))
    case .subquery(let collection, let variable, let condition, _):
      return .subquery(
        of: try collection.substituting(variables, declared: declared), variable: variable,
        where: try condition.substituting(
          variables, declared: declared.union([variable])))
    }
  }

  private static func substituting(
    _ items: [FetchExpression], _ variables: [String: Any?], _ declared: Set<String>
  ) throws(FetchError) -> [FetchExpression] {
    var mapped: [FetchExpression] = []
    for item in items { mapped.append(try item.substituting(variables, declared: declared)) }
    return mapped
  }
}
