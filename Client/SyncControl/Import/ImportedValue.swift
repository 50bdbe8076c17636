import Driftless
import Foundation

/// Turns JSON values of import lines into attribute values, exactly or not at all.
enum ImportedValue {
  /// The value of `json` for an attribute of `type`, or what is wrong with it.
  static func attribute(_ json: JSONValue, type: AttributeType) -> Result<PropertyValue, Mismatch> {
    if json == .null { return .success(.null) }
    let value: PropertyValue? =
      switch type {
      case .integer16: integer(json, in: Int64(Int16.min)...Int64(Int16.max))
      case .integer32: integer(json, in: Int64(Int32.min)...Int64(Int32.max))
      case .integer64: integer(json, in: Int64.min...Int64.max)
      case .boolean: bool(json)
      case .double: number(json).map { .double($0) }
      case .float: number(json).map { .double(Double(Float($0))) }
      case .decimal: decimal(json)
      case .string: text(json).map { .string($0) }
      case .date: date(json)
      case .binaryData, .transformable:
        text(json).flatMap { Data(base64Encoded: $0) }.map { .data($0) }
      case .uuid: text(json).flatMap { UUID(uuidString: $0) }.map { .uuid($0) }
      case .uri: text(json).flatMap { URL(string: $0) }.map { .uri($0) }
      case .undefined, .objectID, .composite: nil
      }
    return value.map { .success($0) } ?? .failure(Mismatch(expected: expectation(of: type)))
  }

  /// A value of another kind than the attribute takes.
  struct Mismatch: Error {
    /// What belongs there, such as "a whole number".
    var expected: String
  }

  private static func expectation(of type: AttributeType) -> String {
    switch type {
    case .integer16: "a whole number from -32768 to 32767"
    case .integer32: "a whole number from -2147483648 to 2147483647"
    case .integer64: "a whole number of 64 bits"
    case .boolean: "true or false"
    case .double, .float: "a number"
    case .decimal: "a decimal number as text, of at most 38 digits"
    case .string: "a text"
    case .date: "a date as text, such as \"2026-11-21T04:47:00.25Z\""
    case .binaryData, .transformable: "base64 text"
    case .uuid: "a UUID"
    case .uri: "a URI"
    case .undefined, .objectID, .composite: "nothing that a line can hold"
    }
  }

  private static func text(_ json: JSONValue) -> String? {
    if case .string(let text) = json { return text }
    return nil
  }

  private static func integer(_ json: JSONValue, in range: ClosedRange<Int64>) -> PropertyValue? {
    guard case .number(let text) = json, let value = Int64(text), range.contains(value) else {
      return nil
    }
    return .integer(value)
  }

  private static func bool(_ json: JSONValue) -> PropertyValue? {
    switch json {
    case .bool(let value): .bool(value)
    case .number("0"): .bool(false)
    case .number("1"): .bool(true)
    default: nil
    }
  }

  /// A number; JSON has no word for what is none, so those come as the texts that `export` writes.
  private static func number(_ json: JSONValue) -> Double? {
    switch json {
    case .number(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
    case .string("NaN"): .nan
    case .string("Infinity"): .infinity
    case .string("-Infinity"): -.infinity
    default: nil
    }
  }

  private static func decimal(_ json: JSONValue) -> PropertyValue? {
    let text: String
    switch json {
    case .string(let value): text = value
    case .number(let value): text = value
    default: return nil
    }
    if text == "NaN" { return .decimal(.nan) }
    // Foundation reads "1.2x" as 1.2 and drops digits beyond 38: both are refused here.
    guard isDecimal(text),
      let value = Decimal(string: text, locale: posix), !value.isNaN
    else { return nil }
    return .decimal(value)
  }

  private static let posix = Locale(identifier: "en_US_POSIX")

  /// `-?DIGITS`, then optionally `.DIGITS` and an exponent of 1 to 3 digits; at most 38 digits from
  /// the first that is no zero. Read byte by byte: a regular expression took a tenth of a
  /// millisecond a number.
  private static func isDecimal(_ text: String) -> Bool {
    var bytes = text.utf8[...]
    /// Takes digits away, and counts them.
    func digits() -> Int {
      let rest = bytes.drop { (0x30...0x39).contains($0) }
      defer { bytes = rest }
      return bytes.distance(from: bytes.startIndex, to: rest.startIndex)
    }
    func take(_ accepted: UInt8...) -> Bool {
      guard let first = bytes.first, accepted.contains(first) else { return false }
      bytes = bytes.dropFirst()
      return true
    }
    _ = take(UInt8(ascii: "-"))
    let number = bytes
    var count = digits()
    guard count > 0 else { return false }
    if take(UInt8(ascii: ".")) {
      let fraction = digits()
      guard fraction > 0 else { return false }
      count += fraction
    }
    let zeros = number.prefix { $0 == 0x30 || $0 == UInt8(ascii: ".") }.count { $0 == 0x30 }
    guard count - zeros <= 38 else { return false }
    if take(UInt8(ascii: "e"), UInt8(ascii: "E")) {
      _ = take(UInt8(ascii: "+"), UInt8(ascii: "-"))
      guard (1...3).contains(digits()) else { return false }
    }
    return bytes.isEmpty
  }

  private static func date(_ json: JSONValue) -> PropertyValue? {
    switch json {
    case .string(let text):
      return ISODate.secondsSinceReferenceDate(text).map {
        .date(Date(timeIntervalSinceReferenceDate: $0))
      }
    case .number:
      // `export` writes dates that are out of any calendar as seconds since 2001.
      return number(json).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    default:
      return nil
    }
  }
}
