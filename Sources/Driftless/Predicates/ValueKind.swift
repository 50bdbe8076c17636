/// What kind a value is of, as far as comparing and converting goes.
enum ValueKind {
  /// Integers, booleans, doubles.
  case number
  case decimal
  case date
  /// Strings and URLs.
  case text
  case data
  case uuid
  case reference

  var name: String {
    switch self {
    case .number: "a number"
    case .decimal: "a decimal number"
    case .date: "a date"
    case .text: "a text"
    case .data: "binary data"
    case .uuid: "a UUID"
    case .reference: "an object"
    }
  }
}

extension PropertyValue {
  /// Nil for null.
  var kind: ValueKind? {
    switch self {
    case .null: nil
    case .bool, .integer, .double: .number
    case .decimal: .decimal
    case .string, .uri: .text
    case .date: .date
    case .data: .data
    case .uuid: .uuid
    case .reference: .reference
    }
  }
}
