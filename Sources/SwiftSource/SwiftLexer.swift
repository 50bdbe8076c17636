/// Parts Swift source into tokens, so that nothing in a comment or a text is ever taken for code.
struct SwiftLexer {
  /// The source ends inside of what begins at a place.
  struct Unfinished: Error, Hashable {
    var offset: Int
    /// As a person calls it: a text, a comment.
    var what: String
  }

  /// Behind these a slash begins a regular expression, as behind a sign.
  private static let wordsBeforeValues: Set<String> = [
    "return", "in", "case", "if", "while", "guard", "where", "else", "throw", "try", "await",
    "is", "as", "yield", "and", "any", "some",
  ]

  let bytes: [UInt8]
  private(set) var tokens: [SwiftToken] = []
  private var index = 0
  private var beginsLine = true

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  static func tokens(of bytes: [UInt8]) throws(Unfinished) -> [SwiftToken] {
    var lexer = SwiftLexer(bytes)
    lexer.index = textStart(of: bytes)
    if bytes.starts(with: "#!".utf8) { lexer.skipLine() }
    try lexer.code(insideText: false)
    return lexer.tokens
  }

  /// The byte behind a mark of the byte order, where there is one.
  static func textStart(of bytes: [UInt8]) -> Int {
    bytes.starts(with: "\u{FEFF}".utf8) ? 3 : 0
  }

  // MARK: Code

  private mutating func code(insideText: Bool) throws(Unfinished) {
    var depth = 0
    while index < bytes.count {
      let byte = bytes[index]
      switch byte {
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        beginsLine = true
        index += 1
      case UInt8(ascii: " "), UInt8(ascii: "\t"), 0, 0x0B, 0x0C: index += 1
      case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/"): skipLine()
      case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"): try skipComment()
      case UInt8(ascii: "/"):
        if let end = endOfRegex() { add(.literal, to: end) } else { add(.sign, to: index + 1) }
      case UInt8(ascii: "\""): try text(hashes: 0)
      case UInt8(ascii: "#"): try hash()
      case UInt8(ascii: "`"): try quotedName()
      case _ where Self.isOfWord(byte): add(.word, to: endOfWord(index))
      case UInt8(ascii: "-") where peek(1) == UInt8(ascii: ">"): add(.sign, to: index + 2)
      default:
        if insideText, byte == UInt8(ascii: ")"), depth == 0 { return }
        if byte == UInt8(ascii: "(") { depth += 1 }
        if byte == UInt8(ascii: ")") { depth -= 1 }
        add(.sign, to: index + 1)
      }
    }
  }

  private func peek(_ distance: Int) -> UInt8? {
    index + distance < bytes.count ? bytes[index + distance] : nil
  }

  static func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...0xFF:
      true
    default: false
    }
  }

  private func endOfWord(_ start: Int) -> Int {
    var end = start
    while end < bytes.count, Self.isOfWord(bytes[end]) { end += 1 }
    return end
  }

  private mutating func add(_ kind: SwiftToken.Kind, to end: Int) {
    let text = kind == .literal ? "" : String(decoding: bytes[index..<end], as: UTF8.self)
    tokens.append(
      SwiftToken(kind: kind, range: index..<end, text: text, beginsLine: beginsLine))
    beginsLine = false
    index = end
  }

  private mutating func quotedName() throws(Unfinished) {
    guard let close = bytes[(index + 1)...].firstIndex(of: UInt8(ascii: "`")) else {
      throw Unfinished(offset: index, what: "a name in backticks")
    }
    add(.word, to: close + 1)
  }

  // MARK: Comments

  private mutating func skipLine() {
    while index < bytes.count, !Self.isLineEnd(bytes[index]) { index += 1 }
  }

  static func isLineEnd(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
  }

  private mutating func skipComment() throws(Unfinished) {
    let start = index
    var depth = 0
    while index + 1 < bytes.count {
      switch (bytes[index], bytes[index + 1]) {
      case (UInt8(ascii: "/"), UInt8(ascii: "*")):
        depth += 1
        index += 2
      case (UInt8(ascii: "*"), UInt8(ascii: "/")):
        depth -= 1
        index += 2
        if depth == 0 { return }
      default:
        if Self.isLineEnd(bytes[index]) { beginsLine = true }
        index += 1
      }
    }
    throw Unfinished(offset: start, what: "a comment")
  }

  // MARK: Texts

  private mutating func hash() throws(Unfinished) {
    var hashes = 0
    while peek(hashes) == UInt8(ascii: "#") { hashes += 1 }
    switch peek(hashes) {
    case UInt8(ascii: "\""): try text(hashes: hashes)
    case UInt8(ascii: "/"): try extendedRegex(hashes: hashes)
    case let byte? where hashes == 1 && Self.isOfWord(byte):
      add(.directive, to: endOfWord(index + 1))
    default: add(.sign, to: index + 1)
    }
  }

  private func isMark(_ mark: String, hashes: Int, at place: Int) -> Bool {
    let all = Array(mark.utf8) + Array(repeating: UInt8(ascii: "#"), count: hashes)
    return bytes[place...].starts(with: all)
  }

  /// Whether three quotation marks begin a text of several lines: with signs before them they may hold one mark alone.
  private func isLong(hashes: Int) -> Bool {
    let start = index + hashes
    guard isMark("\"\"\"", hashes: 0, at: start) else { return false }
    var place = start + 1
    while hashes > 0, place < bytes.count, !Self.isLineEnd(bytes[place]) {
      if isMark("\"", hashes: hashes, at: place) { return false }
      place += 1
    }
    return true
  }

  private mutating func text(hashes: Int) throws(Unfinished) {
    let start = index
    let isLong = isLong(hashes: hashes)
    let mark = isLong ? "\"\"\"" : "\""
    var place = index + hashes + mark.utf8.count
    while place < bytes.count {
      if bytes[place] == UInt8(ascii: "\""), isMark(mark, hashes: hashes, at: place) {
        return add(.literal, to: place + mark.utf8.count + hashes)
      }
      if !isLong, Self.isLineEnd(bytes[place]) { break }
      guard bytes[place] == UInt8(ascii: "\\"), isMark("", hashes: hashes, at: place + 1) else {
        place += 1
        continue
      }
      place += 1 + hashes
      guard place < bytes.count, bytes[place] == UInt8(ascii: "(") else {
        place += 1
        continue
      }
      add(.literal, to: place + 1)
      try code(insideText: true)
      // It stands at the closing parenthesis, with which the next piece begins.
      guard index < bytes.count else { break }
      place = index + 1
    }
    throw Unfinished(offset: start, what: "a text")
  }

  // MARK: Regular expressions

  private mutating func extendedRegex(hashes: Int) throws(Unfinished) {
    let start = index
    var place = index + hashes + 1
    while place < bytes.count {
      if bytes[place] == UInt8(ascii: "\\") {
        place += 2
      } else if bytes[place] == UInt8(ascii: "/"), isMark("/", hashes: hashes, at: place) {
        return add(.literal, to: place + 1 + hashes)
      } else {
        place += 1
      }
    }
    throw Unfinished(offset: start, what: "a regular expression")
  }

  /// The end of a regular expression between slashes; nil where the slash is an operator.
  private func endOfRegex() -> Int? {
    guard isValueExpected, let first = peek(1), first != UInt8(ascii: " "),
      first != UInt8(ascii: "\t")
    else { return nil }
    var place = index + 1
    var depth = 0
    var isInClass = false
    while place < bytes.count, !Self.isLineEnd(bytes[place]) {
      switch bytes[place] {
      case UInt8(ascii: "\\"): place += 1
      case UInt8(ascii: "["): isInClass = true
      case UInt8(ascii: "]"): isInClass = false
      case UInt8(ascii: "(") where !isInClass: depth += 1
      case UInt8(ascii: ")") where !isInClass:
        depth -= 1
        if depth < 0 { return nil }
      case UInt8(ascii: "/"):
        return bytes[place - 1] == UInt8(ascii: " ") ? nil : place + 1
      default: break
      }
      place += 1
    }
    return nil
  }

  /// Whether a value comes next, by the token before.
  private var isValueExpected: Bool {
    guard let last = tokens.last else { return true }
    switch last.kind {
    case .word: return Self.wordsBeforeValues.contains(last.text)
    case .literal:
      // The first piece of a text ends with the parenthesis behind which its code begins.
      return bytes[last.range.upperBound - 1] == UInt8(ascii: "(")
    case .directive: return last.text == "#if" || last.text == "#elseif"
    case .sign:
      if [")", "]", "}"].contains(last.text) { return false }
      // Signs of optionals stand at what they belong to.
      let before = last.range.lowerBound - 1
      if "?!".contains(last.text), before >= 0 { return bytes[before] == UInt8(ascii: " ") }
      return true
    }
  }
}
