/// The words of a Swift file, without its comments and without the text of its strings; code inside of a string counts.
///
/// It knows no more of the language than it takes to tell words from text.
struct SwiftWords {
  struct Word {
    let text: String
    /// How many braces are open around it.
    let depth: Int
    /// Whether it names a member of what stands before it: `.title`.
    let isMember: Bool
  }

  private(set) var words: [Word] = []
  private let bytes: [UInt8]
  private var place = 0
  private var depth = 0
  /// The last byte of code that is no space.
  private var previous: UInt8 = 0

  init(_ text: String) {
    bytes = Array(text.utf8)
    code(until: nil)
  }

  /// Reads code, to the end or to the parenthesis that closes an interpolation.
  private mutating func code(until end: UInt8?) {
    var parentheses = 0
    while place < bytes.count {
      let byte = bytes[place]
      if byte == UInt8(ascii: ")"), byte == end, parentheses == 0 {
        place += 1
        return
      }
      switch byte {
      case UInt8(ascii: "/") where follows("//"): lineComment()
      case UInt8(ascii: "/") where follows("/*"): blockComment()
      case UInt8(ascii: "\""): string(hashes: 0)
      case UInt8(ascii: "#") where hashes > 0:
        let count = hashes
        place += count
        string(hashes: count)
      case _ where Self.isWord(byte): word()
      default:
        if byte == UInt8(ascii: "{") { depth += 1 }
        if byte == UInt8(ascii: "}") { depth -= 1 }
        if byte == UInt8(ascii: "(") { parentheses += 1 }
        if byte == UInt8(ascii: ")") { parentheses -= 1 }
        if byte > UInt8(ascii: " ") { previous = byte }
        place += 1
      }
    }
  }

  private mutating func word() {
    let start = place
    while place < bytes.count, Self.isWord(bytes[place]) { place += 1 }
    let text = String(decoding: bytes[start..<place], as: UTF8.self)
    words.append(Word(text: text, depth: depth, isMember: previous == UInt8(ascii: ".")))
    previous = bytes[place - 1]
  }

  private mutating func lineComment() {
    while place < bytes.count, bytes[place] != UInt8(ascii: "\n") { place += 1 }
  }

  private mutating func blockComment() {
    var nested = 0
    repeat {
      if follows("/*") {
        nested += 1
        place += 2
      } else if follows("*/") {
        nested -= 1
        place += 2
      } else {
        place += 1
      }
    } while nested > 0 && place < bytes.count
  }

  // MARK: Strings

  /// How many `#` begin a raw string here; 0 when none does.
  private var hashes: Int {
    var end = place
    while end < bytes.count, bytes[end] == UInt8(ascii: "#") { end += 1 }
    return end < bytes.count && bytes[end] == UInt8(ascii: "\"") ? end - place : 0
  }

  private mutating func string(hashes: Int) {
    let fence = String(repeating: "#", count: hashes)
    let quote = follows("\"\"\"") ? "\"\"\"" : "\""
    place += quote.utf8.count
    while place < bytes.count, !follows(quote + fence) {
      if follows("\\" + fence + "(") {
        place += 2 + hashes
        code(until: UInt8(ascii: ")"))
      } else {
        place += follows("\\" + fence) ? 2 + hashes : 1
      }
    }
    place += quote.utf8.count + hashes
    previous = UInt8(ascii: "\"")
  }

  private func follows(_ text: String) -> Bool { bytes[place...].starts(with: text.utf8) }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }
}
