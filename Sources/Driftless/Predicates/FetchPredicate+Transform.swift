extension FetchPredicate {
  /// The predicate with each expression replaced, innermost first.
  func mapExpressions<Failure: Error>(
    _ transform: (FetchExpression) throws(Failure) -> FetchExpression
  ) throws(Failure) -> FetchPredicate {
    switch self {
    case .constant, .block, .tooDeep:
      return self
    case .comparison(var comparison):
      comparison.left = try comparison.left.map(transform)
      comparison.right = try comparison.right.map(transform)
      return .comparison(comparison)
    case .and(let parts, _):
      return .and(try mapAll(parts, transform))
    case .or(let parts, _):
      return .or(try mapAll(parts, transform))
    case .not(let part, _):
      return .not(try part.mapExpressions(transform))
    }
  }

  private func mapAll<Failure: Error>(
    _ parts: [FetchPredicate], _ transform: (FetchExpression) throws(Failure) -> FetchExpression
  ) throws(Failure) -> [FetchPredicate] {
    var mapped: [FetchPredicate] = []
    for part in parts { mapped.append(try part.mapExpressions(transform)) }
    return mapped
  }

  /// The predicate with its key paths starting at `$variable` instead of the evaluated object.
  func rooted(at variable: String) -> FetchPredicate {
    mapExpressions { expression in
      guard case .keyPath(let path) = expression else { return expression }
      return .variable(variable, path: path)
    }
  }

  /// How deep subqueries nest, for names that do not collide.
  var subqueryDepth: Int {
    switch self {
    case .constant, .block, .tooDeep: 0
    case .comparison(let comparison):
      max(comparison.left.subqueryDepth, comparison.right.subqueryDepth)
    case .and(let parts, _), .or(let parts, _): parts.map(\.subqueryDepth).max() ?? 0
    case .not(let part, _): part.subqueryDepth
    }
  }
}

extension FetchExpression {
  func map<Failure: Error>(
    _ transform: (FetchExpression) throws(Failure) -> FetchExpression
  ) throws(Failure) -> FetchExpression {
    switch self {
    case .constant, .keyPath, .variable, .fetch, .tooDeep:
      return try transform(self)
    case .list(let items, _):
      return try transform(.list(try mapAll(items, transform)))
    case .function(let function, let operands, _):
      return try transform(.function(function, try mapAll(operands, transform)))
    case .collection(let operation, let collection, let path, _):
      return try transform(
        .collection(operation, of: try collection.map(transform), path: path))
    case .cast(let operand, let type, _):
      return try transform(.cast(try operand.map(transform), type))
    case .property(let collection, let path, _):
      return try transform(.property(of: try collection.map(transform), path: path))
    case .distinct(let collection, _):
      return try transform(.distinct(try collection.map(transform)))
    case .conditional(let predicate, let one, let other, _):
      return try transform(
        .conditional(
          try predicate.mapExpressions(transform), then: try one.map(transform),
          else: try other.map(transform)))
    case .element(let collection, let place, let path, _):
      return try transform(.element(of: try collection.map(transform), at: place, path: path))
    case .message(let receiver, let selector, let operands, _):
      return try transform(
        .message(to: receiver, selector: selector, try mapAll(operands, transform)))
    case .subquery(let collection, let variable, let condition, _):
      return try transform(
        .subquery(
          of: try collection.map(transform), variable: variable,
          where: try condition.mapExpressions(transform)))
    }
  }

  private func mapAll<Failure: Error>(
    _ items: [FetchExpression], _ transform: (FetchExpression) throws(Failure) -> FetchExpression
  ) throws(Failure) -> [FetchExpression] {
    var mapped: [FetchExpression] = []
    for item in items { mapped.append(try item.map(transform)) }
    return mapped
  }

  var subqueryDepth: Int {
    switch self {
    case .constant, .keyPath, .variable, .fetch, .tooDeep: 0
    case .cast(let operand, _, _), .distinct(let operand, _), .property(let operand, _, _):
      operand.subqueryDepth
    case .list(let items, _), .function(_, let items, _), .message(_, _, let items, _):
      items.map(\.subqueryDepth).max() ?? 0
    case .collection(_, let collection, _, _), .element(let collection, _, _, _):
      collection.subqueryDepth
    case .conditional(let predicate, let one, let other, _):
      max(predicate.subqueryDepth, one.subqueryDepth, other.subqueryDepth)
    case .subquery(let collection, _, let condition, _):
      1 + max(collection.subqueryDepth, condition.subqueryDepth)
    }
  }
}
