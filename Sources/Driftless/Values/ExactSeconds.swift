/// A number of seconds as whole seconds and decimal digits after the point: as few as read back the same number.
package struct ExactSeconds {
  /// The whole seconds, rounded down.
  let whole: Int64
  /// What comes after the point, as a whole number of so many digits.
  let fraction: UInt64
  let digits: Int

  /// As many digits after the point as a reader takes.
  static let digitsMax = 18

  /// Nil for what has more digits after the point, a few attoseconds, and for what is no such number.
  init?(_ seconds: Double) {
    // The shortest text that reads back the same, with an exponent for what is very small.
    let text = seconds.magnitude.description
    let parts = text.split(separator: "e")
    let number = parts[0].split(separator: ".")
    guard parts.count == 1 || parts.count == 2, (1...2).contains(number.count) else { return nil }
    var (above, below) = (String(number[0]), number.count == 2 ? String(number[1]) : "")
    if parts.count == 2 {
      guard let exponent = Int(parts[1]), exponent < 0, -exponent <= Self.digitsMax else {
        return nil
      }
      below = String(repeating: "0", count: -exponent - above.count) + above + below
      above = "0"
    }
    guard let whole = Int64(above), below.count <= Self.digitsMax, let fraction = UInt64(below)
    else { return nil }
    digits = below.count
    guard seconds < 0, fraction > 0 else {
      self.whole = seconds < 0 ? -whole : whole
      self.fraction = fraction
      return
    }
    // Below zero the digits count up from the second before.
    self.whole = -whole - 1
    self.fraction = (0..<below.count).reduce(1) { power, _ in power * 10 } - fraction
  }

  /// The nearest number to whole seconds and a fraction of so many digits.
  package static func seconds(whole: Int64, fraction: UInt64, digits: Int) -> Double? {
    func text(_ number: UInt64) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
    guard whole < 0, fraction > 0 else { return Double("\(whole).\(text(fraction))") }
    let power = (0..<digits).reduce(1 as UInt64) { power, _ in power * 10 }
    // Of −1 s and a fraction the whole part is none, and has no sign of its own.
    return Double("-\(-(whole + 1)).\(text(power - fraction))")
  }
}
