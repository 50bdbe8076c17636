/// A piece of HTML. What is put into its text is escaped, unless it is such a piece itself: no name that anybody gave can become
/// an element.
struct HTML: ExpressibleByStringInterpolation, CustomStringConvertible {
  let description: String

  init(stringLiteral value: String) { description = value }

  init(stringInterpolation: Interpolation) { description = stringInterpolation.text }

  init(joining pieces: some Sequence<HTML>) {
    description = pieces.map(\.description).joined()
  }

  /// A piece where a condition holds, and nothing else. A literal in place of a piece would be a text, and escaped.
  static func when(_ condition: Bool, _ piece: @autoclosure () -> HTML) -> HTML {
    condition ? piece() : ""
  }

  /// A piece of a value that is there, and nothing else.
  static func of<Value>(_ value: Value?, _ piece: (Value) -> HTML) -> HTML {
    value.map(piece) ?? ""
  }

  struct Interpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    init(literalCapacity: Int, interpolationCount: Int) {}

    mutating func appendLiteral(_ literal: String) { text += literal }

    mutating func appendInterpolation(_ piece: HTML) { text += piece.description }

    mutating func appendInterpolation(_ value: some BinaryInteger) { text += "\(value)" }

    mutating func appendInterpolation(_ value: String) { text += HTML.escaped(value) }
  }

  /// The text as an element or a quoted attribute holds it. What would turn the direction of writing is shown as its number.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      case "\u{0}"..<" ", "\u{7F}"..<"\u{A0}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}":
        result += "\\u{\(String(scalar.value, radix: 16))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
