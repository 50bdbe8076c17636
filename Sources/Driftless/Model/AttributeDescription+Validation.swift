import Foundation

extension AttributeDescription {
  /// Checks a value against the type, the bounds, the pattern and whether it may be missing.
  ///
  /// - Throws: ``ValidationError`` with Core Data's code, which names the entity and the attribute.
  public func validate(_ value: PropertyValue) throws(ValidationError) {
    do throws(ValidationError) {
      try check(value)
    } catch {
      var failure = error
      failure.value = value
      throw failure
    }
  }

  /// Whether there are values of its type, or null, that it does not hold.
  package var limitsValues: Bool {
    if isKeptInMemory { return false }
    return !mayBeMissing || type == .integer16 || type == .integer32 || minimum != nil
      || maximum != nil || regularExpression != nil || !ownPredicates.isEmpty
  }

  private func check(_ value: PropertyValue) throws(ValidationError) {
    guard !value.isNull else {
      guard mayBeMissing || isKeptInMemory else {
        throw failure(ValidationError.missingMandatoryProperty, "a value is required")
      }
      return
    }
    guard type.accepts(value) else { throw wrongType(value) }
    switch value {
    case .string(let text): try validate(text)
    case .date, .integer, .double, .decimal: try validate(bounded: value)
    case .null, .bool, .data, .uuid, .uri, .reference: break
    }
    try validatePredicates(value)
  }

  private func validatePredicates(_ value: PropertyValue) throws(ValidationError) {
    for (index, predicate) in ownPredicates.enumerated() {
      let ofValue = predicate.mapExpressions { expression in
        switch expression {
        case .keyPath([]): FetchExpression.constant(value)
        case .keyPath(["length"]) where type == .string:
          FetchExpression.function(.length, [.constant(value)])
        default: expression
        }
      }
      let holds: Bool
      do throws(FetchError) {
        holds = try ofValue.evaluate(NoProperties())
      } catch {
        throw failure(ValidationError.managedObjectValidation, "\(error)")
      }
      guard holds else { throw ValidationError(self, ownWarnings, at: index, predicate) }
    }
  }

  private func wrongType(_ value: PropertyValue) -> ValidationError {
    if case .integer(let number) = value, type == .integer16 || type == .integer32 {
      let code = number > 0 ? ValidationError.numberTooLarge : ValidationError.numberTooSmall
      return failure(code, "\(number) does not fit into the type \(type)")
    }
    return failure(ValidationError.invalidType, "the value is not of type \(type)")
  }

  private func validate(_ text: String) throws(ValidationError) {
    // Core Data counts UTF-16 code units.
    let length = Int64(text.utf16.count)
    if case .integer(let least)? = minimum, length < least {
      throw failure(.minimum(.integer(least), type), "the text is shorter than \(least)")
    }
    if case .integer(let greatest)? = maximum, length > greatest {
      throw failure(.maximum(.integer(greatest), type), "the text is longer than \(greatest)")
    }
    guard let expression = regularExpression else { return }
    let range = NSRange(location: 0, length: text.utf16.count)
    guard let pattern = pattern ?? Self.pattern(expression),
      pattern.firstMatch(in: text, range: range) != nil
    else {
      throw failure(.pattern(expression), "the text does not match \(expression)")
    }
  }

  private func validate(bounded value: PropertyValue) throws(ValidationError) {
    if let least = minimum, value.isBelow(least) || value.isNaN {
      throw failure(.minimum(least, type), "the value is below \(least.modelText ?? "")")
    }
    if let greatest = maximum, greatest.isBelow(value) || value.isNaN {
      throw failure(.maximum(greatest, type), "the value is above \(greatest.modelText ?? "")")
    }
  }

  /// A bound that the value breaks, with the predicate that stands for it.
  private func failure(_ bound: AttributeBound, _ message: String) -> ValidationError {
    ValidationError(
      code: bound.code, property: self, message: message, predicate: bound.predicate)
  }

  private func failure(_ code: Int, _ message: String) -> ValidationError {
    ValidationError(code: code, property: self, message: message)
  }
}

/// What a predicate on a value reads: nothing but the value, which stands in the predicate.
private struct NoProperties: PropertySource {
  var predicateObjectKey: ObjectKey? { nil }
  func predicateValue(forKey key: String) -> PredicateValue? { nil }
}

extension PropertyValue {
  /// Whether this is a number that is none; no bound holds for it.
  fileprivate var isNaN: Bool {
    switch self {
    case .double(let value): value.isNaN
    case .decimal(let value): value.isNaN
    default: false
    }
  }
}
