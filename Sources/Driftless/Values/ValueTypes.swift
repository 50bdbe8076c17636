import Foundation

extension AttributeType {
  var isNumeric: Bool {
    switch self {
    case .integer16, .integer32, .integer64, .decimal, .double, .float: true
    case .undefined, .string, .boolean, .date, .binaryData, .uuid, .uri, .transformable, .objectID,
      .composite:
      false
    }
  }

  /// Core Data's class for values of the type; nil where there is none of its own.
  var valueClassName: String? {
    switch self {
    case .integer16, .integer32, .integer64, .double, .float, .boolean: "NSNumber"
    case .decimal: "NSDecimalNumber"
    case .string: "NSString"
    case .date: "NSDate"
    case .binaryData: "NSData"
    case .uuid: "NSUUID"
    case .uri: "NSURL"
    case .undefined, .transformable, .objectID, .composite: nil
    }
  }

  /// Whether a value is of this type.
  package func accepts(_ value: PropertyValue) -> Bool {
    switch (self, value) {
    case (_, .null), (.undefined, _): true
    case (.integer16, .integer(let value)): Int16(exactly: value) != nil
    case (.integer32, .integer(let value)): Int32(exactly: value) != nil
    case (.integer64, .integer): true
    case (.decimal, .decimal), (.double, .double), (.float, .double): true
    case (.string, .string), (.boolean, .bool), (.date, .date): true
    case (.binaryData, .data), (.transformable, .data), (.uuid, .uuid), (.uri, .uri): true
    default: false
    }
  }

  /// Whether a value can be the least or greatest of this type: for a text, a length.
  func acceptsBound(_ bound: PropertyValue) -> Bool {
    switch (self, bound) {
    case (.string, .integer(let length)): length >= 0
    case (.date, .date): true
    case (_, .integer), (_, .double), (_, .decimal): isNumeric
    default: false
    }
  }
}

extension PropertyValue {
  /// Whether a number or date lies below another. Numbers of one kind are compared exactly.
  ///
  /// NaN lies below nothing and above nothing.
  func isBelow(_ other: PropertyValue) -> Bool {
    switch (self, other) {
    case (.integer(let a), .integer(let b)): a < b
    case (.double(let a), .double(let b)): a < b
    case (.decimal(let a), .decimal(let b)): a < b
    case (.decimal(let a), .integer(let b)): a < Decimal(b)
    case (.integer(let a), .decimal(let b)): Decimal(a) < b
    case (.date(let a), .date(let b)): a < b
    default:
      if let a = approximate, let b = other.approximate { a < b } else { false }
    }
  }

  private var approximate: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .double(let value): value
    case .decimal(let value): NSDecimalNumber(decimal: value).doubleValue
    default: nil
    }
  }
}
