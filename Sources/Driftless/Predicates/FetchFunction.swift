import Foundation

/// The functions that work in memory and in the store alike.
public enum FetchFunction: String, Hashable, Sendable, CaseIterable {
  case add = "add:to:"
  case subtract = "from:subtract:"
  case multiply = "multiply:by:"
  /// Between two integers it drops the remainder; by zero it gives null.
  case divide = "divide:by:"
  case modulus = "modulus:by:"
  case negate = "negate:"
  case absolute = "abs:"
  case uppercase = "uppercase:"
  case lowercase = "lowercase:"
  /// Without case and diacritics.
  case canonical = "canonical:"
  /// Length of a text in UTF-16 units, as `NSString.length`.
  case length = "length:"
  case floor = "floor:"
  case ceiling = "ceiling:"
  /// Without the fraction.
  case truncate = "trunc:"
  case squareRoot = "sqrt:"
  /// Of base 10.
  case logarithm = "log:"
  case naturalLogarithm = "ln:"
  case exponential = "exp:"
  case power = "raise:toPower:"
  case bitwiseAnd = "bitwiseAnd:with:"
  case bitwiseOr = "bitwiseOr:with:"
  case bitwiseXor = "bitwiseXor:with:"
  case leftShift = "leftshift:by:"
  case rightShift = "rightshift:by:"
  case onesComplement = "onesComplement:"
  /// At least 0 and less than 1, for each object another one.
  case random = "random"
  /// A whole number, at least 0 and less than the operand.
  case randomBelow = "random:"
  /// The current time, when the predicate is evaluated or compiled.
  case now = "now"

  /// How many operands it takes.
  var argumentCount: Int {
    switch self {
    case .add, .subtract, .multiply, .divide, .modulus, .power, .bitwiseAnd, .bitwiseOr,
      .bitwiseXor, .leftShift, .rightShift:
      2
    case .negate, .absolute, .uppercase, .lowercase, .canonical, .length, .floor, .ceiling,
      .truncate, .squareRoot, .logarithm, .naturalLogarithm, .exponential, .onesComplement,
      .randomBelow:
      1
    case .now, .random: 0
    }
  }
}

extension FetchFunction {
  /// The result, computed as SQLite would; null when an operand is null.
  func apply(to operands: [PropertyValue], now: Date) throws(FetchError) -> PropertyValue {
    guard operands.count == argumentCount else { throw mismatch(operands) }
    if self == .now { return .date(now) }
    if self == .random { return .double(.random(in: 0..<1)) }
    if operands.contains(where: \.isNull) { return .null }
    switch self {
    case .uppercase, .lowercase, .canonical, .length:
      guard let text = operands[0].text else { throw mismatch(operands) }
      return apply(to: text)
    case .negate: return try FetchFunction.subtract.apply(to: [.integer(0), operands[0]], now: now)
    case .randomBelow:
      guard let number = operands[0].number else { throw mismatch(operands) }
      let bound = operands[0].wholeNumber ?? Self.clamped(number)
      return bound > 0 ? .integer(.random(in: 0..<bound)) : .null
    case .absolute:
      guard let number = operands[0].number else { throw mismatch(operands) }
      return number < 0 ? try FetchFunction.negate.apply(to: operands, now: now) : operands[0]
    case _ where isMathematical:
      let numbers = operands.map(\.number)
      guard !numbers.contains(nil) else { throw mismatch(operands) }
      return compute(operands)
    default:
      if let date = try applyToDates(operands) { return date }
      return try applyToNumbers(operands)
    }
  }

  /// Whether ``compute(_:)`` knows it.
  var isMathematical: Bool {
    switch self {
    case .floor, .ceiling, .truncate, .squareRoot, .logarithm, .naturalLogarithm, .exponential,
      .power, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift, .onesComplement:
      true
    default: false
    }
  }

  /// The result of a mathematical function, the same in memory and inside the store; null where there is none.
  func compute(_ operands: [PropertyValue]) -> PropertyValue {
    guard operands.count == argumentCount, let value = operands[0].number,
      let other = operands[argumentCount - 1].number
    else { return .null }
    switch self {
    case .floor: return rounded(operands[0], value, .down)
    case .ceiling: return rounded(operands[0], value, .up)
    case .truncate: return rounded(operands[0], value, .towardZero)
    case .squareRoot: return .number(value.squareRoot())
    case .logarithm: return .number(log10(value))
    case .naturalLogarithm: return .number(log(value))
    case .exponential: return .number(exp(value))
    case .power: return .number(pow(value, other))
    default:
      let left = operands[0].wholeNumber ?? Self.clamped(value)
      let right = operands[argumentCount - 1].wholeNumber ?? Self.clamped(other)
      switch self {
      case .bitwiseAnd: return .integer(left & right)
      case .bitwiseOr: return .integer(left | right)
      case .bitwiseXor: return .integer(left ^ right)
      case .leftShift: return .integer(left << right)
      case .rightShift: return .integer(left >> right)
      default: return .integer(~left)
      }
    }
  }

  private func rounded(
    _ operand: PropertyValue, _ value: Double, _ rule: FloatingPointRoundingRule
  ) -> PropertyValue {
    operand.wholeNumber.map { .integer($0) } ?? .number(value.rounded(rule))
  }

  private func apply(to text: String) -> PropertyValue {
    switch self {
    case .uppercase: .string(text.uppercased())
    case .lowercase: .string(text.lowercased())
    case .canonical:
      .string(TextPattern.fold(text, [.caseInsensitive, .diacriticInsensitive]))
    default: .integer(Int64(text.utf16.count))
    }
  }

  /// A date and seconds give a date, two dates the seconds between.
  private func applyToDates(
    _ operands: [PropertyValue]
  ) throws(FetchError) -> PropertyValue? {
    switch (operands[0], operands[1]) {
    case (.date(let date), .date(let other)) where self == .subtract:
      return .double(
        date.timeIntervalSinceReferenceDate - other.timeIntervalSinceReferenceDate)
    case (.date(let date), let other):
      guard let seconds = other.number, self == .add || self == .subtract else {
        throw mismatch(operands)
      }
      return .date(date.addingTimeInterval(self == .add ? seconds : -seconds))
    case (let other, .date(let date)):
      guard let seconds = other.number, self == .add else { throw mismatch(operands) }
      return .date(date.addingTimeInterval(seconds))
    default: return nil
    }
  }

  private func applyToNumbers(_ operands: [PropertyValue]) throws(FetchError) -> PropertyValue {
    guard let left = operands[0].number, let right = operands[1].number else {
      throw mismatch(operands)
    }
    if let left = operands[0].wholeNumber, let right = operands[1].wholeNumber {
      if right == 0, self == .divide || self == .modulus { return .null }
      if self == .modulus { return .integer(right == -1 ? 0 : left % right) }
      let (result, overflow) = wholeResult(left, right)
      if !overflow { return .integer(result) }
    }
    switch self {
    case .add: return .double(left + right)
    case .subtract: return .double(left - right)
    case .multiply: return .double(left * right)
    case .divide: return right == 0 ? .null : .double(left / right)
    default:
      // Like SQLite, on the whole parts.
      let whole = Self.clamped(right)
      if whole == 0 { return .null }
      return .double(whole == -1 ? 0 : Double(Self.clamped(left) % whole))
    }
  }

  private func wholeResult(_ left: Int64, _ right: Int64) -> (Int64, Bool) {
    switch self {
    case .add: left.addingReportingOverflow(right)
    case .subtract: left.subtractingReportingOverflow(right)
    case .multiply: left.multipliedReportingOverflow(by: right)
    default: left.dividedReportingOverflow(by: right)
    }
  }

  private static func clamped(_ number: Double) -> Int64 {
    Int64(exactly: number.rounded(.towardZero)) ?? (number < 0 ? .min : number > 0 ? .max : 0)
  }

  private func mismatch(_ operands: [PropertyValue]) -> FetchError {
    let values = operands.map { "\($0)" }.joined(separator: ", ")
    return FetchError(
      .typeMismatch, "\(rawValue) cannot work on \(values)",
      suggestion: "Arithmetic takes numbers, or a date and seconds; text functions take text.")
  }
}

extension PropertyValue {
  /// Null for what is no number.
  fileprivate static func number(_ value: Double) -> PropertyValue {
    value.isNaN ? .null : .double(value)
  }
}
