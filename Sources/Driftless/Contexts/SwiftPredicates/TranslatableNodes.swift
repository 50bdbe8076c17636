import Foundation

// Foundation's nodes: values, properties, logic, comparisons, arithmetic, optionals.

typealias PredicateTerm = PredicateTranslation.Term

extension PredicateExpressions.Value: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    if let range = value as? any BoundedRange { return try range.term() }
    if let character = value as? Character { return .value(.constant(.string(String(character)))) }
    return .value(try FetchExpression(argument: value))
  }
}

extension PredicateExpressions.NilLiteral: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    .value(.constant(.null))
  }
}

extension PredicateExpressions.Variable: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    guard let expression = translation.variables[key] else { throw translation.unsupported(self) }
    return .value(expression)
  }
}

extension PredicateExpressions.KeyPath: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    let base = try translation.value(root)
    if let type = Root.Output.self as? ManagedObject.Type {
      let meaning = try translation.probe.meaning(of: keyPath, in: type) { object in
        (object as? Root.Output).map { $0[keyPath: keyPath] as Any }
      }
      guard case .property(let name) = meaning else { return .value(base) }
      let steps = name.split(separator: ".").map(String.init)
      switch base {
      case .keyPath(let path): return .value(.keyPath(path + steps))
      case .variable(let name, let path): return .value(.variable(name, path: path + steps))
      default: throw translation.unsupported(self)
      }
    }
    switch (Root.Output.self as? any CountedSequence.Type)?.meaning(of: keyPath) {
    case .count: return .value(.collection(.count, of: base, path: []))
    case .isEmpty:
      let count = FetchExpression.collection(.count, of: base, path: [])
      return .condition(PredicateTranslation.compare(count, .equal, .constant(.integer(0))))
    case .isEmptyText:
      return .condition(PredicateTranslation.compare(base, .equal, .constant(.string(""))))
    case nil:
      throw translation.unsupported(self, ": \(keyPath)")
    }
  }
}

// MARK: Logic

extension PredicateExpressions.Conjunction: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    .condition(.and([try translation.condition(lhs), try translation.condition(rhs)]))
  }
}

extension PredicateExpressions.Disjunction: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    .condition(.or([try translation.condition(lhs), try translation.condition(rhs)]))
  }
}

extension PredicateExpressions.Negation: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    .condition(.not(try translation.condition(wrapped)))
  }
}

extension PredicateExpressions.Conditional: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    let test = try translation.condition(test)
    if Output.self == Bool.self {
      let (one, other) = (
        try translation.condition(trueBranch), try translation.condition(falseBranch)
      )
      return .condition(.or([.and([test, one]), .and([.not(test), other])]))
    }
    return .value(
      .conditional(
        test, then: try translation.value(trueBranch), else: try translation.value(falseBranch)))
  }
}

// MARK: Comparisons

extension PredicateExpressions.Equal: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    .condition(
      try translation.equal(
        lhs, isOptional: LHS.Output.self is any OptionalValue.Type, rhs,
        isOptional: RHS.Output.self is any OptionalValue.Type))
  }
}

extension PredicateExpressions.NotEqual: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    .condition(
      .not(
        try translation.equal(
          lhs, isOptional: LHS.Output.self is any OptionalValue.Type, rhs,
          isOptional: RHS.Output.self is any OptionalValue.Type)))
  }
}

extension PredicateExpressions.Comparison: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    let sign: FetchComparison.Operator
    switch op {
    case .lessThan: sign = .less
    case .lessThanOrEqual: sign = .lessOrEqual
    case .greaterThan: sign = .greater
    case .greaterThanOrEqual: sign = .greaterOrEqual
    @unknown default: throw translation.unsupported(self)
    }
    return .condition(
      PredicateTranslation.compare(
        try translation.value(lhs), sign, try translation.value(rhs)))
  }
}

// MARK: Arithmetic

extension PredicateExpressions.Arithmetic: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    let function: FetchFunction
    switch op {
    case .add: function = .add
    case .subtract: function = .subtract
    case .multiply: function = .multiply
    @unknown default: throw translation.unsupported(self)
    }
    return .value(
      .function(function, [try translation.value(lhs), try translation.value(rhs)]))
  }
}

extension PredicateExpressions.IntDivision: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    .value(.function(.divide, [try translation.value(lhs), try translation.value(rhs)]))
  }
}

extension PredicateExpressions.FloatDivision: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    .value(.function(.divide, [try translation.value(lhs), try translation.value(rhs)]))
  }
}

extension PredicateExpressions.IntRemainder: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    .value(.function(.modulus, [try translation.value(lhs), try translation.value(rhs)]))
  }
}

extension PredicateExpressions.UnaryMinus: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    .value(.function(.negate, [try translation.value(wrapped)]))
  }
}

// MARK: Optionals

extension PredicateExpressions.ForcedUnwrap: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    try translation.term(inner)
  }
}

extension PredicateExpressions.OptionalFlatMap: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    let optional = try translation.value(wrapped)
    translation.variables[variable.key] = optional
    switch try translation.term(transform) {
    case .condition(let condition), .optionalCondition(let condition, _):
      return .optionalCondition(
        condition, isPresent: PredicateTranslation.isPresent(optional))
    case let term: return term
    }
  }
}

extension PredicateExpressions.NilCoalesce: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    switch try translation.term(lhs) {
    case .optionalCondition(let condition, let isPresent):
      let other = try translation.condition(rhs)
      return .condition(
        .or([.and([isPresent, condition]), .and([.not(isPresent), other])]))
    case .value(let value):
      return .value(
        .conditional(
          PredicateTranslation.isPresent(value), then: value, else: try translation.value(rhs)))
    case .condition, .range: throw translation.unsupported(self)
    }
  }
}
