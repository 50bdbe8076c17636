import Foundation

extension PredicateParser {
  /// `uppercase:(name)`, `SUBQUERY(…)`, `CAST(…)`, `FUNCTION(x, 'name')`
  mutating func call(
    _ first: String, at position: Int
  ) throws(FetchError) -> FetchExpression {
    var name = first
    if take(":") {
      name += ":"
      while case .identifier(let part) = current.kind, peek(1) == .symbol(":") {
        name += part + ":"
        index += 2
      }
    }
    try expect("(")
    if name.uppercased() == "SUBQUERY" { return try subquery() }
    if name.uppercased() == "TERNARY" { return try conditional() }
    if name.uppercased() == "FETCH" { return try fetch(at: position) }
    if name == "objectFrom:withIndex:" { return try objectFrom() }
    let operands = try expressions(until: ")")
    if name == "noindex:", operands.count == 1 { return operands[0] }
    switch name.uppercased() {
    case "CAST", "CASTOBJECT:TOTYPE:": return try cast(operands, at: position)
    case "DISTANCETOLOCATION:FROMLOCATION:":
      throw FetchError(
        .unsupported, "Locations are not compared",
        suggestion: "Compare latitude and longitude with BETWEEN.", format: format,
        position: position)
    case "FUNCTION":
      guard operands.count >= 2, case .constant(.string(let name)) = operands[1] else {
        throw syntaxError("FUNCTION needs an operand and a function's name", at: position)
      }
      if case .variable(_, path: []) = operands[0], FetchFunction(rawValue: name) == nil {
        return .message(to: operands[0], selector: name, Array(operands.dropFirst(2)))
      }
      return try function(name, [operands[0]] + operands.dropFirst(2), at: position)
    default: return try function(name, operands, at: position)
    }
  }

  private func function(
    _ name: String, _ operands: [FetchExpression], at position: Int
  ) throws(FetchError) -> FetchExpression {
    let plain = name.hasSuffix(":") ? String(name.dropLast()) : name
    if let operation = CollectionOperator(rawValue: plain == "average" ? "avg" : plain),
      operands.count == 1
    {
      return try collectionCall(operation, operands[0], at: position)
    }
    let function = FetchFunction(rawValue: name) ?? FetchFunction(rawValue: plain + ":")
    guard let function else {
      let known = FetchFunction.allCases.map(\.rawValue).joined(separator: " ")
      throw FetchError(
        .unsupported, "There is no function \(name)", suggestion: "Known are \(known).",
        format: format, position: position)
    }
    guard operands.count == function.argumentCount else {
      throw syntaxError("\(name) takes \(function.argumentCount) operands", at: position)
    }
    return .function(function, operands)
  }

  /// `count:(books)`, `sum:(books.pages)`
  private func collectionCall(
    _ operation: CollectionOperator, _ operand: FetchExpression, at position: Int
  ) throws(FetchError) -> FetchExpression {
    switch operand {
    case .list, .subquery, .distinct, .fetch, .property, .function, .cast, .conditional:
      return .collection(operation, of: operand, path: [])
    case _ where operation == .count:
      return .collection(operation, of: operand, path: [])
    case .keyPath(let path) where !path.isEmpty:
      return .collection(
        operation, of: .keyPath(Array(path.dropLast())), path: path.suffix(1))
    case .variable(let name, let path) where !path.isEmpty:
      return .collection(
        operation, of: .variable(name, path: Array(path.dropLast())), path: path.suffix(1))
    default:
      throw syntaxError("\(operation.rawValue): needs a collection", at: position)
    }
  }

  private mutating func conditional() throws(FetchError) -> FetchExpression {
    let condition = try predicate()
    try expect(",")
    let one = try expression()
    try expect(",")
    let other = try expression()
    try expect(")")
    return .conditional(condition, then: one, else: other)
  }

  private mutating func subquery() throws(FetchError) -> FetchExpression {
    let collection = try expression()
    try expect(",")
    guard case .variable(let name) = current.kind else {
      throw error("SUBQUERY needs a variable", "Write SUBQUERY(books, $b, $b.pages > 3).")
    }
    index += 1
    try expect(",")
    let condition = try predicate()
    try expect(")")
    return .subquery(of: collection, variable: name, where: condition)
  }

  /// `FETCH(%@, nil, NO)`: a request, a context that nothing is done with, and whether it counts.
  private mutating func fetch(at position: Int) throws(FetchError) -> FetchExpression {
    guard case .value(let argument, "%@") = current.kind,
      let request = arguments[argument] as? any SubFetchProviding
    else {
      // `FETCH(request, context, countOnly)` of a mapping model: the request says it all.
      if case .message(let receiver, let selector, let operands, _)? = try expressions(until: ")")
        .first
      {
        return .message(to: receiver, selector: selector, operands)
      }
      throw syntaxError(
        "FETCH takes a FetchRequest: pass it for %@ in FETCH(%@, nil, NO)", at: position)
    }
    index += 1
    let fetch = try request.subFetch()
    guard (fetch.predicate?.levels ?? 0) < PredicateNesting.levelsMax else {
      throw PredicateNesting.error
    }
    var countOnly = false
    if take(",") {
      index += 1
      if take(",") {
        guard case .constant(let flag) = try expression(), let number = flag.wholeNumber else {
          throw error("FETCH's last operand says whether it counts", "Write YES or NO.")
        }
        countOnly = number != 0
      }
    }
    try expect(")")
    return .fetch(fetch, countOnly: countOnly)
  }

  /// `objectFrom:withIndex:(chapters, 0)`, the same as `chapters[0]`
  private mutating func objectFrom() throws(FetchError) -> FetchExpression {
    let collection = try expression()
    try expect(",")
    let expression = try element(of: collection)
    try expect(")")
    return expression
  }
}
