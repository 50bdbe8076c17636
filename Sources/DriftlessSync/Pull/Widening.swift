import Driftless
import DriftlessProtocol
import Foundation

/// What a value becomes whose attribute got a wider type since it was sent: the same as in a store that was migrated with the value in
/// it. So who reads the log late, or late with the model of now, has what the others have.
struct Widening {
  private let type: AttributeType

  /// Nil where no store is migrated from values of this kind to the attribute's type by itself.
  init?(_ values: Column.Values, _ kind: SyncSchema.Property.Kind) {
    guard case .attribute(let type) = kind else { return nil }
    switch (values, type) {
    case (.integers, .double), (.integers, .float), (.integers, .decimal), (.doubles, .decimal),
      (.booleans, .integer16), (.booleans, .integer32), (.booleans, .integer64),
      (.booleans, .double), (.booleans, .float), (.booleans, .decimal), (.strings, .uri),
      (.uris, .string):
      self.type = type
    default: return nil
    }
  }

  /// A value that was sealed says by itself what it is: of a type of before, it becomes what the attribute has by now.
  static func widened(
    _ value: PropertyValue, _ kind: SyncSchema.Property.Kind
  ) -> PropertyValue {
    let values: Column.Values? =
      switch value {
      case .integer: .integers([])
      case .double: .doubles([])
      case .bool: .booleans([])
      case .string: .strings(ByteRows())
      case .uri: .uris(ByteRows())
      default: nil
      }
    return values.flatMap { Widening($0, kind) }?.value(value) ?? value
  }

  func value(_ value: PropertyValue) -> PropertyValue {
    switch (value, type) {
    case (.bool(let value), _): self.value(.integer(value ? 1 : 0))
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
