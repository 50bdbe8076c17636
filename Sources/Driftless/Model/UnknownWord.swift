/// An element or an attribute of a model file, or a flag's value, that the reader does not know.
///
/// It reads nothing of it. Where a person misspelt a name, what was meant would be lost without a word, so that is refused; a
/// name that is near no other may be a newer editor's, and is told by the programs.
package struct UnknownWord: Hashable, Sendable {
  /// Where it stands: the line on which its element's start tag ends.
  package let line: Int
  /// What it is, such as `<atribute> is no element of the entity Item`.
  package let text: String
  /// What is probably meant; nil where nothing is near.
  package let suggestion: String?

  /// Whether the file is refused for it.
  package var isMisspelt: Bool { suggestion != nil }

  /// For people, with its line.
  package var message: String {
    "line \(line): \(text)" + (suggestion.map { "; did you mean \($0)?" } ?? "")
  }
}

/// Looks for words in a model file that the reader does not know.
struct UnknownWords {
  private(set) var words: [UnknownWord] = []

  /// - Parameter root: The `<model>` of a file.
  init(_ root: ModelElement) { look(at: root, in: nil) }

  private mutating func look(at element: ModelElement, in owner: ModelElement?) {
    guard let known = ModelVocabulary.elements[element.name] else { return }
    let label = Self.label(of: element, in: owner)
    for name in element.attributes.keys.sorted() where !known.ignores(name) {
      let value = element.attributes[name] ?? ""
      if !known.attributes.contains(name) {
        let near = NearName.of(name, among: known.readAttributes)
        add(element.line, "\(name) is no attribute of \(label)", near)
      } else if ModelVocabulary.flags.contains(name), ModelElement.truth(value) == nil {
        add(
          element.line, "\(name) of \(label) is «\(value)», which is neither YES nor NO",
          "YES or NO")
      }
    }
    for child in element.children {
      if known.children.contains(child.name) {
        look(at: child, in: element)
      } else {
        let near = NearName.of(child.name, among: known.children).map { "<\($0)>" }
        add(child.line, "<\(child.name)> is no element of \(label)", near ?? Self.place(of: child))
      }
    }
  }

  private mutating func add(_ line: Int, _ text: String, _ suggestion: String?) {
    words.append(UnknownWord(line: line, text: text, suggestion: suggestion))
  }

  /// Entities and properties mean something, and are of no use where they are not looked for.
  private static func place(of element: ModelElement) -> String? {
    switch element.name {
    case "entity": "to put it into <model>"
    case "attribute", "relationship", "fetchedProperty": "to put it into an <entity>"
    default: nil
    }
  }

  private static func label(of element: ModelElement, in owner: ModelElement?) -> String {
    guard let name = element.attributes["name"], !name.isEmpty else {
      let around = owner?.attributes["name"].map { " of \(owner?.name ?? "") \($0)" }
      return "<\(element.name)>\(around ?? "")"
    }
    let path = owner?.name == "entity" ? "\(owner?.attributes["name"] ?? "").\(name)" : name
    return "the \(element.name) \(path)"
  }
}

/// The name that was probably meant by one that is not known.
enum NearName {
  /// What the interface for programs calls otherwise than a file.
  private static let others = [
    "type": "attributeType", "deleteRule": "deletionRule", "inverseRelationship": "inverseName",
    "uniqueConstraints": "uniquenessConstraints",
  ]

  static func of(_ name: String, among known: Set<String>) -> String? {
    guard name.utf8.count <= 100 else { return nil }
    if let other = others[name], known.contains(other) { return other }
    let text = Array(plain(name))
    let near = known.sorted().map { (name: $0, far: distance(text, Array(plain($0)))) }
      .min { $0.far < $1.far }
    if let near, near.far <= (text.count < 6 ? 1 : 2) { return near.name }
    // Of `defaultValueString` people write `defaultValue`.
    guard text.count > 4 else { return nil }
    return known.sorted().filter { plain($0).hasPrefix(String(text)) }.min { $0.count < $1.count }
  }

  /// Without what makes no difference to a reader: case, and the "is" of a flag.
  private static func plain(_ name: String) -> String {
    let text = name.hasPrefix("is") ? String(name.dropFirst(2)) : name
    return text.lowercased()
  }

  /// How many letters have to be added, removed, changed, or swapped with their neighbours.
  private static func distance(_ left: [Character], _ right: [Character]) -> Int {
    var (before, row) = ([Int](), Array(0...right.count))
    for i in left.indices {
      var next = [i + 1]
      for j in right.indices {
        var least = min(row[j] + (left[i] == right[j] ? 0 : 1), row[j + 1] + 1, next[j] + 1)
        if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
          least = min(least, before[j - 1] + 1)
        }
        next.append(least)
      }
      (before, row) = (row, next)
    }
    return row[right.count]
  }
}
