import DriftlessSQLite

/// `@count`, `@sum`, `@median` … of collections, of lists, and of the rows of a fetch of dictionaries.
extension QueryCompilation {
  func aggregate(
    _ operation: CollectionOperator, _ expression: FetchExpression, _ path: [String],
    _ whole: FetchExpression
  ) throws(FetchError) -> SQLOperand {
    if case .list(let items, _) = expression {
      return try aggregate(operation, items, path, whole)
    }
    if aggregatesRows, variables.isEmpty, !isCollection(expression) {
      return try aggregateRows(operation, expression, path, whole)
    }
    let collection = try collection(expression)
    var isDistinct = false
    if case .distinct = expression { isDistinct = true }
    if operation == .count, !isDistinct {
      return .computed("(" + select("COUNT(*)", collection, nil) + ")", .number)
    }
    guard path.isEmpty || !isDistinct else {
      throw FetchError(
        .unsupported, "\(whole) goes on behind distinct values",
        suggestion: "Write the property before the operator: a.@distinctUnionOfObjects.b.@sum.")
    }
    let rest = collection.rest + path
    guard case .computed(let value, let kind) = try operand(rest, from: collection.element, whole)
    else { throw toManyNotAllowed(whole) }
    let (result, resultKind) = try aggregate(operation, value, kind, isDistinct, whole)
    return .computed("(" + select(result, collection, nil) + ")", resultKind)
  }

  /// Over the rows of the query, or of each of its groups.
  private func aggregateRows(
    _ operation: CollectionOperator, _ expression: FetchExpression, _ path: [String],
    _ whole: FetchExpression
  ) throws(FetchError) -> SQLOperand {
    var inner = self
    inner.aggregatesRows = false
    var expression = expression
    var isDistinct = false
    if case .distinct(let values, _) = expression { (expression, isDistinct) = (values, true) }
    if case .keyPath(let start) = expression { expression = .keyPath(start + path) }
    guard case .computed(let value, let kind) = try inner.operand(expression) else {
      throw toManyNotAllowed(whole)
    }
    let (result, resultKind) = try aggregate(operation, value, kind, isDistinct, whole)
    return .computed(result, resultKind)
  }

  /// `max:({pages, 300})`
  private func aggregate(
    _ operation: CollectionOperator, _ items: [FetchExpression], _ path: [String],
    _ whole: FetchExpression
  ) throws(FetchError) -> SQLOperand {
    if operation == .count { return .constant(.integer(Int64(items.count))) }
    var operands: [SQLOperand] = []
    for item in items {
      let item = path.isEmpty ? item : item.following(path)
      let operand = try self.operand(item)
      if !operand.isNullConstant { operands.append(operand) }
    }
    guard var first = operands.first else {
      return .constant(operation == .sum ? .integer(0) : .null)
    }
    var kind: SQLKind?
    for operand in operands {
      kind = commonKind(first, operand)
      first = kind.map { .computed(SQLFragment("NULL"), $0) } ?? operand
    }
    let comparison = FetchComparison(whole, .equal, whole)
    guard let kind else { throw mismatch(comparison) }
    var rows: [SQLFragment] = []
    let isComputing = operation != .min && operation != .max
    for operand in operands {
      let value =
        kind.isDecimal && isComputing
        ? try number(operand, whole).0 : try side(operand, kind, comparison)
      rows.append("SELECT " + value + " AS v")
    }
    let rowKind = kind.isDecimal ? (isComputing ? SQLKind.number : .decimalKey) : kind
    let (result, resultKind) = try aggregate(operation, SQLFragment("v"), rowKind, false, whole)
    return .computed(
      "(SELECT " + result + " FROM (" + .joined(rows, by: " UNION ALL ") + "))", resultKind)
  }

  /// The aggregate of a value over the rows of a SELECT.
  private func aggregate(
    _ operation: CollectionOperator, _ value: SQLFragment, _ kind: SQLKind, _ isDistinct: Bool,
    _ whole: FetchExpression
  ) throws(FetchError) -> (SQLFragment, SQLKind) {
    func call(_ name: String, _ value: SQLFragment) -> SQLFragment {
      .identifier(name) + (isDistinct ? "(DISTINCT " : "(") + value + ")"
    }
    let key = kind == .decimal ? SQLFragment.call(SQLFunction.decimalKey, value) : value
    switch (operation, kind) {
    case (.count, _): return (call("count", key), .number)
    case (.min, _), (.max, _):
      return (
        .call(operation == .min ? "min" : "max", key), kind == .decimal ? .decimalKey : kind
      )
    case (.sum, .number), (.sum, .decimal):
      return ("COALESCE(" + call("sum", plain(value, kind)) + ", 0)", .number)
    case (.avg, .number), (.avg, .decimal): return (call("avg", plain(value, kind)), .number)
    case (.median, .number), (.median, .decimal), (.mode, .number), (.mode, .decimal),
      (.stddev, .number), (.stddev, .decimal):
      // As literals, which keep each bit of a number.
      let list = SQLFragment.call("group_concat", .call("quote", plain(value, kind)))
      return (
        .call(
          SQLFunction.statistic, .value(.text(operation.rawValue)), list,
          .value(.integer(isDistinct ? 1 : 0))), .number
      )
    default:
      throw FetchError(
        .typeMismatch, "\(whole) computes with \(kind.valueKind.name)",
        suggestion: "Use @\(operation.rawValue) on numeric attributes.")
    }
  }

  private func plain(_ value: SQLFragment, _ kind: SQLKind) -> SQLFragment {
    kind == .decimal ? .call(SQLFunction.decimalNumber, value) : value
  }
}

extension FetchExpression {
  /// A property of what a key path leads to.
  fileprivate func following(_ path: [String]) -> FetchExpression {
    switch self {
    case .keyPath(let start): .keyPath(start + path)
    case .variable(let name, let start): .variable(name, path: start + path)
    default: self
    }
  }
}
