import ModelXML

/// What generated classes need to know of a model.
struct ModelOutline {
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

  /// - Throws: ``Mistake``, which names the line.
  init(_ version: EditedModel.Version) throws {
    var root: String?
    var entities: [Entity] = []
    var depth = 0
    do throws(ModelXML.Problem) {
      try ModelXML.read(
        version.data,
        start: { tag in
          depth += 1
          switch (depth, tag.name) {
          case (1, let name): root = name
          case (2, "entity"): entities.append(Entity(words: tag.attributes))
          case (3, "attribute"), (3, "relationship"):
            guard !entities.isEmpty else { return }
            entities[entities.count - 1].properties.append(
              Property(kind: tag.name, words: tag.attributes))
          default: break
          }
        }, end: { depth -= 1 })
    } catch {
      let message = error.message.hasSuffix(".") ? error.message.dropLast() : error.message[...]
      throw Mistake("\(message). \(error.suggestion)", at: version.file, line: error.line)
    }
    guard root == "model" else {
      throw Mistake("its root element is \(root ?? "none"), and not model", at: version.file)
    }
    self.entities = entities
  }
}
