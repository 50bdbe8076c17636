import Foundation

/// Reads the values in a model file: defaults and bounds.
struct ModelValues {
  let type: AttributeType
  let element: ModelElement
  let name: String

  /// The value of an attribute of the element; dates come as seconds since 2001 under a key of their
  /// own. An empty text is a value for texts only.
  func value(_ key: String, _ dateKey: String) throws(ModelError) -> PropertyValue {
    if type == .date {
      guard let text = element.attributes[dateKey] else { return .null }
      guard let seconds = Double(text) else { throw invalid(dateKey, text) }
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    }
    guard let text = element.attributes[key], !text.isEmpty || type == .string else { return .null }
    guard let value = PropertyValue(modelText: text, type: type) else { throw invalid(key, text) }
    return value
  }

  /// A bound: of the attribute's type for numbers and dates, a length for texts.
  func bound(_ key: String, _ dateKey: String) throws(ModelError) -> PropertyValue? {
    if type == .date {
      let value = try value(key, dateKey)
      return value.isNull ? nil : value
    }
    guard let text = element.attributes[key], !text.isEmpty else { return nil }
    let boundType = type == .string ? AttributeType.integer64 : type
    guard let value = PropertyValue(modelText: text, type: boundType) else {
      throw invalid(key, text)
    }
    return value
  }

  private func invalid(_ key: String, _ text: String) -> ModelError {
    ModelError(
      .invalidValue, element: name, "\(key) is «\(text)», which is no value of type \(type)",
      suggestion: "Write a value of the attribute's type.")
  }
}

extension PropertyValue {
  /// Reads a value as a model file spells it. Nil when it is none of the type.
  init?(modelText text: String, type: AttributeType) {
    switch type {
    case .integer16, .integer32, .integer64:
      // Files carry 0.0 for integers too.
      guard
        let value = Int64(text) ?? Double(text).flatMap({ Int64(exactly: $0) })
          ?? Self.truth(text).map({ $0 ? 1 : 0 })
      else { return nil }
      self = .integer(value)
    case .decimal:
      // Decimal itself would read the number at the start of a text and leave the rest.
      guard text.utf8.allSatisfy({ "+-.0123456789eE".utf8.contains($0) }),
        let value = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
      else { return nil }
      self = .decimal(value)
    case .double, .float:
      guard let value = Double(text) ?? Self.truth(text).map({ $0 ? 1 : 0 }) else { return nil }
      self = .double(value)
    case .boolean:
      guard let value = Self.truth(text) else { return nil }
      self = .bool(value)
    case .string, .undefined: self = .string(text)
    case .uuid:
      guard let value = UUID(uuidString: text) else { return nil }
      self = .uuid(value)
    case .uri:
      guard let value = URL(string: text) else { return nil }
      self = .uri(value)
    case .date:
      guard let seconds = Double(text) else { return nil }
      self = .date(Date(timeIntervalSinceReferenceDate: seconds))
    case .binaryData, .transformable:
      guard let value = Data(base64Encoded: text) else { return nil }
      self = .data(value)
    case .objectID, .composite: return nil
    }
  }

  /// A truth value. An attribute that was one, and became a number, keeps the word as its default.
  private static func truth(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "yes", "true", "1": true
    case "no", "false", "0": false
    default: nil
    }
  }

  /// The value as a model file spells it. Nil for null and for references.
  var modelText: String? {
    switch self {
    case .null, .reference: nil
    case .bool(let value): value ? "YES" : "NO"
    case .integer(let value): "\(value)"
    case .double(let value): "\(value)"
    case .decimal(let value): "\(value)"
    case .string(let value): value
    case .date(let value): "\(value.timeIntervalSinceReferenceDate)"
    case .data(let value): value.base64EncodedString()
    case .uuid(let value): value.uuidString
    case .uri(let value): value.absoluteString
    }
  }
}
