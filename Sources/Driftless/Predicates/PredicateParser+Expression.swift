import Foundation

extension PredicateParser {
  /// From what binds loosest: `|`, `^`, `&`, shifts, sums, products, powers.
  private static let operators: [[(symbol: String, function: FetchFunction)]] = [
    [("|", .bitwiseOr)], [("^", .bitwiseXor)], [("&", .bitwiseAnd)],
    [("<<", .leftShift), (">>", .rightShift)], [("+", .add), ("-", .subtract)],
    [("*", .multiply), ("/", .divide)], [("**", .power)],
  ]

  mutating func expression() throws(FetchError) -> FetchExpression {
    try enter()
    if expressions == 0 { links = 0 }
    expressions += 1
    defer {
      depth -= 1
      expressions -= 1
    }
    return try binary(0)
  }

  private mutating func binary(_ level: Int) throws(FetchError) -> FetchExpression {
    guard level < Self.operators.count else { return try operand() }
    var left = try binary(level + 1)
    while let found = Self.operators[level].first(where: { current.kind == .symbol($0.symbol) }) {
      try link()
      index += 1
      left = .function(found.function, [left, try binary(level + 1)])
    }
    return left
  }

  private mutating func operand() throws(FetchError) -> FetchExpression {
    let isComplement = current.kind == .symbol("~")
    guard isComplement || current.kind == .symbol("-") else { return try suffixed(try atom()) }
    index += 1
    try enter()
    defer { depth -= 1 }
    if isComplement { return .function(.onesComplement, [try operand()]) }
    switch try operand() {
    case .constant(.integer(let value)): return .constant(.integer(0 &- value))
    case .constant(.double(let value)): return .constant(.double(-value))
    case let operand: return .function(.negate, [operand])
    }
  }

  private mutating func atom() throws(FetchError) -> FetchExpression {
    let token = current
    index += 1
    switch token.kind {
    case .string(let text): return .constant(.string(text))
    case .integer(let value): return .constant(.integer(value))
    case .double(let value): return .constant(.double(value))
    case .keyword("TRUE"), .keyword("YES"): return .constant(.bool(true))
    case .keyword("FALSE"), .keyword("NO"): return .constant(.bool(false))
    case .keyword("NULL"), .keyword("NIL"): return .constant(.null)
    case .keyword("SELF"): return .keyPath([])
    case .variable(let name): return .variable(name, path: [])
    case .value(let argument, let placeholder):
      return try value(of: argument, placeholder, at: token.position)
    case .key(let argument): return try keyPath(of: argument, at: token.position)
    case .symbol("{"): return .list(try expressions(until: "}"))
    case .symbol("("):
      let inner = try expression()
      try expect(")")
      return inner
    case .identifier(let name):
      if current.kind == .symbol("(") || current.kind == .symbol(":") {
        return try call(name, at: token.position)
      }
      return .keyPath([name])
    default:
      index -= 1
      if case .keyword(let word) = token.kind {
        throw error(
          "\(word) is a reserved word and stands where a value is expected",
          "If it is a property's name, write #\(word.lowercased()) or pass it for %K.")
      }
      throw error("A value or key path was expected", "Complete the comparison at the mark.")
    }
  }

  /// `.name`, `.@count`, `[SIZE]` behind an expression.
  private mutating func suffixed(_ start: FetchExpression) throws(FetchError) -> FetchExpression {
    var expression = start
    while true {
      try link()
      if take("[") {
        expression = try element(of: expression)
        try expect("]")
        continue
      }
      guard take(".") else { return expression }
      let position = index
      index += 1
      switch tokens[min(position, tokens.count - 1)].kind {
      case .identifier(let name):
        expression = try append([name], to: expression)
      case .keyword(let word) where word != "SELF":
        // Behind a dot even a reserved word can only be a property.
        let spelled = Array(format)[tokens[position].position...].prefix(word.count)
        expression = try append([String(spelled)], to: expression)
      case .collectionOperator(let name):
        expression = try collect(name, expression, at: tokens[position].position)
      case .key(let argument):
        guard case .keyPath(let path) = try keyPath(of: argument, at: tokens[position].position)
        else { throw error("%K has no key path for this place", "Pass plain keys.") }
        expression = try append(path, to: expression)
      default:
        index = position
        throw error("A property name was expected behind the dot", "Complete the key path.")
      }
    }
  }

  /// What stands in brackets: `[SIZE]`, `[FIRST]`, `[LAST]`, `[2]`.
  mutating func element(
    of collection: FetchExpression
  ) throws(FetchError) -> FetchExpression {
    let token = current.kind
    index += 1
    switch token {
    case .integer(let place):
      guard let place = Int(exactly: place) else { break }
      return .element(of: collection, at: .index(place), path: [])
    case .identifier(let word):
      switch word.uppercased() {
      case "SIZE": return .collection(.count, of: collection, path: [])
      case "FIRST": return .element(of: collection, at: .first, path: [])
      case "LAST": return .element(of: collection, at: .last, path: [])
      default: break
      }
    default: break
    }
    index -= 1
    throw error(
      "No element of a collection is named so", "Write [FIRST], [LAST], [SIZE] or a number.")
  }

  private func append(
    _ path: [String], to expression: FetchExpression
  ) throws(FetchError) -> FetchExpression {
    switch expression {
    case .keyPath(let start): return .keyPath(start + path)
    case .variable(let name, let start): return .variable(name, path: start + path)
    case .collection(let operation, let collection, let start, _) where operation != .count:
      return .collection(operation, of: collection, path: start + path)
    case .element(let collection, let place, let start, _):
      return .element(of: collection, at: place, path: start + path)
    case .distinct(let collection, _): return .distinct(try append(path, to: collection))
    case .property(let collection, let start, _):
      return .property(of: collection, path: start + path)
    case .subquery, .fetch(_, countOnly: false): return .property(of: expression, path: path)
    default:
      throw error(
        "Only an object has properties", "Start the key path at a property, SELF or a variable.")
    }
  }

  private func collect(
    _ name: String, _ collection: FetchExpression, at position: Int
  ) throws(FetchError) -> FetchExpression {
    // All elements, as the key path gives them by itself.
    if ["unionOfObjects", "unionOfArrays", "unionOfSets"].contains(name) { return collection }
    if ["distinctUnionOfObjects", "distinctUnionOfArrays", "distinctUnionOfSets"].contains(name) {
      return .distinct(collection)
    }
    guard let operation = CollectionOperator(rawValue: name) else {
      throw FetchError(
        .unsupported, "@\(name) is no collection operator",
        suggestion:
          "Use @count, @sum, @avg, @min, @max, @median, @mode, @stddev or @distinctUnionOfObjects.",
        format: format, position: position)
    }
    return .collection(operation, of: collection, path: [])
  }

  mutating func expressions(
    until closing: String
  ) throws(FetchError) -> [FetchExpression] {
    if take(closing) { return [] }
    var items: [FetchExpression] = []
    repeat { items.append(try expression()) } while take(",")
    try expect(closing)
    return items
  }

  // MARK: Arguments

  private func value(
    of argument: Int, _ placeholder: String, at position: Int
  ) throws(FetchError) -> FetchExpression {
    let expression: FetchExpression
    do {
      expression = try FetchExpression(argument: arguments[argument])
    } catch {
      throw FetchError(
        error.code, error.message, suggestion: error.suggestion, format: format,
        position: position)
    }
    if placeholder == "%@" { return expression }
    switch expression {
    case .constant(.integer), .constant(.double), .constant(.bool), .constant(.decimal):
      return expression
    default:
      throw FetchError(
        .argument, "\(placeholder) needs a number, but argument \(argument + 1) is none",
        suggestion: "Pass a number, or write %@.", format: format, position: position)
    }
  }

  private func keyPath(
    of argument: Int, at position: Int
  ) throws(FetchError) -> FetchExpression {
    guard let text = arguments[argument] as? String, !text.isEmpty else {
      throw FetchError(
        .argument, "%K needs the text of a key path, but argument \(argument + 1) is none",
        suggestion: "Pass a property's name, or write %@ for a value.", format: format,
        position: position)
    }
    var expression = FetchExpression.keyPath([])
    for step in text.split(separator: ".", omittingEmptySubsequences: false) {
      if step.first == "@" {
        expression = try collect(String(step.dropFirst()), expression, at: position)
      } else if step.uppercased() != "SELF" || expression != .keyPath([]) {
        guard !step.isEmpty else {
          throw FetchError(
            .argument, "The key path \"\(text)\" has an empty step",
            suggestion: "Separate properties by single dots.", format: format, position: position)
        }
        expression = try append([String(step)], to: expression)
      }
    }
    return expression
  }

  func syntaxError(_ message: String, at position: Int) -> FetchError {
    FetchError(
      .syntax, message, suggestion: "Correct the format string at the mark.", format: format,
      position: position)
  }
}
