import Foundation

/// Anything that stands for a stored object in a predicate, such as an object or its ID.
package protocol ObjectKeyProviding {
  var providedObjectKey: ObjectKey { get }
}

/// Anything else that a caller may pass for `%@` and that one value stands for.
protocol PredicateArgument {
  /// Nil when no single value does.
  var predicateArgument: PropertyValue? { get }
}

extension FetchExpression {
  /// A constant, or a list, from a value that a caller passed for `%@` or a variable.
  init(argument: Any?) throws(FetchError) {
    guard let argument else {
      self = .constant(.null)
      return
    }
    if let expression = argument as? FetchExpression {
      self = expression
      return
    }
    if let value = PropertyValue(predicateArgument: argument) {
      self = .constant(value)
      return
    }
    guard let elements = Self.elements(of: argument) else {
      throw FetchError(
        .argument, "A value of type \(type(of: argument)) cannot stand in a predicate",
        suggestion: "Pass a number, text, date, data, UUID, URL, object ID, or an array of these.")
    }
    var items: [FetchExpression] = []
    for element in elements { items.append(try FetchExpression(argument: element)) }
    self = .list(items)
  }

  private static func elements(of argument: Any) -> [Any?]? {
    switch argument {
    case let array as [Any?]: array
    case let set as Set<AnyHashable>: set.map(\.base)
    case let range as ClosedRange<Int>: [range.lowerBound, range.upperBound]
    case let range as ClosedRange<Double>: [range.lowerBound, range.upperBound]
    case let range as ClosedRange<Date>: [range.lowerBound, range.upperBound]
    default: nil
    }
  }
}

extension PropertyValue {
  /// nil when the argument is of a kind that no single value holds.
  fileprivate init?(predicateArgument argument: Any) {
    switch argument {
    case let value as PropertyValue: self = value
    case let value as any ObjectKeyProviding: self = .reference(value.providedObjectKey)
    case let value as ObjectKey: self = .reference(value)
    case let argument as any PredicateArgument:
      guard let value = argument.predicateArgument else { return nil }
      self = value
    case let value as any AttributeConvertible: self = value.propertyValue
    case is NSNull: self = .null
    case let value as NSString: self = .string(String(value))
    case let value as any BinaryInteger:
      guard let integer = Int64(exactly: value) else { return nil }
      self = .integer(integer)
    case let value as any RawRepresentable:
      self.init(predicateArgument: value.rawValue)
    case let value as Any?:
      guard case .some(let wrapped) = value, type(of: wrapped) != type(of: argument) else {
        return nil
      }
      self.init(predicateArgument: wrapped)
    }
  }
}
