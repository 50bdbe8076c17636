import Foundation
import FoundationXML

/// An element of a model file: a name, attributes, children.
final class ModelElement {
  let name: String
  var attributes: [String: String]
  var children: [ModelElement] = []

  init(_ name: String, _ attributes: [String: String] = [:]) {
    self.name = name
    self.attributes = attributes
  }

  func children(named name: String) -> [ModelElement] { children.filter { $0.name == name } }

  /// Whether an attribute says YES. Absent means NO.
  func flag(_ name: String) -> Bool { ["YES", "true", "1"].contains(attributes[name] ?? "") }

  /// Reads XML.
  static func parse(_ data: Data, from path: String) throws(ModelError) -> ModelElement {
    let builder = ModelElementBuilder()
    let parser = XMLParser(data: data)
    parser.delegate = builder
    guard parser.parse(), let root = builder.root else {
      let reason = parser.parserError.map { "\($0)" } ?? "it has no root element"
      throw ModelError(
        .malformed, element: path,
        "it is not well-formed XML at line \(parser.lineNumber): \(reason)",
        suggestion: "Open it in an editor and mend the line.")
    }
    return root
  }

  /// Writes XML: attributes by name, so that equal elements give equal text.
  func write(into text: inout String, depth: Int = 0) {
    let indent = String(repeating: "    ", count: depth)
    text += "\(indent)<\(name)"
    for (key, value) in attributes.sorted(by: {
      ($0.key != "name", $0.key) < ($1.key != "name", $1.key)
    }) {
      text += " \(key)=\"\(Self.escape(value))\""
    }
    guard !children.isEmpty else { return text += "/>\n" }
    text += ">\n"
    for child in children { child.write(into: &text, depth: depth + 1) }
    text += "\(indent)</\(name)>\n"
  }

  private static func escape(_ value: String) -> String {
    var escaped = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "\n", "\r", "\t": escaped += "&#\(scalar.value);"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

private func < (a: (Bool, String), b: (Bool, String)) -> Bool {
  a.0 == b.0 ? a.1 < b.1 : !a.0
}

private final class ModelElementBuilder: NSObject, XMLParserDelegate {
  var root: ModelElement?
  private var open: [ModelElement] = []

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String]
  ) {
    let element = ModelElement(name, attributes)
    if let parent = open.last { parent.children.append(element) } else { root = element }
    open.append(element)
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    open.removeLast()
  }
}
