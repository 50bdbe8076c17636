import Foundation
import FoundationXML

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

  /// Reads XML, which is well formed to its end. External entities are not resolved.
  static func parse(_ data: Data, from path: String) throws(ModelError) -> ModelElement {
    // Foundation's parser takes names for UTF-8 without a look, and traps where they are not.
    guard String(validating: data, as: UTF8.self) != nil else {
      throw ModelError(
        .malformed, element: path, "it has bytes that are no UTF-8",
        suggestion: "Copy the file again, or save it in UTF-8.")
    }
    if let what = stranger(in: data) {
      throw ModelError(
        .malformed, element: path, "it has \(what), which no model has",
        suggestion: "Take it out, or save the model with Xcode again.")
    }
    let builder = ModelElementBuilder()
    let parser = XMLParser(data: data)
    parser.delegate = builder
    // The parser's own answer is also true where it found an error.
    let isRead = parser.parse() && parser.parserError == nil
    guard isRead, builder.problem == nil, builder.open.isEmpty, let root = builder.root else {
      throw ModelError(
        .malformed, element: path, builder.problem ?? builder.isCut(at: parser.lineNumber),
        suggestion: "Copy the file again, whole; or open it in an editor and mend the line.")
    }
    return root
  }

  /// What Foundation's parser traps on, or expands: instructions that say nothing, and declarations of a type. A comment and a
  /// section of characters may hold them.
  private static func stranger(in data: Data) -> String? {
    let bytes = Array(data)
    if let null = bytes.firstIndex(of: 0) { return "a null character at byte \(null)" }
    func has(_ text: String, at place: Int) -> Bool { bytes[place...].starts(with: text.utf8) }
    func end(_ text: String, from place: Int) -> Int {
      (place..<bytes.count).first { bytes[$0] == text.utf8.first && has(text, at: $0) }
        ?? bytes.count
    }
    func line(_ place: Int) -> String {
      "on line \(bytes[..<place].count { $0 == UInt8(ascii: "\n") } + 1)"
    }
    var place = 0
    while let next = bytes[place...].firstIndex(of: UInt8(ascii: "<")) {
      if has("<!--", at: next) {
        place = end("-->", from: next)
      } else if has("<![CDATA[", at: next) {
        place = end("]]>", from: next)
      } else if has("<!", at: next) {
        return "a declaration \(line(next))"
      } else if has("<?xml ", at: next) {
        let declaration = bytes[next..<end("?>", from: next)]
        if let name = encoding(in: String(decoding: declaration, as: UTF8.self)) {
          return "the encoding \(name)"
        }
        place = next + declaration.count
      } else if has("<?", at: next) {
        return "an instruction for programs \(line(next))"
      } else {
        place = next + 1
      }
    }
    return nil
  }

  /// The encoding that a declaration names, where the bytes were not looked at in it.
  private static func encoding(in declaration: String) -> String? {
    guard let found = declaration.range(of: "encoding") else { return nil }
    let rest = declaration[found.upperBound...].drop { $0 == " " || $0 == "=" }
    guard let quote = rest.first, quote == "\"" || quote == "'" else { return nil }
    // Where it is cut, the parser says so.
    guard let end = rest.dropFirst().firstIndex(of: quote) else { return nil }
    let name = rest.dropFirst()[..<end]
    return ["utf-8", "us-ascii"].contains(name.lowercased()) ? nil : String(name)
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

private final class ModelElementBuilder: NSObject, XMLParserDelegate {
  /// Real models have five. Elements are taken apart one within the other.
  private static let depthMax = 64

  var root: ModelElement?
  /// What is wrong with the file first.
  var problem: String?
  /// The elements whose end is still to come.
  private(set) var open: [ModelElement] = []

  /// The words for a file that ends too soon.
  func isCut(at line: Int) -> String { "it ends at line \(max(line, 1))\(place)" }

  /// The innermost element that a parser is in, by its name in the model where it has one.
  private var place: String {
    guard let element = open.last else { return ", before its first element" }
    let owner = open.dropLast().last { $0.attributes["name"] != nil }?.attributes["name"]
    let name = element.attributes["name"].map { " “\($0)”" } ?? ""
    return ", within <\(element.name)>\(name)\(owner.map { " of “\($0)”" } ?? "")"
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String]
  ) {
    guard open.count < Self.depthMax else {
      problem =
        "its elements are nested more than \(Self.depthMax) deep at line \(parser.lineNumber)"
      parser.abortParsing()
      return
    }
    let element = ModelElement(name, attributes)
    element.line = parser.lineNumber
    if let parent = open.last { parent.children.append(element) } else { root = element }
    open.append(element)
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    if !open.isEmpty { open.removeLast() }
  }

  func parser(_ parser: XMLParser, parseErrorOccurred parseError: any Error) {
    guard problem == nil else { return }
    problem =
      root != nil && open.isEmpty
      ? "it goes on after the end of its root element at line \(parser.lineNumber)"
      : "it is cut off or not well-formed XML at line \(parser.lineNumber)\(place)"
  }
}
