import Foundation

extension PredicateEvaluator {
  /// nil for unknown: the caller knows what its rule makes of that.
  func compare(
    _ left: Operand, _ right: Operand, _ comparison: FetchComparison
  ) throws(FetchError) -> Bool? {
    switch comparison.operator {
    case .equal, .notEqual:
      let isNegated = comparison.operator == .notEqual
      return try equal(left, right, comparison).map { $0 != isNegated }
    case .less: return try order(left, right, comparison).map { $0 == .orderedAscending }
    case .lessOrEqual: return try order(left, right, comparison).map { $0 != .orderedDescending }
    case .greater: return try order(left, right, comparison).map { $0 == .orderedDescending }
    case .greaterOrEqual: return try order(left, right, comparison).map { $0 != .orderedAscending }
    case .between: return try between(left, right, comparison)
    case .in: return try isElement(left, of: right, comparison)
    case .contains:
      if case .list = left { return try isElement(right, of: left, comparison) }
      return try text(left, right, comparison)
    case .beginsWith, .endsWith, .like, .matches: return try text(left, right, comparison)
    }
  }

  private func equal(
    _ left: Operand, _ right: Operand, _ comparison: FetchComparison
  ) throws(FetchError) -> Bool? {
    if left.isNull || right.isNull {
      let asksForNull =
        comparison.left == .constant(.null) || comparison.right == .constant(.null)
      return nulls == .value || asksForNull ? left.isNull && right.isNull : nil
    }
    return try value(left, comparison.left).isEqual(
      value(right, comparison.right), comparison.options)
  }

  /// nil when one is null, or for numbers that have no order.
  private func order(
    _ left: Operand, _ right: Operand, _ comparison: FetchComparison
  ) throws(FetchError) -> ComparisonResult? {
    if left.isNull || right.isNull { return nil }
    return try value(left, comparison.left).order(
      value(right, comparison.right), comparison.options)
  }

  private func between(
    _ left: Operand, _ right: Operand, _ comparison: FetchComparison
  ) throws(FetchError) -> Bool? {
    guard case .list(let bounds) = right, bounds.count == 2 else {
      throw FetchError(
        .typeMismatch, "BETWEEN needs two bounds, not \(comparison.right)",
        suggestion: "Write {lower, upper}, or pass an array of two.")
    }
    let fromLower = try order(left, bounds[0], comparison).map { $0 != .orderedAscending }
    let toUpper = try order(left, bounds[1], comparison).map { $0 != .orderedDescending }
    if fromLower == false || toUpper == false { return false }
    return fromLower == nil || toUpper == nil ? nil : true
  }

  private func isElement(
    _ element: Operand, of collection: Operand, _ comparison: FetchComparison
  ) throws(FetchError) -> Bool? {
    if case .value(.string) = collection {
      return try text(collection, element, comparison)
    }
    let isMirrored = comparison.operator == .contains
    let whole = isMirrored ? comparison.left : comparison.right
    let elements = try self.elements(of: collection, whole)
    // A list spells its elements, so that a nil among them asks for null.
    var items: [FetchExpression]?
    if case .list(let spelled, _) = whole { items = spelled }
    var equality = FetchComparison(
      isMirrored ? comparison.right : comparison.left, .equal, whole, options: comparison.options)
    var result: Bool? = false
    for (index, candidate) in elements.enumerated() {
      if let items, items.count == elements.count { equality.right = items[index] }
      let isEqual = try equal(element, Self.comparable(candidate, with: element), equality)
      if isEqual == true { return true }
      if isEqual == nil, items != nil { result = nil }
    }
    return result
  }

  /// A number of a list in which a text is looked for has the text that it prints as, as in the store.
  private static func comparable(_ candidate: Operand, with element: Operand) -> Operand {
    guard case .value(let value) = candidate, case .value(let text) = element, text.text != nil,
      let number = value.numberText
    else { return candidate }
    return .value(.string(number))
  }

  private func text(
    _ left: Operand, _ right: Operand, _ comparison: FetchComparison
  ) throws(FetchError) -> Bool? {
    if left.isNull || right.isNull { return nil }
    guard let text = try value(left, comparison.left).text,
      let part = try value(right, comparison.right).text
    else {
      throw FetchError(
        .typeMismatch,
        "\(comparison.operator.rawValue) needs two texts: "
          + "\(comparison.left), \(comparison.right)",
        suggestion: "Compare numbers and dates with == < > or BETWEEN.")
    }
    if comparison.operator == .matches {
      // One that lies in an object is nobody's mistake here: it matches nothing, as in the store.
      if !comparison.right.readsData {
        _ = try TextPattern.regularExpression(part, comparison.options)
      }
      return TextPattern.matches(text, part, comparison.options)
    }
    let folded = TextPattern.fold(text, comparison.options)
    let foldedPart = TextPattern.fold(part, comparison.options)
    switch comparison.operator {
    case .beginsWith: return TextPattern.begins(folded, foldedPart)
    case .endsWith: return TextPattern.ends(folded, foldedPart)
    case .like: return TextPattern.like(folded, foldedPart)
    default: return TextPattern.contains(folded, foldedPart)
    }
  }

  // MARK: Operands

  /// The one value that an operand stands for; an object stands for its key.
  func value(
    _ operand: Operand, _ expression: FetchExpression
  ) throws(FetchError) -> PropertyValue {
    switch operand {
    case .value(let value): return value
    case .object(let object): return object.predicateObjectKey.map(PropertyValue.reference) ?? .null
    case .list:
      throw FetchError(
        .toManyNotAllowed, "\(expression) has many values where one is needed",
        suggestion: "Use ANY, IN, @count, @max or SUBQUERY.")
    }
  }
}

extension FetchExpression {
  /// Whether its value is another one with other objects.
  fileprivate var readsData: Bool {
    switch self {
    case .constant, .tooDeep: false
    case .list(let parts, _), .function(_, let parts, _): parts.contains(where: \.readsData)
    case .cast(let value, _, _): value.readsData
    default: true
    }
  }
}
