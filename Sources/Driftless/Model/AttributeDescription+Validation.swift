import Foundation

extension AttributeDescription {
  /// Checks a value against the type, the bounds, the pattern and whether it may be missing.
  public func validate(_ value: PropertyValue) throws(ValidationError) {
    guard !value.isNull else {
      guard isOptional || isTransient else {
        throw failure(ValidationError.missingMandatoryProperty, "a value is required")
      }
      return
    }
    guard type.accepts(value) else {
      let code =
        if case .integer(let number) = value, type != .integer64, type != .undefined {
          number > 0 ? ValidationError.numberTooLarge : ValidationError.numberTooSmall
        } else {
          ValidationError.invalidType
        }
      throw failure(code, "the value is not of type \(type)")
    }
    switch value {
    case .string(let text): try validate(text)
    case .date(let date): try validate(date)
    case .integer(let number): try validate(Double(number))
    case .double(let number): try validate(number)
    case .decimal(let number): try validate(NSDecimalNumber(decimal: number).doubleValue)
    default: return
    }
  }

  private func validate(_ text: String) throws(ValidationError) {
    if case .integer(let length)? = minimum, text.count < Int(length) {
      throw failure(ValidationError.stringTooShort, "the text is shorter than \(length)")
    }
    if case .integer(let length)? = maximum, text.count > Int(length) {
      throw failure(ValidationError.stringTooLong, "the text is longer than \(length)")
    }
    guard let pattern = regularExpression else { return }
    guard text.range(of: "^(?:\(pattern))$", options: .regularExpression) != nil else {
      throw failure(ValidationError.stringPatternMatching, "the text does not match \(pattern)")
    }
  }

  private func validate(_ date: Date) throws(ValidationError) {
    if case .date(let earliest)? = minimum, date < earliest {
      throw failure(ValidationError.dateTooSoon, "the date is before \(earliest)")
    }
    if case .date(let latest)? = maximum, date > latest {
      throw failure(ValidationError.dateTooLate, "the date is after \(latest)")
    }
  }

  private func validate(_ number: Double) throws(ValidationError) {
    if let least = Self.number(minimum), number < least {
      throw failure(ValidationError.numberTooSmall, "the number is less than \(least)")
    }
    if let greatest = Self.number(maximum), number > greatest {
      throw failure(ValidationError.numberTooLarge, "the number is greater than \(greatest)")
    }
  }

  private static func number(_ value: PropertyValue?) -> Double? {
    switch value {
    case .integer(let number): Double(number)
    case .double(let number): number
    case .decimal(let number): NSDecimalNumber(decimal: number).doubleValue
    default: nil
    }
  }

  private func failure(_ code: Int, _ message: String) -> ValidationError {
    ValidationError(
      code: code, entityName: entity?.name ?? "", propertyName: name, message: message)
  }
}
