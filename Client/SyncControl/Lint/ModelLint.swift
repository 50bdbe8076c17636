import Driftless

/// What a model says that will hurt later, or that does nothing. What cannot be a model at all is refused when it is read.
///
/// Nothing is guessed: each finding follows from what is written in the model.
struct ModelLint: Encodable {
  /// What was found of one element.
  struct Finding: Hashable, Encodable {
    /// The kind of finding, a short name that scripts can compare.
    enum Code: String, Encodable, CaseIterable {
      case customPolicy = "custom-policy"
      case idlePolicy = "idle-policy"
      case misspeltWord = "misspelt-word"
      case missingInverse = "missing-inverse"
      case optionalKey = "optional-key"
      case sharedName = "shared-name"
      case twofoldOrder = "twofold-order"
      case unfitEncryption = "unfit-encryption"
      case unfitFetch = "unfit-fetch"
      case unfitPolicy = "unfit-policy"
      case unknownSetting = "unknown-setting"
      case unknownWord = "unknown-word"
    }

    var code: Code
    /// The element, such as `Book.author`.
    var element: String
    /// What will hurt, as the end of a sentence that begins with the element.
    var reason: String
    /// What to do; nil where that is for the application to know.
    var suggestion: String?

    private enum Key: String, CodingKey { case code, element, reason, suggestion }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(code, forKey: .code)
      try container.encode(element, forKey: .element)
      try container.encode(reason, forKey: .reason)
      try container.encode(suggestion, forKey: .suggestion)
    }
  }

  private(set) var findings: [Finding] = []

  /// - Parameter words: What the model's file has and is not read.
  init(_ words: [UnknownWord]) {
    for word in words {
      let what = "has a word that is not read: \(word.text)"
      if let near = word.suggestion {
        add(
          .misspeltWord, "line \(word.line)", what,
          "Did you mean \(near)? The file is refused until it is mended.")
      } else {
        add(
          .unknownWord, "line \(word.line)", what,
          "Take it away, unless an editor of models keeps something of its own there.")
      }
    }
  }

  /// - Parameter model: Frozen.
  init(_ model: ManagedObjectModel) {
    self.init(model.unknownWords)
    for shared in model.sharedFormerNames {
      add(
        .sharedName, shared.second,
        "says that it was called \(shared.name) before, and so does \(shared.first): in a zone's log nobody can tell "
          + "which of them is meant",
        "Take the name away from one of them.")
    }
    for entity in model.entities.sorted(by: { $0.name < $1.name }) {
      look(at: entity)
      for property in entity.ownProperties.sorted(by: { $0.name < $1.name }) {
        switch property {
        case let attribute as AttributeDescription:
          look(at: attribute, of: entity, path: attribute.name, around: nil)
        case let relationship as RelationshipDescription: look(at: relationship, of: entity)
        default: break
        }
      }
    }
  }

  mutating func add(
    _ code: Finding.Code, _ element: String, _ reason: String, _ suggestion: String?
  ) {
    findings.append(
      Finding(code: code, element: element, reason: reason, suggestion: suggestion))
  }

  /// Lines for a person.
  var lines: [String] {
    guard !findings.isEmpty else { return ["nothing found"] }
    let count = findings.count == 1 ? "1 finding" : "\(findings.count) findings"
    return findings.flatMap { finding in
      ["\(finding.element) \(finding.reason)  (\(finding.code.rawValue))"]
        + (finding.suggestion.map { ["    \($0)"] } ?? [])
    } + [count]
  }
}
