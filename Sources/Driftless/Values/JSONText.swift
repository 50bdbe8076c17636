package import Foundation

/// Writes values as canonical JSON text: one value, one spelling, on every machine.
///
/// Dates are ISO 8601 in UTC with microseconds, or as many digits more as it takes to read back the same, decimals and UUIDs strings, binary base64, numbers
/// with a fraction the shortest text that reads back the same, and what JSON has no number for the
/// strings "NaN", "Infinity", "-Infinity".
package struct JSONText {
  package private(set) var bytes: [UInt8] = []

  package init() {}

  package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  package mutating func raw(_ text: StaticString) {
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  package mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

  /// - Parameter reference: writes the value of a to-one relationship.
  package mutating func value(
    _ value: PropertyValue, reference: (ObjectKey, inout JSONText) throws -> Void
  ) rethrows {
    switch value {
    case .null: raw("null")
    case .bool(let value): raw(value ? "true" : "false")
    case .integer(let value): raw(String(value))
    case .double(let value): number(value)
    case .decimal(let value): string(value.description)
    case .string(let value): string(value)
    case .date(let value): date(value.timeIntervalSinceReferenceDate)
    case .data(let value): base64(value)
    case .uuid(let value): uuid(value)
    case .uri(let value): string(value.absoluteString)
    case .reference(let key): try reference(key, &self)
    }
  }

  package mutating func string(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { utf8 in
      if utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C }) {
        return bytes.append(contentsOf: utf8)
      }
      for byte in utf8 {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
          bytes.append(UInt8(ascii: "\\"))
          bytes.append(byte)
        case 0x0A: raw("\\n")
        case 0x0D: raw("\\r")
        case 0x09: raw("\\t")
        case 0..<0x20:
          raw("\\u00")
          hexadecimal(byte)
        default: bytes.append(byte)
        }
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  package mutating func uuid(_ value: UUID) {
    bytes.append(UInt8(ascii: "\""))
    value.withNetworkBytes { uuid in
      for (index, byte) in uuid.enumerated() {
        if index == 4 || index == 6 || index == 8 || index == 10 {
          bytes.append(UInt8(ascii: "-"))
        }
        hexadecimal(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func hexadecimal(_ byte: UInt8) {
    let digits: StaticString = "0123456789abcdef"
    digits.withUTF8Buffer { digits in
      bytes.append(digits[Int(byte >> 4)])
      bytes.append(digits[Int(byte & 15)])
    }
  }

  private mutating func base64(_ data: Data) {
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: data.base64EncodedData())
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func number(_ value: Double) {
    if value.isNaN {
      raw("\"NaN\"")
    } else if value.isInfinite {
      raw(value < 0 ? "\"-Infinity\"" : "\"Infinity\"")
    } else {
      raw(value.description)
    }
  }

  /// Whether a date is written as a number: one out of any calendar, or one whose digits after the point would be too many.
  package static func isWrittenAsNumber(date seconds: Double) -> Bool {
    if isOutOfCalendar(seconds) { return true }
    return (seconds * 1_000_000).rounded() / 1_000_000 != seconds && ExactSeconds(seconds) == nil
  }

  /// Whether a date is out of any calendar. Beyond some 140,000 years a double has no microseconds: the plain number says more.
  private static func isOutOfCalendar(_ seconds: Double) -> Bool {
    !(abs((seconds * 1_000_000).rounded()) < 4.5e18)
  }

  /// - Parameter seconds: since 2001-01-01, as Core Data keeps dates.
  private mutating func date(_ seconds: Double) {
    guard !Self.isOutOfCalendar(seconds) else { return number(seconds) }
    let total = Int64((seconds * 1_000_000).rounded())
    guard Double(total) / 1_000_000 == seconds else {
      guard let exact = ExactSeconds(seconds) else { return number(seconds) }
      return date(whole: exact.whole * 1_000_000, fraction: exact.fraction, exact.digits)
    }
    let microseconds = (total % 1_000_000 + 1_000_000) % 1_000_000
    date(whole: total - microseconds, fraction: UInt64(microseconds), 6)
  }

  /// - Parameters:
  ///   - total: microseconds since 2001-01-01, of whole seconds.
  ///   - fraction: what comes after the point.
  ///   - fractionDigits: how many digits that has.
  private mutating func date(whole total: Int64, fraction: UInt64, _ fractionDigits: Int) {
    let day: Int64 = 86_400_000_000
    let days = (total >= 0 ? total : total - (day - 1)) / day
    let (year, month, dayOfMonth) = Self.civil(daysSince2001: days)
    let time = total - days * day
    bytes.append(UInt8(ascii: "\""))
    if year < 0 { bytes.append(UInt8(ascii: "-")) }
    digits(abs(year), 4)
    bytes.append(UInt8(ascii: "-"))
    digits(month, 2)
    bytes.append(UInt8(ascii: "-"))
    digits(dayOfMonth, 2)
    bytes.append(UInt8(ascii: "T"))
    digits(time / 3_600_000_000, 2)
    bytes.append(UInt8(ascii: ":"))
    digits(time / 60_000_000 % 60, 2)
    bytes.append(UInt8(ascii: ":"))
    digits(time / 1_000_000 % 60, 2)
    bytes.append(UInt8(ascii: "."))
    digits(fraction, fractionDigits)
    raw("Z\"")
  }

  private mutating func digits(_ value: some BinaryInteger, _ width: Int) {
    let text = String(value)
    for _ in 0..<max(0, width - text.utf8.count) { bytes.append(UInt8(ascii: "0")) }
    raw(text)
  }

  /// The date of the proleptic Gregorian calendar, by Howard Hinnant's `civil_from_days`.
  private static func civil(daysSince2001: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = daysSince2001 + 11_323 + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }
}
