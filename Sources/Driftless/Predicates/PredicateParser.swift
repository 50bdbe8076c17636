import Foundation

/// Reads the words of a format string by recursive descent; expressions are in
/// `PredicateParser+Expression.swift`.
///
///     predicate  := and (OR and)*
///     and        := not (AND not)*
///     not        := (NOT | !)* primary
///     primary    := '(' predicate ')' | TRUEPREDICATE | FALSEPREDICATE | comparison
///     comparison := (ANY | SOME | ALL | NONE)? expression operator ('[' cd ']')? expression
struct PredicateParser {
  /// Parentheses, NOT and function calls that nest deeper are refused, since the parser calls itself for each. A row of
  /// operators, `1 + 1 + …`, makes a tree that is as deep as the row is long, and is not counted.
  static let maximumDepth = 100
  /// An expression with more operators and suffixes is refused, since each makes its tree deeper.
  static let maximumLinks = 500

  let format: String
  let arguments: [Any?]
  var tokens: [PredicateToken]
  /// For the token at an opening parenthesis, where its partner is.
  var partners: [Int: Int]
  var index = 0
  var depth = 0
  /// How many expressions are being read, one in the other.
  var expressions = 0
  /// How many operators and suffixes the outermost of them has so far: a chain is as deep as it is long.
  var links = 0
  /// The variables of the SUBQUERYs around.
  var declared: [String] = []

  /// - Parameter takesMore: Whether arguments that the format does not ask for are passed over.
  init(format: String, arguments: [Any?], takesMore: Bool = false) throws(FetchError) {
    self.format = format
    self.arguments = arguments
    let (tokens, argumentCount) = try PredicateLexer.tokens(of: format)
    guard argumentCount == arguments.count || takesMore && argumentCount < arguments.count else {
      throw FetchError(
        .argument,
        "The format has \(argumentCount) placeholders, but \(arguments.count) arguments were given",
        suggestion: "Give one argument for each %@, %K and %d, in their order.", format: format,
        position: max(0, format.count))
    }
    self.tokens = tokens
    var open: [Int] = []
    partners = [:]
    for (index, token) in tokens.enumerated() {
      if token.kind == .symbol("(") { open.append(index) }
      if token.kind == .symbol(")"), let start = open.popLast() { partners[start] = index }
    }
  }

  mutating func parse() throws(FetchError) -> FetchPredicate {
    let predicate = try self.predicate()
    guard current.kind == .end else {
      throw error("The predicate ends before this", "Join conditions with AND or OR.")
    }
    return predicate
  }

  // MARK: Predicates

  mutating func predicate() throws(FetchError) -> FetchPredicate {
    try enter()
    defer { depth -= 1 }
    var parts = [try conjunction()]
    while take("||") || take(keyword: "OR") { parts.append(try conjunction()) }
    return parts.count == 1 ? parts[0] : .or(parts)
  }

  private mutating func conjunction() throws(FetchError) -> FetchPredicate {
    var parts = [try negation()]
    while take("&&") || take(keyword: "AND") { parts.append(try negation()) }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private mutating func negation() throws(FetchError) -> FetchPredicate {
    guard take("!") || take(keyword: "NOT") else { return try primary() }
    try enter()
    defer { depth -= 1 }
    return .not(try negation())
  }

  private mutating func primary() throws(FetchError) -> FetchPredicate {
    if take(keyword: "TRUEPREDICATE") { return .constant(true) }
    if take(keyword: "FALSEPREDICATE") { return .constant(false) }
    if current.kind == .symbol("("), !parenthesisOpensExpression {
      index += 1
      let inner = try predicate()
      try expect(")")
      return inner
    }
    return try comparison()
  }

  /// Whether what follows the parenthesis that closes this one makes it part of an expression.
  private var parenthesisOpensExpression: Bool {
    guard let partner = partners[index] else { return false }
    switch tokens[partner + 1].kind {
    case .symbol(let symbol): return !["&&", "||", ")", ","].contains(symbol)
    case .keyword(let word): return word != "AND" && word != "OR"
    default: return false
    }
  }

  // MARK: Comparisons

  private mutating func comparison() throws(FetchError) -> FetchPredicate {
    var modifier = FetchComparison.Modifier.direct
    if take(keyword: "ANY") || take(keyword: "SOME") {
      modifier = .any
    } else if take(keyword: "ALL") {
      modifier = .all
    } else if take(keyword: "NONE") {
      modifier = .none
    }
    let left = try expression()
    try refuseUnsupportedOperator()
    let `operator` = try comparisonOperator()
    let options = try self.options(for: `operator`)
    let rightPosition = current.position
    let right = try expression()
    if `operator` == .between {
      try checkBounds(right, at: rightPosition)
    }
    if `operator` == .matches, case .constant(.string(let pattern)) = right {
      do {
        _ = try TextPattern.regularExpression(pattern, options)
      } catch {
        throw FetchError(
          error.code, error.message, suggestion: error.suggestion, format: format,
          position: rightPosition)
      }
    }
    return .comparison(
      FetchComparison(left, `operator`, right, modifier: modifier, options: options))
  }

  private mutating func comparisonOperator() throws(FetchError) -> FetchComparison.Operator {
    let spelling: String
    switch current.kind {
    case .symbol(let symbol): spelling = symbol
    case .keyword(let word): spelling = word
    default: spelling = ""
    }
    guard let `operator` = FetchComparison.Operator(rawValue: spelling) else {
      throw error(
        "A comparison operator was expected",
        "Use == != < <= > >= BETWEEN IN CONTAINS BEGINSWITH ENDSWITH LIKE or MATCHES.")
    }
    index += 1
    return `operator`
  }

  /// What Foundation's grammar has besides, and no store can do.
  private func refuseUnsupportedOperator() throws(FetchError) {
    switch current.kind {
    case .symbol(":="):
      throw error("Predicates here assign no variables", "Use SUBQUERY's variable.", .unsupported)
    case .identifier(let word) where ["UNION", "INTERSECT", "MINUS"].contains(word.uppercased()):
      throw error(
        "\(word) of collections is not supported", "Combine conditions with OR, AND and NOT.",
        .unsupported)
    case .identifier(let word) where word.uppercased() == "UTI":
      throw error("Type identifiers are not compared", "Compare texts.", .unsupported)
    default: return
    }
  }

  /// `[cd]`
  private mutating func options(
    for operator: FetchComparison.Operator
  ) throws(FetchError) -> FetchComparison.Options {
    guard take("[") else { return [] }
    var options: FetchComparison.Options = []
    guard case .identifier(let letters) = current.kind else {
      throw error("Comparison options were expected", "Write some of [cdnl].")
    }
    for letter in letters.lowercased() {
      switch letter {
      case "c": options.insert(.caseInsensitive)
      case "d": options.insert(.diacriticInsensitive)
      case "n": options.insert(.normalized)
      case "l": options.insert(.localized)
      default:
        throw error("'\(letter)' is no comparison option", "Write some of [cdnl].")
      }
    }
    if `operator` == .between {
      throw error("BETWEEN takes no options", "Leave them out.")
    }
    index += 1
    try expect("]")
    return options
  }

  private func checkBounds(
    _ bounds: FetchExpression, at position: Int
  ) throws(FetchError) {
    if case .list(let items, _) = bounds, items.count == 2 { return }
    if case .variable = bounds { return }
    throw FetchError(
      .syntax, "BETWEEN needs two bounds",
      suggestion: "Write {lower, upper}, or pass an array of two.", format: format,
      position: position)
  }

  // MARK: Words

  var current: PredicateToken { tokens[min(index, tokens.count - 1)] }

  func peek(_ offset: Int) -> PredicateToken.Kind {
    tokens[min(index + offset, tokens.count - 1)].kind
  }

  mutating func take(_ symbol: String) -> Bool {
    guard current.kind == .symbol(symbol) else { return false }
    index += 1
    return true
  }

  mutating func take(keyword: String) -> Bool {
    guard current.kind == .keyword(keyword) else { return false }
    index += 1
    return true
  }

  mutating func expect(_ symbol: String) throws(FetchError) {
    guard take(symbol) else {
      throw error("'\(symbol)' was expected", "Add it at the mark.")
    }
  }

  mutating func link() throws(FetchError) {
    links += 1
    if links > Self.maximumLinks {
      throw error(
        "The expression has more than \(Self.maximumLinks) operators",
        "Say it shorter: IN with a list of values does what many comparisons do.")
    }
  }

  mutating func enter() throws(FetchError) {
    depth += 1
    if depth > Self.maximumDepth {
      throw error(
        "The predicate nests deeper than \(Self.maximumDepth) levels",
        "Make it of fewer levels: one OR, or IN with a list, says what many in each other do.")
    }
  }

  func error(
    _ message: String, _ suggestion: String, _ code: FetchError.Code = .syntax
  ) -> FetchError {
    FetchError(
      code, message, suggestion: suggestion, format: format, position: current.position)
  }
}

extension FetchPredicate {
  /// Reads a format string such as `"pages > %@ AND ANY tags.name BEGINSWITH[cd] %@"`.
  ///
  /// Each `%@` (a value, an array, an object or its ID), `%K` (a key path) and `%d`, `%ld`, `%f`
  /// takes an argument. Values never become part of the text, whatever they contain.
  /// - Throws: ``FetchError`` that points to the place in the string.
  public init(format: String, _ arguments: Any?...) throws(FetchError) {
    try self.init(format: format, argumentArray: arguments)
  }

  /// Reads a format string with its arguments in an array.
  ///
  /// - Throws: ``FetchError`` that points to the place in the string.
  public init(format: String, argumentArray: [Any?]) throws(FetchError) {
    var parser = try PredicateParser(format: format, arguments: argumentArray)
    self = try parser.parse()
  }

  /// The placeholders of a format string that take an argument each, in their order: `%@`, `%K`, `%ld`.
  /// - Throws: ``FetchError`` for what are no words of a format.
  package static func placeholders(of format: String) throws(FetchError) -> [String] {
    try PredicateLexer.tokens(of: format).tokens.compactMap { token in
      switch token.kind {
      case .value(_, let placeholder): placeholder
      case .key: "%K"
      default: nil
      }
    }
  }

  /// Reads a format string; arguments that it does not ask for are passed over, as in Core Data.
  package init(format: String, argumentsAtLeast arguments: [Any?]) throws(FetchError) {
    var parser = try PredicateParser(format: format, arguments: arguments, takesMore: true)
    self = try parser.parse()
  }
}
