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
      case .float: float(json)
      case .decimal: decimal(json)
      case .string: text(json).map { .string($0) }
      case .date: date(json)
      case .binaryData, .transformable:
        text(json).flatMap { Data(base64Encoded: $0) }.map { .data($0) }
      case .uuid: text(json).flatMap { UUID(uuidString: $0) }.map { .uuid($0) }
      case .uri: text(json).flatMap { URL(string: $0) }.map { .uri($0) }
      case .undefined, .objectID, .composite: nil
      }
    return value.map { .success($0) }
      ?? .failure(
        Mismatch(
          expected: reach(json, of: type) ?? impossibleDate(json, of: type)
            ?? expectation(of: type)))
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
    case .double: "a number"
    case .float: "a number up to \(Float.greatestFiniteMagnitude)"
    case .decimal: "a decimal number as text, of at most 38 digits, zeros around them aside"
    case .string: "a text"
    case .date: "a date as text, such as \"2026-11-21T04:47:00.25Z\""
    case .binaryData, .transformable: "base64 text"
    case .uuid: "a UUID"
    case .uri: "a URI"
    case .undefined, .objectID, .composite: "nothing that a line can hold"
    }
  }

  /// Of a date that is written as one and that there is not, such as 29 February of most years.
  private static func impossibleDate(_ json: JSONValue, of type: AttributeType) -> String? {
    guard type == .date, let text = text(json) else { return nil }
    let parts = text.prefix(10).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.count) == [4, 2, 2], parts.allSatisfy({ $0.allSatisfy(\.isWholeNumber) }),
      ISODate.secondsSinceReferenceDate(String(text.prefix(10))) == nil
    else { return nil }
    return "a day that the calendar has"
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

  /// What is too large for a Float is refused: it would become infinite.
  private static func float(_ json: JSONValue) -> PropertyValue? {
    guard let number = number(json) else { return nil }
    let value = Double(Float(number))
    return value.isFinite || !number.isFinite ? .double(value) : nil
  }

  private static func decimal(_ json: JSONValue) -> PropertyValue? {
    let text: String
    switch json {
    // What is no number comes as the text that `export` writes.
    case .string("NaN"): return .decimal(.nan)
    case .string(let value): text = value
    case .number(let value): text = value
    default: return nil
    }
    if let value = Decimal(shortText: text) { return .decimal(value) }
    // Foundation reads "1.2x" as 1.2 and drops digits that do not fit: both are refused here.
    guard let digits = decimalDigits(text),
      let value = Decimal(string: text, locale: posix), !value.isNaN
    else { return nil }
    // Some numbers of 39 digits fit.
    if digits.count > 38 {
      guard digits.count == 39, decimalDigits(value.description)?.elementsEqual(digits) == true
      else { return nil }
    }
    return .decimal(value)
  }

  /// What belongs there in place of a number that is too large for its type; nil for another mistake.
  private static func reach(_ json: JSONValue, of type: AttributeType) -> String? {
    switch (type, json) {
    case (.double, .number): "a number up to \(Double.greatestFiniteMagnitude)"
    // Of few enough digits: then it is its exponent that no value has.
    case (.decimal, .string(let text)), (.decimal, .number(let text)):
      decimalDigits(text).map { $0.count <= 38 } == true
        ? "a decimal number whose digits are multiplied by 10 to the power of -128 to 127" : nil
    default: nil
    }
  }

  private static let posix = Locale(identifier: "en_US_POSIX")

  /// The digits of `-?DIGITS`, then optionally `.DIGITS` and an exponent of 1 to 3 digits, from the
  /// first to the last that is no zero; nil when the text is no such number. Read byte by byte: a
  /// regular expression took a tenth of a millisecond a number.
  private static func decimalDigits(_ text: String) -> [UInt8]? {
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
    guard digits() > 0 else { return nil }
    if take(UInt8(ascii: ".")) {
      guard digits() > 0 else { return nil }
    }
    let mantissa = number[..<bytes.startIndex]
    if take(UInt8(ascii: "e"), UInt8(ascii: "E")) {
      _ = take(UInt8(ascii: "+"), UInt8(ascii: "-"))
      guard (1...3).contains(digits()) else { return nil }
    }
    guard bytes.isEmpty else { return nil }
    let significant = mantissa.filter { $0 != UInt8(ascii: ".") }.drop { $0 == 0x30 }
    guard let last = significant.lastIndex(where: { $0 != 0x30 }) else { return [] }
    return Array(significant[...last])
  }

  private static func date(_ json: JSONValue) -> PropertyValue? {
    switch json {
    case .string(let text):
      return (ISODate.secondsSinceReferenceDate(text) ?? number(json)).map {
        .date(Date(timeIntervalSinceReferenceDate: $0))
      }
    case .number:
      // `export` writes dates that are out of any calendar, or moments after its beginning, as seconds since 2001. Other numbers are seconds since another
      // time, or milliseconds: nobody can tell.
      guard let seconds = number(json), JSONText.isWrittenAsNumber(date: seconds) else {
        return nil
      }
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    default:
      return nil
    }
  }
}
