package import Foundation
import FoundationXML

/// Reads the XML of model files, whatever they hold: within bounds, in UTF-8, without declarations, which could make a small
/// file a large one, and well formed to its end.
package enum ModelXML {
  /// The start of an element.
  package struct Tag {
    package let name: String
    package let attributes: [String: String]
    /// The line on which it ends.
    package let line: Int
  }

  /// What is wrong with a file.
  package struct Problem: Error {
    /// Begins with "it", for the file.
    package let message: String
    package let suggestion: String
    /// Where it is; 1 where no line is known.
    package let line: Int
  }

  /// A model's files are read whole.
  package static let bytesMax = 16 << 20
  /// Real models have five. Elements are taken apart one within the other.
  package static let depthMax = 64

  /// Tells every element's start and end, in the file's order.
  package static func read(
    _ data: Data, start: @escaping (Tag) -> Void, end: @escaping () -> Void
  ) throws(Problem) {
    guard data.count <= bytesMax else {
      throw Problem(
        message: "it has more than \(bytesMax) bytes, and no more are read of a model",
        suggestion: "Check that it is a model.", line: 1)
    }
    // Foundation's parser takes names for UTF-8 without a look, and traps where they are not.
    guard String(validating: data, as: UTF8.self) != nil else {
      throw Problem(
        message: "it has bytes that are no UTF-8",
        suggestion: "Copy the file again, or save it in UTF-8.", line: 1)
    }
    if let (what, line) = stranger(in: data) {
      throw Problem(
        message: "it has \(what), which no model has",
        suggestion: "Take it out, or save the model with Xcode again.", line: line)
    }
    let walk = ModelXMLWalk(start: start, end: end)
    let parser = XMLParser(data: data)
    parser.delegate = walk
    // The parser's own answer is also true where it found an error.
    let isRead = parser.parse() && parser.parserError == nil
    guard isRead, walk.problem == nil, walk.open.isEmpty, walk.isStarted else {
      throw Problem(
        message: walk.problem ?? walk.isCut(at: parser.lineNumber),
        suggestion: "Copy the file again, whole; or open it in an editor and mend the line.",
        line: max(walk.line ?? parser.lineNumber, 1))
    }
  }

  /// What Foundation's parser traps on, or expands: instructions that say nothing, and declarations of a type. A comment and a
  /// section of characters may hold them.
  private static func stranger(in data: Data) -> (what: String, line: Int)? {
    let bytes = Array(data)
    func line(_ place: Int) -> Int { bytes[..<place].count { $0 == UInt8(ascii: "\n") } + 1 }
    if let null = bytes.firstIndex(of: 0) {
      return ("a null character at byte \(null)", line(null))
    }
    func has(_ text: String, at place: Int) -> Bool { bytes[place...].starts(with: text.utf8) }
    func end(_ text: String, from place: Int) -> Int {
      (place..<bytes.count).first { bytes[$0] == text.utf8.first && has(text, at: $0) }
        ?? bytes.count
    }
    var place = 0
    while let next = bytes[place...].firstIndex(of: UInt8(ascii: "<")) {
      if has("<!--", at: next) {
        place = end("-->", from: next)
      } else if has("<![CDATA[", at: next) {
        place = end("]]>", from: next)
      } else if has("<!", at: next) {
        return ("a declaration on line \(line(next))", line(next))
      } else if has("<?xml ", at: next) {
        let declaration = bytes[next..<end("?>", from: next)]
        if let name = encoding(in: String(decoding: declaration, as: UTF8.self)) {
          return ("the encoding \(name)", line(next))
        }
        place = next + declaration.count
      } else if has("<?", at: next) {
        return ("an instruction for programs on line \(line(next))", line(next))
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
}

private final class ModelXMLWalk: NSObject, XMLParserDelegate {
  private let start: (ModelXML.Tag) -> Void
  private let end: () -> Void
  /// What is wrong with the file first, and where.
  private(set) var problem: String?
  private(set) var line: Int?
  /// The elements whose end is still to come.
  private(set) var open: [ModelXML.Tag] = []
  private(set) var isStarted = false

  init(start: @escaping (ModelXML.Tag) -> Void, end: @escaping () -> Void) {
    self.start = start
    self.end = end
  }

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
    guard open.count < ModelXML.depthMax else {
      line = parser.lineNumber
      problem =
        "its elements are nested more than \(ModelXML.depthMax) deep at line \(parser.lineNumber)"
      parser.abortParsing()
      return
    }
    let tag = ModelXML.Tag(name: name, attributes: attributes, line: parser.lineNumber)
    isStarted = true
    open.append(tag)
    start(tag)
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    guard problem == nil, !open.isEmpty else { return }
    open.removeLast()
    end()
  }

  func parser(_ parser: XMLParser, parseErrorOccurred parseError: any Error) {
    guard problem == nil else { return }
    line = parser.lineNumber
    problem =
      isStarted && open.isEmpty
      ? "it goes on after the end of its root element at line \(parser.lineNumber)"
      : "it is cut off or not well-formed XML at line \(parser.lineNumber)\(place)"
  }
}
