import Foundation

/// What a value becomes whose attribute gets a wider type: the same wherever it is kept, in a row that is migrated, beside it, or in
/// a log that is read late.
package enum TypeWidening {
  /// - Returns: the value itself where the type is none that a migration makes of it by itself.
  package static func value(_ value: PropertyValue, as type: AttributeType) -> PropertyValue {
    switch (value, type) {
    case (.bool(let flag), .integer16), (.bool(let flag), .integer32),
      (.bool(let flag), .integer64):
      .integer(flag ? 1 : 0)
    case (.bool(let flag), .double), (.bool(let flag), .float), (.bool(let flag), .decimal):
      self.value(.integer(flag ? 1 : 0), as: type)
    // A store keeps a float as the double that it was given.
    case (.integer(let number), .double), (.integer(let number), .float): .double(Double(number))
    case (.integer(let number), .decimal): .decimal(Decimal(number))
    case (.double(let number), .decimal):
      // A whole number is one in the store's column too.
      number.isNaN
        ? .decimal(.nan)
        : (Int64(exactly: number).map { Decimal($0) } ?? Decimal(wholeText: "\(number)"))
          .map { .decimal($0) } ?? .null
    case (.string(let text), .uri): URL(string: text).map { .uri($0) } ?? value
    case (.uri(let url), .string): .string(url.absoluteString)
    default: value
    }
  }
}
