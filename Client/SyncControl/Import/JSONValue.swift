import Foundation

/// A JSON value with its numbers as they are written, so that none loses a digit on the way to its
/// attribute.
enum JSONValue: Hashable {
  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([JSONValue])
  /// The members in the order of the text; no name occurs twice.
  case object([Member])

  struct Member: Hashable {
    var name: String
    var value: JSONValue
  }

  /// Texts are the same when their bytes are, as values of a store are: to Swift two compositions of one letter are equal.
  static func == (a: JSONValue, b: JSONValue) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.number(let a), .number(let b)): a == b
    case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
    case (.array(let a), .array(let b)): a == b
    case (.object(let a), .object(let b)): a == b
    default: false
    }
  }

  /// The value of the member `name`, if this is an object that has it.
  subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  /// What kind of value this is, for messages.
  var kind: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .number(let text): "the number \(text)"
    case .string(let text): "the text \"\(text.prefix(40))\(text.count > 40 ? "…" : "")\""
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension JSONValue: Encodable {
  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  func encode(to encoder: any Encoder) throws {
    if case .object(let members) = self {
      var container = encoder.container(keyedBy: Name.self)
      for member in members {
        try container.encode(member.value, forKey: Name(stringValue: member.name))
      }
      return
    }
    var container = encoder.singleValueContainer()
    switch self {
    case .null, .object: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .number(let text):
      if let whole = Int64(text) {
        try container.encode(whole)
      } else {
        try container.encode(Double(text))
      }
    case .string(let text): try container.encode(text)
    case .array(let values): try container.encode(values)
    }
  }
}
