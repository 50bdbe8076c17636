import Driftless
import Foundation

/// Adds numbers up: whole ones to one, as long as 64 bits hold it; with a decimal among them exactly, as long as a decimal
/// holds it; else in doubles, infinity and what is no number among them.
struct NumberSum {
  /// Nil once 64 bits are too few, and with other numbers.
  private var whole: Int64? = 0
  /// Nil once there is what no decimal is.
  private var decimal: Decimal? = 0
  private var hasDecimals = false
  private var double = 0.0

  mutating func add(_ value: PropertyValue) {
    switch value {
    case .integer(let value): add(value)
    case .bool(let value): add(value ? 1 : 0)
    case .decimal(let value):
      (whole, hasDecimals) = (nil, true)
      double += NSDecimalNumber(decimal: value).doubleValue
      add(value)
    case .double(let value):
      whole = nil
      double += value
      // A decimal of a double's own digits would have more of them than anybody wrote.
      add(Decimal(wholeText: "\(value)"))
    default: break
    }
  }

  private mutating func add(_ value: Int64) {
    let (sum, isTooGreat) = (whole ?? 0).addingReportingOverflow(value)
    whole = whole == nil || isTooGreat ? nil : sum
    double += Double(value)
    add(Decimal(value))
  }

  private mutating func add(_ value: Decimal?) {
    guard let value, let sum = decimal else { return decimal = nil }
    decimal = sum + value
  }

  var result: NSNumber {
    if let whole { return NSNumber(value: whole) }
    if hasDecimals, let decimal { return NSDecimalNumber(decimal: decimal) }
    return NSNumber(value: double)
  }
}
