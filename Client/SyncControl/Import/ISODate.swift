import Driftless

/// Reads ISO 8601 dates with any number of fraction digits. Foundation's reader rounds fractions to
/// milliseconds.
enum ISODate {
  /// `YYYY-MM-DD`, then optionally `THH:MM:SS`, a fraction, and `Z` or `±HH:MM`; without a time it
  /// is midnight UTC.
  ///
  /// - Returns: Seconds since 2001-01-01 00:00 UTC, the nearest double; nil when the text is no
  ///   such date.
  static func secondsSinceReferenceDate(_ text: String) -> Double? {
    var text = text
    return text.withUTF8 { bytes in
      var reader = Reader(bytes: bytes)
      return reader.date()
    }
  }

  /// Reads byte by byte: a regular expression took a tenth of a millisecond a date.
  private struct Reader {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0

    mutating func date() -> Double? {
      let isNegative = take(UInt8(ascii: "-"))
      guard let years = number(4...6), take(UInt8(ascii: "-")), let month = number(2...2),
        take(UInt8(ascii: "-")), let day = number(2...2)
      else { return nil }
      let year = isNegative ? -years : years
      guard (1...12).contains(month), day >= 1, day <= ISODate.daysInMonth(month, year: year) else {
        return nil
      }
      let days = ISODate.daysSince2001(year: year, month: month, day: day)
      if position == bytes.count { return Double(days * 86_400) }
      guard take(UInt8(ascii: "T")) || take(UInt8(ascii: " ")), let hour = number(2...2),
        take(UInt8(ascii: ":")), let minute = number(2...2), take(UInt8(ascii: ":")),
        let second = number(2...2), hour < 24, minute < 60, second < 60
      else { return nil }
      var part: (units: UInt64, digits: Int)?
      if take(UInt8(ascii: ".")) {
        guard let fraction = fraction() else { return nil }
        part = fraction
      }
      guard let offset = offset(), position == bytes.count else { return nil }
      let whole = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
      return part.map { ISODate.sum(whole, $0.units, $0.digits) } ?? Double(whole)
    }

    private mutating func take(_ byte: UInt8) -> Bool {
      guard position < bytes.count, bytes[position] == byte else { return false }
      position += 1
      return true
    }

    private mutating func digit() -> Int64? {
      guard position < bytes.count, (0x30...0x39).contains(bytes[position]) else { return nil }
      defer { position += 1 }
      return Int64(bytes[position] - 0x30)
    }

    /// A number of so many digits.
    private mutating func number(_ digits: ClosedRange<Int>) -> Int64? {
      var (number, count) = (Int64(0), 0)
      while count < digits.upperBound, let digit = digit() {
        number = number * 10 + digit
        count += 1
      }
      return count >= digits.lowerBound ? number : nil
    }

    /// 1 to 18 digits; those at the end that are zeros do not count.
    private mutating func fraction() -> (units: UInt64, digits: Int)? {
      var (units, count) = (UInt64(0), 0)
      while count < 18, let digit = digit() {
        units = units * 10 + UInt64(digit)
        count += 1
      }
      guard count > 0 else { return nil }
      while count > 6, units % 10 == 0 {
        units /= 10
        count -= 1
      }
      return (units, count)
    }

    /// `Z`, `±HH:MM` or `±HHMM`, in seconds.
    private mutating func offset() -> Int64? {
      if take(UInt8(ascii: "Z")) { return 0 }
      let isNegative = take(UInt8(ascii: "-"))
      guard isNegative || take(UInt8(ascii: "+")), let hours = number(2...2) else { return nil }
      _ = take(UInt8(ascii: ":"))
      guard let minutes = number(2...2), hours < 24, minutes < 60 else { return nil }
      return (isNegative ? -1 : 1) * (hours * 3_600 + minutes * 60)
    }
  }

  /// Whole seconds and a fraction as one rounding, so that what `export` printed reads back the
  /// same.
  private static func sum(_ whole: Int64, _ units: UInt64, _ digits: Int) -> Double {
    let (total, overflow) = whole.multipliedReportingOverflow(by: 1_000_000)
    guard !overflow, digits <= 6 else {
      return ExactSeconds.seconds(whole: whole, fraction: units, digits: digits) ?? Double(whole)
    }
    // Microseconds are exact as one division.
    let power = (digits..<6).reduce(1 as Int64) { power, _ in power * 10 }
    return Double(total + Int64(units) * power) / 1e6
  }

  private static func daysInMonth(_ month: Int64, year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Howard Hinnant's `days_from_civil`, from 2001-01-01.
  private static func daysSince2001(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468 - 11_323
  }
}
