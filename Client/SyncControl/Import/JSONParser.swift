import Foundation

/// Reads one JSON value from bytes (RFC 8259), strictly: no duplicate names, no trailing text,
/// bounded depth.
///
/// Foundation's reader turns numbers into doubles or decimals by its own judgement and takes the
/// last of two members with one name; an import must do neither.
struct JSONParser {
  /// What is wrong, and where: `column` counts bytes from 1.
  struct Failure: Error, Hashable {
    var column: Int
    var message: String
  }

  /// Nesting that no import line needs; bounds the stack.
  static let depthMax = 32

  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0

  private init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  static func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws(Failure) -> JSONValue {
    var parser = JSONParser(bytes)
    let value = try parser.value(depth: 0)
    parser.skipSpace()
    guard parser.position == bytes.count else { throw parser.failure("text after the value") }
    return value
  }

  static func parse(_ text: String) throws(Failure) -> JSONValue {
    let result: Result<JSONValue, Failure> = Array(text.utf8).withUnsafeBufferPointer { bytes in
      do throws(Failure) { return .success(try parse(bytes)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  private func failure(_ message: String) -> Failure {
    Failure(column: position + 1, message: message)
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
      position += 1
    }
  }

  private mutating func value(depth: Int) throws(Failure) -> JSONValue {
    guard depth <= Self.depthMax else {
      throw failure("nested deeper than \(Self.depthMax) levels")
    }
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case nil: throw failure("the line ends where a value belongs")
    case let byte? where byte == UInt8(ascii: "-") || Self.isDigit(byte): return try number()
    default: throw failure("no JSON value starts like this")
    }
  }

  private mutating func word(_ word: StaticString, _ value: JSONValue) throws(Failure) -> JSONValue
  {
    let count = word.utf8CodeUnitCount
    let matches = word.withUTF8Buffer { expected in
      position + count <= bytes.count && expected.elementsEqual(bytes[position..<position + count])
    }
    guard matches else { throw failure("no JSON value starts like this") }
    position += count
    return value
  }

  private mutating func object(depth: Int) throws(Failure) -> JSONValue {
    position += 1
    var members: [JSONValue.Member] = []
    skipSpace()
    if next == UInt8(ascii: "}") {
      position += 1
      return .object([])
    }
    while true {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw failure("a member's name belongs here") }
      let name = try string()
      // Members are few: looking through them is cheaper than a set.
      if members.contains(where: { $0.name == name }) {
        throw failure("the member \"\(name)\" occurs twice")
      }
      skipSpace()
      guard next == UInt8(ascii: ":") else { throw failure("a colon belongs here") }
      position += 1
      members.append(.init(name: name, value: try value(depth: depth + 1)))
      skipSpace()
      switch next {
      case UInt8(ascii: ","): position += 1
      case UInt8(ascii: "}"):
        position += 1
        return .object(members)
      default: throw failure("a comma or } belongs here")
      }
    }
  }

  private mutating func array(depth: Int) throws(Failure) -> JSONValue {
    position += 1
    var elements: [JSONValue] = []
    skipSpace()
    if next == UInt8(ascii: "]") {
      position += 1
      return .array([])
    }
    while true {
      elements.append(try value(depth: depth + 1))
      skipSpace()
      switch next {
      case UInt8(ascii: ","): position += 1
      case UInt8(ascii: "]"):
        position += 1
        return .array(elements)
      default: throw failure("a comma or ] belongs here")
      }
    }
  }

  private mutating func number() throws(Failure) -> JSONValue {
    let start = position
    if next == UInt8(ascii: "-") { position += 1 }
    let firstDigit = next
    guard digits() else { throw failure("a digit belongs here") }
    let digitCount = position - start - (bytes[start] == UInt8(ascii: "-") ? 1 : 0)
    guard firstDigit != UInt8(ascii: "0") || digitCount == 1 else {
      throw failure("a number does not start with 0")
    }
    if next == UInt8(ascii: ".") {
      position += 1
      guard digits() else { throw failure("a digit belongs here") }
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      position += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
      guard digits() else { throw failure("a digit belongs here") }
    }
    return .number(String(decoding: bytes[start..<position], as: UTF8.self))
  }

  /// Skips digits; false when there is none.
  private mutating func digits() -> Bool {
    let start = position
    while let byte = next, Self.isDigit(byte) { position += 1 }
    return position > start
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }

  private mutating func string() throws(Failure) -> String {
    position += 1
    let start = position
    while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 {
      position += 1
    }
    // The usual text has no escape: it is taken in one piece.
    if next == UInt8(ascii: "\"") {
      defer { position += 1 }
      return try text(bytes[start..<position])
    }
    var unescaped = Array(bytes[start..<position])
    while true {
      guard let byte = next else { throw failure("the line ends inside a text") }
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        return try text(unescaped[...])
      case UInt8(ascii: "\\"):
        try escape(&unescaped)
      case 0..<0x20:
        throw failure("a control character must be escaped")
      default:
        unescaped.append(byte)
        position += 1
      }
    }
  }

  /// The text of UTF-8 bytes; bytes that are no UTF-8 are refused, never repaired.
  private func text(_ utf8: some Collection<UInt8>) throws(Failure) -> String {
    guard let text = String(validating: utf8, as: UTF8.self) else {
      throw failure("the text before here is not UTF-8")
    }
    return text
  }

  private mutating func escape(_ output: inout [UInt8]) throws(Failure) {
    position += 1
    guard let byte = next else { throw failure("the line ends inside a text") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): output.append(byte)
    case UInt8(ascii: "b"): output.append(0x08)
    case UInt8(ascii: "f"): output.append(0x0C)
    case UInt8(ascii: "n"): output.append(0x0A)
    case UInt8(ascii: "r"): output.append(0x0D)
    case UInt8(ascii: "t"): output.append(0x09)
    case UInt8(ascii: "u"): try unicodeEscape(&output)
    default: throw failure("no escape is written like this")
    }
  }

  private mutating func unicodeEscape(_ output: inout [UInt8]) throws(Failure) {
    var code = try hexadecimal()
    if (0xD800..<0xDC00).contains(code) {
      guard next == UInt8(ascii: "\\"), position + 1 < bytes.count,
        bytes[position + 1] == UInt8(ascii: "u")
      else { throw failure("half of a surrogate pair") }
      position += 2
      let low = try hexadecimal()
      guard (0xDC00..<0xE000).contains(low) else { throw failure("half of a surrogate pair") }
      code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
    }
    guard let scalar = Unicode.Scalar(code) else { throw failure("half of a surrogate pair") }
    output.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
  }

  private mutating func hexadecimal() throws(Failure) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80
      else { throw failure("four hexadecimal digits belong here") }
      code = code << 4 | UInt32(digit)
      position += 1
    }
    return code
  }
}
