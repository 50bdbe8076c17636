import Foundation
import FoundationXML

/// What generated classes need to know of a model.
final class ModelOutline: NSObject, XMLParserDelegate {
  struct Property {
    /// Whether it is an `attribute` or a `relationship`.
    var kind: String
    /// As the file has them.
    var words: [String: String]

    var name: String { words["name"] ?? "" }
    func isSet(_ word: String) -> Bool { words[word] == "YES" }
  }

  struct Entity {
    var words: [String: String]
    var properties: [Property] = []

    var name: String { words["name"] ?? "" }
    /// The class without its module; nil for what has none of its own.
    var className: String? {
      let name = words["representedClassName"]?.split(separator: ".").last.map(String.init)
      return name == "NSManagedObject" ? nil : name
    }
  }

  private(set) var entities: [Entity] = []
  private var depth = 0
  private var root: String?

  /// - Throws: ``Mistake``, which names the line.
  init(_ version: EditedModel.Version) throws {
    super.init()
    let parser = XMLParser(data: version.data)
    parser.delegate = self
    guard parser.parse() else {
      throw Mistake("it is no XML", at: version.file, line: max(parser.lineNumber, 1))
    }
    guard root == "model" else {
      throw Mistake("its root element is \(root ?? "none"), and not model", at: version.file)
    }
  }

  func parser(
    _ parser: XMLParser, didStartElement element: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String]
  ) {
    depth += 1
    switch (depth, element) {
    case (1, _): root = element
    case (2, "entity"): entities.append(Entity(words: attributes))
    case (3, "attribute"), (3, "relationship"):
      guard !entities.isEmpty else { return }
      entities[entities.count - 1].properties.append(
        Property(kind: element, words: attributes))
    default: break
    }
  }

  func parser(
    _ parser: XMLParser, didEndElement element: String, namespaceURI: String?,
    qualifiedName: String?
  ) {
    depth -= 1
  }
}
