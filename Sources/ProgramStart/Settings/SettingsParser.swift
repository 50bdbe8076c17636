import Foundation

/// Reads JSON, and keeps lines: what the parser of the standard library does not tell. A file that a person writes may have
/// comments (`//` to the end of a line, `/* */`), and a comma behind the last of several.
struct SettingsParser {
  private let bytes: [UInt8]
  private var index = 0
  private var line = 1
  private var depth = 0
  /// Where a comment begins that has no end.
  private var openComment: Int?

  private static let depthMax = 32

  init(_ data: Data) { bytes = [UInt8](data) }

  /// One value, and nothing after it.
  mutating func file() throws(SettingsComplaint) -> SettingsNode {
    skipSpace()
    guard peek != nil else { throw complaint("the file is empty") }
    let node = try value()
    skipSpace()
    guard peek == nil else { throw complaint("something follows it") }
    return node
  }

  private var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

  private func complaint(_ message: String) -> SettingsComplaint {
    if let openComment {
      return SettingsComplaint(
        line: openComment, "this is no JSON object: a comment begins here that has no end")
    }
    return SettingsComplaint(line: line, "this is no JSON object: \(message)")
  }

  /// White space and comments.
  private mutating func skipSpace() {
    while index < bytes.count {
      switch bytes[index] {
      case 0x0A: line += 1
      case 0x20, 0x09, 0x0D: break
      case UInt8(ascii: "/"):
        guard skipComment() else { return }
        continue
      default: return
      }
      index += 1
    }
  }

  /// False where no comment is, or one that has no end.
  private mutating func skipComment() -> Bool {
    let rest = bytes[index...]
    if rest.starts(with: "//".utf8) {
      index = rest.firstIndex(of: 0x0A) ?? bytes.count
      return true
    }
    guard rest.starts(with: "/*".utf8) else { return false }
    var lines = 0
    var place = index + 2
    while place + 1 < bytes.count {
      if bytes[place] == UInt8(ascii: "*"), bytes[place + 1] == UInt8(ascii: "/") {
        line += lines
        index = place + 2
        return true
      }
      if bytes[place] == 0x0A { lines += 1 }
      place += 1
    }
    openComment = openComment ?? line
    return false
  }

  /// Takes a byte, after white space, if it is the one.
  private mutating func takes(_ byte: Unicode.Scalar) -> Bool {
    skipSpace()
    guard peek == UInt8(ascii: byte) else { return false }
    index += 1
    return true
  }

  private mutating func value() throws(SettingsComplaint) -> SettingsNode {
    skipSpace()
    let start = line
    guard let byte = peek else { throw complaint("the file ends where a value is due") }
    switch byte {
    case UInt8(ascii: "{"): return SettingsNode(.object(try members()), line: start)
    case UInt8(ascii: "["): return SettingsNode(.array(try elements()), line: start)
    case UInt8(ascii: "\""): return SettingsNode(.text(try text()), line: start)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      return SettingsNode(.number(try number()), line: start)
    default: return SettingsNode(try word(), line: start)
    }
  }

  private mutating func nested<Result>(
    _ body: (inout SettingsParser) throws(SettingsComplaint) -> Result
  ) throws(SettingsComplaint) -> Result {
    guard depth < Self.depthMax else {
      throw complaint("it is nested more than \(Self.depthMax) deep")
    }
    index += 1
    depth += 1
    defer { depth -= 1 }
    return try body(&self)
  }

  private mutating func members() throws(SettingsComplaint) -> [SettingsNode.Member] {
    try nested { (parser: inout SettingsParser) throws(SettingsComplaint) in
      var members: [SettingsNode.Member] = []
      if parser.takes("}") { return members }
      repeat {
        parser.skipSpace()
        if parser.peek == UInt8(ascii: "}"), !members.isEmpty { break }
        guard parser.peek == UInt8(ascii: "\"") else {
          throw parser.complaint("the name of a setting, in double quotes, is due")
        }
        let line = parser.line
        let name = try parser.text()
        guard parser.takes(":") else {
          throw parser.complaint("a colon is due after \"\(name)\"")
        }
        members.append(.init(name: name, line: line, node: try parser.value()))
      } while parser.takes(",")
      guard parser.takes("}") else {
        throw parser.complaint("a comma or } is due after \"\(members.last?.name ?? "")\"")
      }
      return members
    }
  }

  private mutating func elements() throws(SettingsComplaint) -> [SettingsNode] {
    try nested { (parser: inout SettingsParser) throws(SettingsComplaint) in
      var elements: [SettingsNode] = []
      if parser.takes("]") { return elements }
      repeat {
        parser.skipSpace()
        if parser.peek == UInt8(ascii: "]"), !elements.isEmpty { break }
        elements.append(try parser.value())
      } while parser.takes(",")
      guard parser.takes("]") else { throw parser.complaint("a comma or ] is due") }
      return elements
    }
  }

  private mutating func text() throws(SettingsComplaint) -> String {
    let start = index
    index += 1
    while let byte = peek, byte != UInt8(ascii: "\"") {
      guard byte >= 0x20 else {
        throw complaint(
          byte == 0x0A
            ? "a text has no second quote on its line"
            : "a text has a control character (\\u\(String(format: "%04x", byte)))")
      }
      index += byte == UInt8(ascii: "\\") ? 2 : 1
    }
    guard index < bytes.count else { throw complaint("the file ends within a text") }
    index += 1
    // Its escapes, and whether it is UTF-8, are as elsewhere.
    guard let text = try? JSONDecoder().decode(String.self, from: Data(bytes[start..<index])) else {
      throw complaint("a text is no UTF-8, or has an escape that is none")
    }
    return text
  }

  private mutating func number() throws(SettingsComplaint) -> String {
    let start = index
    while let byte = peek, Self.isOfNumber(byte) { index += 1 }
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    guard (try? JSONDecoder().decode(Double.self, from: Data(bytes[start..<index]))) != nil else {
      throw complaint("\(text.prefix(40)) is no number")
    }
    return text
  }

  private static func isOfNumber(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"),
      UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
      true
    default: false
    }
  }

  private mutating func word() throws(SettingsComplaint) -> SettingsNode.Value {
    let words: [(String, SettingsNode.Value)] = [
      ("true", .flag(true)), ("false", .flag(false)), ("null", .null),
    ]
    for (word, value) in words where bytes[index...].starts(with: word.utf8) {
      index += word.utf8.count
      return value
    }
    let byte = bytes[index]
    let what =
      byte > 0x20 && byte < 0x7F
      ? "\"\(Unicode.Scalar(byte))\"" : "the byte \(String(format: "%02x", byte))"
    throw complaint("\(what) stands where a value is due")
  }
}
