import Foundation

/// A figure over the last minutes, as a curve.
struct Plot {
  let title: String
  /// How many samples there is room for.
  let places: Int
  /// Oldest first; at most as many as there are places.
  let values: [Double]
  let text: (Double) -> String

  private static let (width, height) = (360.0, 72.0)

  var html: HTML {
    let most = values.max() ?? 0
    let told =
      values.isEmpty
      ? "no sample so far" : "now \(text(values[values.count - 1])), most \(text(most))"
    return """
      <figure class="plot"><figcaption>\(title) <span class="quiet">\(told)</span></figcaption>\
      <svg viewBox="0 0 360 72" preserveAspectRatio="none" role="img" aria-label="\(title): \(told)">\
      <path class="ground" d="M0 71.5H360"/>\(curve(most))</svg></figure>
      """
  }

  /// The newest sample lies at the right edge.
  private func curve(_ most: Double) -> HTML {
    guard let first = values.first else { return "" }
    let step = Self.width / Double(places)
    let start = Self.width - Double(values.count) * step
    func place(_ value: Double) -> Double {
      let share = most > 0 ? min(1, max(0, value / most)) : 0
      return Self.height - 1 - share * (Self.height - 6)
    }
    var line = "M\(Self.short(start)) \(Self.short(place(first)))"
    for (index, value) in values.enumerated() {
      line += "L\(Self.short(start + Double(index + 1) * step)) \(Self.short(place(value)))"
    }
    let ground = Self.short(Self.height)
    let area = "\(line)L\(Self.short(Self.width)) \(ground)L\(Self.short(start)) \(ground)Z"
    return "<path class=\"area\" d=\"\(area)\"/><path class=\"curve\" d=\"\(line)\"/>"
  }

  private static func short(_ value: Double) -> String {
    let tenths = (value * 10).rounded()
    return tenths.truncatingRemainder(dividingBy: 10) == 0
      ? "\(Int(tenths / 10))" : "\(tenths / 10)"
  }
}

/// Figures as people read them.
enum Figure {
  static func bytes(_ count: some BinaryInteger) -> String {
    bytes(Double(count))
  }

  static func bytes(_ count: Double) -> String {
    guard count >= 1000 else { return "\(Int(count.rounded())) B" }
    var (value, unit) = (count, 0)
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"]
    while value >= 999.5, unit < units.count - 1 { (value, unit) = (value / 1000, unit + 1) }
    return "\(decimal(value)) \(units[unit])"
  }

  static func rate(_ value: Double) -> String { "\(decimal(value))/s" }

  /// Three digits that count.
  static func decimal(_ value: Double) -> String {
    guard value < 99.95 else { return count(Int(value.rounded())) }
    let tenths = (value * 10).rounded() / 10
    return tenths == tenths.rounded() ? "\(Int(tenths))" : "\(tenths)"
  }

  /// With a thin space between thousands.
  static func count(_ value: some BinaryInteger) -> String {
    let digits = Array("\(value)")
    return digits.enumerated().reduce(into: "") { text, digit in
      let left = digits.count - digit.offset
      if digit.offset > 0, left % 3 == 0, digits[digit.offset - 1] != "-" { text += "\u{202F}" }
      text.append(digit.element)
    }
  }

  /// A span of time in its largest unit.
  static func span(milliseconds: Int64) -> String {
    let seconds = max(0, milliseconds / 1000)
    switch seconds {
    case ..<60: return "\(seconds) s"
    case ..<3600: return "\(seconds / 60) min"
    case ..<86_400: return "\(seconds / 3600) h"
    default: return "\(seconds / 86_400) d"
    }
  }
}
