import Driftless
import Foundation

/// Adds numbers of import lines to values of attributes, exactly as their type can, or not at all.
enum ImportedSum {
  /// Why something cannot be added.
  struct Refusal: Error {
    /// As the rest of a sentence that begins with the property.
    var reason: String
  }

  /// What belongs into a line to be added to an attribute of that type; nil where nothing can be.
  static func expectation(of type: AttributeType) -> String? {
    switch type {
    case .integer16, .integer32, .integer64: "a whole number of 64 bits"
    case .double: "a number up to \(Double.greatestFiniteMagnitude)"
    case .float: "a number up to \(Float.greatestFiniteMagnitude)"
    case .decimal: "a decimal number as text"
    case .undefined, .string, .boolean, .date, .binaryData, .uuid, .uri, .transformable, .objectID,
      .composite:
      nil
    }
  }

  /// The value with the number of a line added; null counts as 0.
  static func sum(
    _ value: PropertyValue, _ json: JSONValue, type: AttributeType
  ) throws(Refusal) -> PropertyValue {
    guard let expectation = expectation(of: type) else {
      throw Refusal(reason: "is no number: nothing can be added to it")
    }
    // Of an integer each difference of two values that it holds is taken.
    let wide: AttributeType = type == .integer16 || type == .integer32 ? .integer64 : type
    guard json != .null, case .success(let number) = ImportedValue.attribute(json, type: wide)
    else {
      throw Refusal(reason: "takes \(expectation) to add, not \(json.kind)")
    }
    switch (value.isNull ? zero(of: number) : value, number) {
    case (.integer(let value), .integer(let number)): return try sum(value, number, type)
    case (.double(let value), .double(let number)): return try sum(value, number, type)
    case (.decimal(let value), .decimal(let number)): return try sum(value, number)
    default: throw Refusal(reason: "has a value that is no number: set it")
    }
  }

  private static func zero(of number: PropertyValue) -> PropertyValue {
    switch number {
    case .double: .double(0)
    case .decimal: .decimal(0)
    default: .integer(0)
    }
  }

  private static func sum(
    _ value: Int64, _ number: Int64, _ type: AttributeType
  ) throws(Refusal) -> PropertyValue {
    let (sum, overflow) = value.addingReportingOverflow(number)
    let holds =
      switch type {
      case .integer16: Int16(exactly: sum) != nil
      case .integer32: Int32(exactly: sum) != nil
      default: true
      }
    guard !overflow, holds else { throw tooLarge("\(value)", "\(number)", type) }
    return .integer(sum)
  }

  private static func sum(
    _ value: Double, _ number: Double, _ type: AttributeType
  ) throws(Refusal) -> PropertyValue {
    guard value.isFinite, number.isFinite else { throw endless("\(value)", "\(number)") }
    let sum = type == .float ? Double(Float(value + number)) : value + number
    guard sum.isFinite else { throw tooLarge("\(value)", "\(number)", type) }
    return .double(sum)
  }

  private static func sum(_ value: Decimal, _ number: Decimal) throws(Refusal) -> PropertyValue {
    guard !value.isNaN, !number.isNaN else { throw endless("\(value)", "\(number)") }
    var (left, right, sum) = (value, number, Decimal())
    let result = NSDecimalAdd(&sum, &left, &right, .plain)
    // Digits that a sum loses are missing when one of the two is taken away again.
    guard result == .noError, !sum.isNaN, sum - number == value, sum - value == number else {
      throw tooLarge("\(value)", "\(number)", .decimal)
    }
    return .decimal(sum)
  }

  private static func tooLarge(
    _ value: String, _ number: String, _ type: AttributeType
  ) -> Refusal {
    Refusal(reason: "is \(value), and with \(number) it is beyond what the type \(type) holds")
  }

  private static func endless(_ value: String, _ number: String) -> Refusal {
    Refusal(reason: "is \(value), and \(number) cannot be added to it: set it")
  }
}
