import Driftless
import DriftlessProtocol

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

  /// A value that says by itself what it is, since it was sealed or is kept beside a row: of a type of before, it becomes what the
  /// attribute has by now.
  static func widened(
    _ value: PropertyValue, _ kind: SyncSchema.Property.Kind
  ) -> PropertyValue {
    guard case .attribute(let type) = kind else { return value }
    return TypeWidening.value(value, as: type)
  }

  func value(_ value: PropertyValue) -> PropertyValue { TypeWidening.value(value, as: type) }
}
