import Foundation
import ModelXML

/// An element of a model file: a name, attributes, children.
final class ModelElement {
  var name: String
  var attributes: [String: String]
  var children: [ModelElement] = []
  /// The line on which its start tag ends; 0 where it was not read.
  var line = 0

  init(_ name: String, _ attributes: [String: String] = [:]) {
    self.name = name
    self.attributes = attributes
  }

  func children(named name: String) -> [ModelElement] { children.filter { $0.name == name } }

  /// Whether an attribute says YES. Absent means NO.
  func flag(_ name: String) -> Bool { attributes[name].flatMap(Self.truth) ?? false }

  /// What a flag's value says; nil where it is none. Xcode writes the first of each, and SwiftUI templates the second.
  static func truth(_ text: String) -> Bool? {
    switch text {
    case "YES", "true", "1": true
    case "NO", "false", "0": false
    default: nil
    }
  }

  /// The attributes that are not in a vocabulary.
  func attributes(except known: Set<String>) -> [String: String] {
    attributes.filter { !known.contains($0.key) }
  }

  /// The element's name in an earlier version. Some tools write the second form.
  var renamingIdentifier: String? { attributes["elementID"] ?? attributes["renamingIdentifier"] }

  /// The entries of a `userInfo` element.
  var userInfo: [String: String] {
    var info: [String: String] = [:]
    for entry in children(named: "entry") {
      if let key = entry.attributes["key"] { info[key] = entry.attributes["value"] ?? "" }
    }
    return info
  }

  /// Reads XML, which is well formed to its end.
  static func parse(_ data: Data, from path: String) throws(ModelError) -> ModelElement {
    var root: ModelElement?
    var open: [ModelElement] = []
    do throws(ModelXML.Problem) {
      try ModelXML.read(
        data,
        start: { tag in
          let element = ModelElement(tag.name, tag.attributes)
          element.line = tag.line
          if let parent = open.last { parent.children.append(element) } else { root = element }
          open.append(element)
        }, end: { open.removeLast() })
    } catch {
      throw ModelError(
        .malformed, element: path, error.message, suggestion: error.suggestion)
    }
    guard let root else {
      throw ModelError(
        .malformed, element: path, "it has no elements", suggestion: "Copy the file again, whole.")
    }
    return root
  }

  /// Writes XML: the name first and then the other attributes in order, so that equal elements give
  /// equal text.
  ///
  /// - Throws: ``ModelError`` for a character that XML cannot carry.
  func write(into text: inout String, depth: Int = 0) throws(ModelError) {
    let indent = String(repeating: "    ", count: depth)
    text += "\(indent)<\(name)"
    let keys = attributes.keys.sorted { ($0 == "name" ? "" : $0) < ($1 == "name" ? "" : $1) }
    for key in keys { text += " \(key)=\"\(try escape(attributes[key] ?? "", key))\"" }
    guard !children.isEmpty else { return text += "/>\n" }
    text += ">\n"
    for child in children { try child.write(into: &text, depth: depth + 1) }
    text += "\(indent)</\(name)>\n"
  }

  /// The same text for equal elements.
  var fingerprint: String {
    "\(name)\(attributes.sorted { $0.key < $1.key })\(children.map(\.fingerprint))"
  }

  private func escape(_ value: String, _ key: String) throws(ModelError) -> String {
    var escaped = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "\n", "\r", "\t": escaped += "&#\(scalar.value);"
      case "\0"..."\u{1F}", "\u{FFFE}", "\u{FFFF}":
        throw ModelError(
          .invalidValue, element: attributes["name"] ?? name,
          "\(key) holds a character that XML cannot carry (number \(scalar.value))",
          suggestion: "Take the character out, or keep the model in a store.")
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
