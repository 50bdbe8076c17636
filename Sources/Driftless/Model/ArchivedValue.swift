import Foundation

/// A value as ``ModelArchive`` keeps it: its kind and a text that gives it back bit for bit.
struct ArchivedValue: Codable {
  enum Kind: String, Codable {
    case bool, integer, double, decimal, string, date, data, uuid, uri
  }

  var kind: Kind
  var text: String

  /// Nil for null.
  init?(_ value: PropertyValue, _ label: String) throws(ModelError) {
    switch value {
    case .null: return nil
    case .bool(let value): (kind, text) = (.bool, "\(value)")
    case .integer(let value): (kind, text) = (.integer, "\(value)")
    case .double(let value): (kind, text) = (.double, Self.text(of: value))
    case .decimal(let value): (kind, text) = (.decimal, "\(value)")
    case .string(let value): (kind, text) = (.string, value)
    case .date(let value):
      (kind, text) = (.date, Self.text(of: value.timeIntervalSinceReferenceDate))
    case .data(let value): (kind, text) = (.data, value.base64EncodedString())
    case .uuid(let value): (kind, text) = (.uuid, value.uuidString)
    case .uri(let value): (kind, text) = (.uri, value.absoluteString)
    case .reference:
      throw ModelError(
        .invalidValue, element: label, "its default value is a reference to an object",
        suggestion: "Set the object in awakeFromInsert.")
    }
  }

  func value(_ label: String) throws(ModelError) -> PropertyValue {
    let value: PropertyValue? =
      switch kind {
      case .bool: Bool(text).map { .bool($0) }
      case .integer: Int64(text).map { .integer($0) }
      case .double: Self.number(text).map { .double($0) }
      case .decimal:
        text == "NaN" ? .decimal(.nan) : PropertyValue(modelText: text, type: .decimal)
      case .string: .string(text)
      case .date: Self.number(text).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
      case .data: Data(base64Encoded: text).map { .data($0) }
      case .uuid: UUID(uuidString: text).map { .uuid($0) }
      case .uri: URL(string: text).map { .uri($0) }
      }
    guard let value else {
      throw ModelError(
        .malformed, element: label, "«\(text)» is no \(kind)",
        suggestion: "Open the store with a model file.")
    }
    return value
  }

  /// The shortest decimal that reads back the same; the bits of what no decimal stands for.
  private static func text(of number: Double) -> String {
    number.isFinite ? "\(number)" : "bits:" + String(number.bitPattern, radix: 16)
  }

  private static func number(_ text: String) -> Double? {
    guard text.hasPrefix("bits:") else { return Double(text) }
    return UInt64(text.dropFirst(5), radix: 16).map { Double(bitPattern: $0) }
  }
}
