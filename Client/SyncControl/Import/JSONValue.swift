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
