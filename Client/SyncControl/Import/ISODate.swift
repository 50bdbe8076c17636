/// Reads ISO 8601 dates with any number of fraction digits. Foundation's reader rounds fractions to
/// milliseconds.
enum ISODate {
  /// `YYYY-MM-DD`, then optionally `THH:MM:SS`, a fraction, and `Z` or `±HH:MM`; without a time it
  /// is midnight UTC.
  ///
  /// - Returns: Seconds since 2001-01-01 00:00 UTC, the nearest double; nil when the text is no
  ///   such date.
  static func secondsSinceReferenceDate(_ text: String) -> Double? {
    guard
      let form = text.wholeMatch(
        of:
          /(-?[0-9]{4,6})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,18}))?(Z|[+-][0-9]{2}:?[0-9]{2}))?/
      ), let year = Int64(form.1), let month = Int64(form.2), let day = Int64(form.3),
      (1...12).contains(month), day >= 1, day <= daysInMonth(month, year: year)
    else { return nil }
    let days = daysSince2001(year: year, month: month, day: day)
    guard let hours = form.4, let minutes = form.5, let seconds = form.6, let zone = form.8 else {
      return Double(days * 86_400)
    }
    guard let hour = Int64(hours), let minute = Int64(minutes), let second = Int64(seconds),
      hour < 24, minute < 60, second < 60, let offset = offsetSeconds(zone)
    else { return nil }
    let whole = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
    guard let fraction = form.7 else { return Double(whole) }
    return sum(whole, fraction)
  }

  /// Whole seconds and a fraction as one rounding, so that what `export` printed reads back the
  /// same.
  private static func sum(_ whole: Int64, _ fraction: Substring) -> Double {
    let digits = fraction.prefix(9)
    var units = Int64(digits) ?? 0
    for _ in digits.count..<9 { units *= 10 }
    let (total, overflow) = whole.multipliedReportingOverflow(by: 1_000_000)
    // Microseconds are exact as one division; finer digits are added after it.
    guard !overflow else { return Double(whole) + Double(units) / 1e9 }
    let micros = Double(total + units / 1_000) / 1e6
    return units % 1_000 == 0 ? micros : micros + Double(units % 1_000) / 1e9
  }

  private static func offsetSeconds(_ zone: Substring) -> Int64? {
    if zone == "Z" { return 0 }
    let digits = zone.dropFirst().filter { $0 != ":" }
    guard let hours = Int64(digits.prefix(2)), let minutes = Int64(digits.suffix(2)),
      hours < 24, minutes < 60
    else { return nil }
    return (zone.first == "-" ? -1 : 1) * (hours * 3_600 + minutes * 60)
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
