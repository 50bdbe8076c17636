package import Foundation

extension Date {
  /// Seconds from 2001 on or before, up to which a date is told as a day: some thirty thousand years.
  private static let secondsTold = 1e12

  /// The date in words, as `description` has it. That ends the process for a date that is no number, and for one that no calendar
  /// reaches; a file may hold either.
  package var words: String {
    let seconds = timeIntervalSinceReferenceDate
    // No number is below another one.
    return seconds.magnitude < Self.secondsTold ? description : "\(seconds) s since 2001"
  }
}

extension PropertyValue: CustomStringConvertible {
  /// The case and what it holds, as in `integer(3)`; for messages and logs.
  public var description: String {
    if case .date(let date) = self { return "date(\(date.words))" }
    guard let held = Mirror(reflecting: self).children.first else { return "null" }
    return "\(held.label ?? "")(\(String(reflecting: held.value)))"
  }
}

/// A value that somebody gave, in words.
func words(of value: Any) -> String { (value as? Date)?.words ?? "\(value)" }
