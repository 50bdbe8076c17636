import Foundation

// Foundation's nodes for sequences, texts and ranges.

extension PredicateTranslation {
  /// A condition of each item of a list, for which the variable stands.
  fileprivate func conditions<Element>(
    _ test: Any, _ variable: PredicateExpressions.Variable<Element>, of items: [FetchExpression]
  ) throws(FetchError) -> [FetchPredicate] {
    var conditions: [FetchPredicate] = []
    for item in items {
      variables[variable.key] = item
      conditions.append(try condition(test))
    }
    return conditions
  }
}

extension PredicateExpressions.SequenceContainsWhere: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    if case .list(let items, _) = try translation.value(sequence) {
      return .condition(.or(try translation.conditions(test, variable, of: items)))
    }
    let found = try translation.subquery(sequence, variable) { inner throws(FetchError) in
      try inner.condition(test)
    }
    return .condition(
      PredicateTranslation.compare(
        .collection(.count, of: found, path: []), .greater, .constant(.integer(0))))
  }
}

extension PredicateExpressions.SequenceAllSatisfy: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    if case .list(let items, _) = try translation.value(sequence) {
      return .condition(.and(try translation.conditions(test, variable, of: items)))
    }
    let others = try translation.subquery(sequence, variable) { inner throws(FetchError) in
      .not(try inner.condition(test))
    }
    return .condition(
      PredicateTranslation.compare(
        .collection(.count, of: others, path: []), .equal, .constant(.integer(0))))
  }
}

extension PredicateExpressions.Filter: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    .value(
      try translation.subquery(sequence, variable) { inner throws(FetchError) in
        try inner.condition(filter)
      })
  }
}

extension PredicateExpressions.SequenceContains: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    let (whole, part) = (try translation.value(sequence), try translation.value(element))
    if LHS.Output.self is any StringProtocol.Type {
      return .condition(PredicateTranslation.compare(whole, .contains, part))
    }
    let membership = PredicateTranslation.compare(part, .in, whole)
    guard RHS.Output.self is any OptionalValue.Type else { return .condition(membership) }
    return .condition(.and([membership, PredicateTranslation.isPresent(part)]))
  }
}

// MARK: Texts

extension PredicateExpressions.CollectionContainsCollection: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    guard Base.Output.self is any StringProtocol.Type else { throw translation.unsupported(self) }
    return .condition(
      PredicateTranslation.compare(
        try translation.value(base), .contains, try translation.value(other)))
  }
}

extension PredicateExpressions.SequenceStartsWith: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    guard Base.Output.self is any StringProtocol.Type else { throw translation.unsupported(self) }
    return .condition(
      PredicateTranslation.compare(
        try translation.value(base), .beginsWith, try translation.value(prefix)))
  }
}

extension LocalizedStandardContains: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    .condition(
      .comparison(
        FetchComparison(
          try translation.value(base), .contains, try translation.value(other),
          options: [.caseInsensitive, .diacriticInsensitive, .localized])))
  }
}

// MARK: Ranges

extension PredicateExpressions.ClosedRange: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    .range(
      lower: try translation.value(lower), upper: try translation.value(upper), isClosed: true)
  }
}

extension PredicateExpressions.Range: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    .range(
      lower: try translation.value(lower), upper: try translation.value(upper), isClosed: false)
  }
}

extension PredicateExpressions.RangeExpressionContains: TranslatableNode {
  func term(_ translation: PredicateTranslation) throws(FetchError) -> PredicateTerm {
    guard case .range(let lower, let upper, let isClosed) = try translation.term(range) else {
      throw translation.unsupported(self)
    }
    let value = try translation.value(element)
    var bounds: [FetchPredicate] = []
    if let lower { bounds.append(PredicateTranslation.compare(value, .greaterOrEqual, lower)) }
    if let upper {
      bounds.append(PredicateTranslation.compare(value, isClosed ? .lessOrEqual : .less, upper))
    }
    return .condition(.and(bounds))
  }
}

/// A range that a predicate captured.
protocol BoundedRange {
  func term() throws(FetchError) -> PredicateTerm
}

extension ClosedRange: BoundedRange {
  func term() throws(FetchError) -> PredicateTerm {
    .range(
      lower: try FetchExpression(argument: lowerBound),
      upper: try FetchExpression(argument: upperBound), isClosed: true)
  }
}

extension Range: BoundedRange {
  func term() throws(FetchError) -> PredicateTerm {
    .range(
      lower: try FetchExpression(argument: lowerBound),
      upper: try FetchExpression(argument: upperBound), isClosed: false)
  }
}

extension PartialRangeFrom: BoundedRange {
  func term() throws(FetchError) -> PredicateTerm {
    .range(lower: try FetchExpression(argument: lowerBound), upper: nil, isClosed: false)
  }
}

extension PartialRangeUpTo: BoundedRange {
  func term() throws(FetchError) -> PredicateTerm {
    .range(lower: nil, upper: try FetchExpression(argument: upperBound), isClosed: false)
  }
}

extension PartialRangeThrough: BoundedRange {
  func term() throws(FetchError) -> PredicateTerm {
    .range(lower: nil, upper: try FetchExpression(argument: upperBound), isClosed: true)
  }
}

// MARK: How many

/// What `count` and `isEmpty` of a sequence mean to a store.
enum SequenceMeaning {
  case count, isEmpty, isEmptyText
}

protocol CountedSequence {
  static func meaning(of keyPath: AnyKeyPath) -> SequenceMeaning?
}

extension RelatedObjects: CountedSequence {
  static func meaning(of keyPath: AnyKeyPath) -> SequenceMeaning? {
    keyPath == \Self.count ? .count : keyPath == \Self.isEmpty ? .isEmpty : nil
  }
}

extension Array: CountedSequence {
  static func meaning(of keyPath: AnyKeyPath) -> SequenceMeaning? {
    keyPath == \Self.count ? .count : keyPath == \Self.isEmpty ? .isEmpty : nil
  }
}

extension String: CountedSequence {
  /// Characters are not what a store counts.
  static func meaning(of keyPath: AnyKeyPath) -> SequenceMeaning? {
    keyPath == \String.isEmpty ? .isEmptyText : nil
  }
}
