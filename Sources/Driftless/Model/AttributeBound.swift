import Foundation

/// A bound of an attribute as the validation predicate that Core Data compiles it to.
enum AttributeBound {
  case minimum(PropertyValue, AttributeType)
  case maximum(PropertyValue, AttributeType)
  case pattern(String)

  /// Nil for a predicate that is no bound of the type, or a warning that is not the bound's.
  init?(_ predicate: FetchPredicate, _ warning: ValidationWarning, of type: AttributeType) {
    self.init(predicate, of: type)
    guard warning == .code(code) else { return nil }
  }

  /// Nil for a predicate that is no bound of the type.
  init?(_ predicate: FetchPredicate, of type: AttributeType) {
    guard case .comparison(let comparison) = predicate, comparison.modifier == .direct,
      comparison.options == [],
      case .constant(let constant) = comparison.right
    else { return nil }
    let bound: AttributeBound
    switch comparison.operator {
    case .matches:
      guard type == .string, case .string(let pattern) = constant else { return nil }
      bound = .pattern(pattern)
    case .greaterOrEqual:
      guard let value = Self.value(constant, type) else { return nil }
      bound = .minimum(value, type)
    case .lessOrEqual:
      guard let value = Self.value(constant, type) else { return nil }
      bound = .maximum(value, type)
    default: return nil
    }
    guard comparison.left == bound.left else { return nil }
    self = bound
  }

  var predicate: FetchPredicate {
    switch self {
    case .minimum(let value, _):
      .comparison(FetchComparison(left, .greaterOrEqual, .constant(value)))
    case .maximum(let value, _): .comparison(FetchComparison(left, .lessOrEqual, .constant(value)))
    case .pattern(let pattern):
      .comparison(FetchComparison(left, .matches, .constant(.string(pattern))))
    }
  }

  /// The error code of a value that breaks the bound.
  var code: Int {
    switch self {
    case .minimum(_, .string): ValidationError.stringTooShort
    case .maximum(_, .string): ValidationError.stringTooLong
    case .minimum(_, .date): ValidationError.dateTooSoon
    case .maximum(_, .date): ValidationError.dateTooLate
    case .minimum: ValidationError.numberTooSmall
    case .maximum: ValidationError.numberTooLarge
    case .pattern: ValidationError.stringPatternMatching
    }
  }

  private var left: FetchExpression {
    switch self {
    case .minimum(_, .string), .maximum(_, .string): .keyPath(["length"])
    case .minimum, .maximum, .pattern: .keyPath([])
    }
  }

  /// The bound as an attribute of the type has it: integers for integers and lengths.
  private static func value(_ value: PropertyValue, _ type: AttributeType) -> PropertyValue? {
    guard type.acceptsBound(value) else { return nil }
    switch (type, value) {
    case (.string, .integer), (.date, .date): return value
    case (.integer16, _), (.integer32, _), (.integer64, _), (.double, _), (.float, _),
      (.decimal, _):
      return PropertyValue(modelText: value.modelText ?? "", type: type)
    default: return nil
    }
  }
}
