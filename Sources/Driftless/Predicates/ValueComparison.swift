import Foundation

extension PropertyValue {
  /// The value as text: a string, or the spelling of a URL.
  var text: String? {
    switch self {
    case .string(let text): text
    case .uri(let url): url.absoluteString
    default: nil
    }
  }

  /// A number as the text that a text among numbers is compared with; nil for what is no number.
  var numberText: String? {
    switch self {
    case .bool, .integer: wholeNumber.map { "\($0)" }
    case .double(let value): "\(value)"
    case .decimal(let value): "\(value)"
    default: nil
    }
  }

  /// The value as a number of floating point; nil when it is no number.
  var number: Double? {
    switch self {
    case .bool(let value): value ? 1 : 0
    case .integer(let value): Double(value)
    case .double(let value): value
    case .decimal(let value): Double("\(value)")
    default: nil
    }
  }

  /// The value as a whole number; nil for a number with a fraction, which has `.number`.
  var wholeNumber: Int64? {
    switch self {
    case .bool(let value): value ? 1 : 0
    case .integer(let value): value
    default: nil
    }
  }

  /// Whether a predicate takes the two for equal, whatever their number types.
  /// - Throws: ``FetchError`` for kinds that never compare.
  func isEqual(
    _ other: PropertyValue, _ options: FetchComparison.Options
  ) throws(FetchError) -> Bool {
    switch (self, other) {
    case (.reference(let left), .reference(let right)): return left == right
    case (.uuid(let left), .uuid(let right)): return left == right
    case (.uuid(let left), .string(let right)): return left == UUID(uuidString: right)
    case (.string(let left), .uuid(let right)): return UUID(uuidString: left) == right
    case (.data(let left), .data(let right)): return left == right
    case _ where text != nil && other.text != nil:
      // Equal by folding alone: what a locale only orders is not the same.
      return TextPattern.order(
        TextPattern.fold(text ?? "", options), TextPattern.fold(other.text ?? "", options))
        == .orderedSame
    default: return try order(other, options) == .orderedSame
    }
  }

  /// The order that predicates and sorts see; nil when there is none (not a number).
  func order(
    _ other: PropertyValue, _ options: FetchComparison.Options
  ) throws(FetchError) -> ComparisonResult? {
    if let left = text, let right = other.text {
      if options.isCollation { return TextPattern.collate(left, right, options) }
      return TextPattern.order(
        TextPattern.fold(left, options), TextPattern.fold(right, options))
    }
    switch (self, other) {
    case (.date(let left), .date(let right)):
      return Self.order(
        left.timeIntervalSinceReferenceDate, right.timeIntervalSinceReferenceDate)
    case (.data(let left), .data(let right)): return Self.order(left, right)
    case (.uuid(let left), .uuid(let right)):
      return Self.order(left.bytes, right.bytes)
    case (.decimal, _), (_, .decimal):
      guard let left = decimalKey, let right = other.decimalKey else { break }
      return left.flatMap { left in right.map { Self.order(left, $0) } }
    default:
      if let left = wholeNumber, let right = other.wholeNumber {
        return left < right ? .orderedAscending : left > right ? .orderedDescending : .orderedSame
      }
      if let left = wholeNumber, let right = other.number { return Self.order(left, right) }
      if let left = number, let right = other.wholeNumber {
        return Self.order(right, left)?.reversed
      }
      if let left = number, let right = other.number { return Self.order(left, right) }
    }
    throw FetchError(
      .typeMismatch, "\(self) and \(other) do not compare",
      suggestion: "Compare values of one kind; pass dates as Date and keys as object IDs.")
  }

  /// nil when this is no number, `.some(nil)` when it is none that a decimal can hold.
  private var decimalKey: Data?? {
    switch self {
    case .decimal(let value): .some(DecimalKey.bytes(of: value))
    case .double(let value): .some(DecimalKey.bytes(of: value))
    default: wholeNumber.map { DecimalKey.bytes(of: Decimal($0)) }
    }
  }

  private static func order(_ left: Double, _ right: Double) -> ComparisonResult? {
    if left.isNaN || right.isNaN { return nil }
    return left < right ? .orderedAscending : left > right ? .orderedDescending : .orderedSame
  }

  /// Exact, beyond the 53 bits of a double too.
  private static func order(_ left: Int64, _ right: Double) -> ComparisonResult? {
    if right.isNaN { return nil }
    guard let floor = Int64(exactly: right.rounded(.down)) else {
      return right < 0 ? .orderedDescending : .orderedAscending
    }
    if left != floor { return left < floor ? .orderedAscending : .orderedDescending }
    return right > right.rounded(.down) ? .orderedAscending : .orderedSame
  }

  static func order(_ left: Data, _ right: Data) -> ComparisonResult {
    if left == right { return .orderedSame }
    return left.lexicographicallyPrecedes(right) ? .orderedAscending : .orderedDescending
  }
}

extension ComparisonResult {
  var reversed: ComparisonResult {
    switch self {
    case .orderedAscending: .orderedDescending
    case .orderedSame: .orderedSame
    case .orderedDescending: .orderedAscending
    }
  }
}
