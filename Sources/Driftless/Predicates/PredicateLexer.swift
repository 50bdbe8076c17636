import Foundation

/// A word of a format string.
struct PredicateToken {
  enum Kind: Equatable {
    /// Upper-cased, when it is one of ``PredicateLexer/reserved``.
    case keyword(String)
    case identifier(String)
    /// `@count`
    case collectionOperator(String)
    /// `$name`
    case variable(String)
    case string(String)
    case integer(Int64)
    case double(Double)
    /// `%@` and the numeric ones: which argument.
    case value(argument: Int, format: String)
    /// `%K`
    case key(argument: Int)
    /// An operator or punctuation mark, in its canonical spelling.
    case symbol(String)
    case end
  }

  let kind: Kind
  /// Offset in Characters.
  let position: Int
}

/// Cuts a format string into words.
struct PredicateLexer {
  static let reserved: Set<String> = [
    "AND", "OR", "IN", "NOT", "ALL", "ANY", "SOME", "NONE", "LIKE", "MATCHES", "CONTAINS",
    "BEGINSWITH", "ENDSWITH", "BETWEEN", "NULL", "NIL", "SELF", "TRUE", "YES", "FALSE", "NO",
    "TRUEPREDICATE", "FALSEPREDICATE",
  ]

  /// Longest first.
  private static let symbols: [(spelling: String, canonical: String)] = [
    ("==", "=="), ("!=", "!="), ("<>", "!="), (":=", ":="), ("<<", "<<"), (">>", ">>"),
    ("**", "**"),
    ("<=", "<="), ("=<", "<="), (">=", ">="),
    ("=>", ">="), ("&&", "&&"), ("||", "||"), ("=", "=="), ("<", "<"), (">", ">"), ("!", "!"),
    ("(", "("), (")", ")"), ("{", "{"), ("}", "}"), ("[", "["), ("]", "]"), (",", ","),
    (".", "."), (":", ":"), ("+", "+"), ("-", "-"), ("*", "*"), ("/", "/"),
    ("&", "&"), ("|", "|"), ("^", "^"), ("~", "~"),
  ]

  private static let placeholders = [
    "%@", "%K", "%lld", "%llu", "%lli", "%hhd", "%hhu", "%hhi", "%hd", "%hu", "%hi", "%zd", "%zu",
    "%ld", "%lu", "%li", "%d", "%i", "%u", "%lf", "%f", "%g",
  ]

  private let format: String
  private let characters: [Character]
  private var position = 0
  private var argumentCount = 0

  private init(_ format: String) {
    self.format = format
    characters = Array(format)
  }

  /// The words, the last of which is `.end`, and how many arguments they ask for.
  static func tokens(
    of format: String
  ) throws(FetchError) -> (tokens: [PredicateToken], argumentCount: Int) {
    var lexer = PredicateLexer(format)
    var tokens: [PredicateToken] = []
    repeat { tokens.append(try lexer.next()) } while tokens.last?.kind != .end
    return (tokens, lexer.argumentCount)
  }

  private mutating func next() throws(FetchError) -> PredicateToken {
    while position < characters.count, characters[position].isWhitespace { position += 1 }
    let start = position
    guard let character = peek() else { return PredicateToken(kind: .end, position: start) }
    let kind: PredicateToken.Kind
    switch character {
    case "'", "\"": kind = .string(try string(quote: character))
    case "0"..."9": kind = try number()
    case "%": kind = try placeholder()
    case "$": kind = .variable(try word(after: "a variable name"))
    case "#": kind = .identifier(try word(after: "a key"))
    case "@": kind = .collectionOperator(try word(after: "a collection operator"))
    case _ where Self.startsWord(character):
      let word = self.word()
      let upper = word.uppercased()
      kind = Self.reserved.contains(upper) ? .keyword(upper) : .identifier(word)
    default: kind = try symbol()
    }
    return PredicateToken(kind: kind, position: start)
  }

  private func peek(_ offset: Int = 0) -> Character? {
    position + offset < characters.count ? characters[position + offset] : nil
  }

  private func starts(with text: String) -> Bool {
    characters[position...].starts(with: text)
  }

  static func startsWord(_ character: Character) -> Bool {
    character.isLetter || character == "_"
  }

  static func isWordPart(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_"
  }

  private mutating func word() -> String {
    let start = position
    while let character = peek(), Self.isWordPart(character) { position += 1 }
    return String(characters[start..<position])
  }

  /// The word behind a mark such as `$`.
  private mutating func word(after what: String) throws(FetchError) -> String {
    let start = position
    position += 1
    let word = self.word()
    guard let first = word.first, Self.startsWord(first) else {
      throw error("\(what) was expected behind '\(characters[start])'", at: start)
    }
    return word
  }

  private mutating func symbol() throws(FetchError) -> PredicateToken.Kind {
    for symbol in Self.symbols where starts(with: symbol.spelling) {
      position += symbol.spelling.count
      return .symbol(symbol.canonical)
    }
    throw error("'\(characters[position])' means nothing in a predicate", at: position)
  }

  private mutating func placeholder() throws(FetchError) -> PredicateToken.Kind {
    for placeholder in Self.placeholders where starts(with: placeholder) {
      position += placeholder.count
      defer { argumentCount += 1 }
      if placeholder == "%K" { return .key(argument: argumentCount) }
      return .value(argument: argumentCount, format: placeholder)
    }
    throw FetchError(
      .syntax, "'%' starts no known placeholder",
      suggestion: "Use %@ for a value, %K for a key path, %d, %ld or %f for a number.",
      format: format, position: position)
  }

  private mutating func string(quote: Character) throws(FetchError) -> String {
    let start = position
    var text = String.UnicodeScalarView()
    position += 1
    while let character = peek(), character != quote {
      position += 1
      guard character == "\\" else {
        text.append(contentsOf: character.unicodeScalars)
        continue
      }
      guard let escaped = peek() else { break }
      position += 1
      switch escaped {
      case "n": text.append("\n")
      case "t": text.append("\t")
      case "r": text.append("\r")
      case "0": text.append("\0")
      case "u", "x":
        let count = escaped == "u" ? 4 : 2
        let digits = String(characters[position...].prefix(count))
        guard digits.count == count, let code = UInt32(digits, radix: 16),
          let scalar = Unicode.Scalar(code)
        else { throw error("\\\(escaped) needs \(count) hexadecimal digits", at: position) }
        position += count
        text.append(scalar)
      // Escapes that only patterns know (`\.` in MATCHES, `\*` in LIKE) reach the pattern.
      case "\\", "'", "\"": text.append(contentsOf: escaped.unicodeScalars)
      default: text.append(contentsOf: "\\\(escaped)".unicodeScalars)
      }
    }
    guard peek() == quote else {
      throw FetchError(
        .syntax, "The text that starts here does not end",
        suggestion: "Close it with \(quote), or pass it as an argument for %@.", format: format,
        position: start)
    }
    position += 1
    return String(text)
  }

  private mutating func number() throws(FetchError) -> PredicateToken.Kind {
    let start = position
    if peek() == "0", peek(1) == "x" || peek(1) == "X" {
      position += 2
      guard let value = Int64(word(), radix: 16) else {
        throw error("This is no hexadecimal number of 64 bits", at: start)
      }
      return .integer(value)
    }
    if peek() == "0", let mark = peek(1), let radix = ["b": 2, "B": 2, "o": 8, "O": 8][mark] {
      position += 2
      guard let value = Int64(word(), radix: radix) else {
        throw error("This is no number of 64 bits to the base \(radix)", at: start)
      }
      return .integer(value)
    }
    skipDigits()
    var isInteger = true
    if peek() == ".", let digit = peek(1), digit.isASCII, digit.isNumber {
      isInteger = false
      position += 1
      skipDigits()
    }
    if peek() == "e" || peek() == "E" {
      let sign = peek(1) == "-" || peek(1) == "+" ? 1 : 0
      if let digit = peek(1 + sign), digit.isASCII, digit.isNumber {
        isInteger = false
        position += 1 + sign
        skipDigits()
      }
    }
    let text = String(characters[start..<position])
    if let next = peek(), Self.isWordPart(next) {
      throw error("'\(text)\(next)' is no number", at: start)
    }
    if isInteger, let value = Int64(text) { return .integer(value) }
    guard let value = Double(text), value.isFinite else {
      throw error("'\(text)' is no number that fits 64 bits", at: start)
    }
    return .double(value)
  }

  private mutating func skipDigits() {
    while let digit = peek(), digit.isASCII, digit.isNumber { position += 1 }
  }

  private func error(_ message: String, at position: Int) -> FetchError {
    FetchError(
      .syntax, message, suggestion: "Correct the format string at the mark.", format: format,
      position: position)
  }
}
