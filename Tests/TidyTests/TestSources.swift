import Foundation

/// What each test says in code: its own body, and the members of its suite and the types of its target that it names, with those
/// that they name. Other suites are no part of it.
struct TestSources {
  /// One or more members of a type that stand together.
  private struct Member {
    var names: Set<String> = []
    var words: Set<String> = []
  }

  private struct TypeSource {
    var target: String
    var members: [Member] = []
    var isSuite = false
  }

  /// By target and name: extensions count to their type.
  private var types: [String: TypeSource] = [:]
  private var targets: [String: [String]] = [:]

  init() throws {
    let folder = Pages.root.appendingPathComponent("Tests")
    for target in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let root = folder.appendingPathComponent(target)
      let names = FileManager.default.enumerator(atPath: root.path)
      while let name = names?.nextObject() as? String {
        guard name.hasSuffix(".swift") else { continue }
        let file = root.appendingPathComponent(name)
        read(try String(contentsOf: file, encoding: .utf8), of: target)
      }
    }
  }

  /// Members end with a line that closes at their own indentation.
  private mutating func read(_ text: String, of target: String) {
    var type: String?
    var member = Member()
    for line in text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
      if !line.hasPrefix(" "), let name = Self.declared(in: line, by: Self.typeKeywords) {
        type = "\(target).\(name)"
        if types["\(target).\(name)"] == nil {
          types["\(target).\(name)"] = TypeSource(target: target)
          targets[name, default: []].append(target)
        }
      }
      guard let type else { continue }
      if line.hasPrefix("  "), !line.hasPrefix("   "),
        let name = Self.declared(in: line, by: Self.memberKeywords)
      {
        member.names.insert(name)
      }
      member.words.formUnion(Self.listed(line))
      if line.contains("@Test") { types[type]?.isSuite = true }
      let isWhole = line.hasPrefix("  ") && !line.hasPrefix("   ") && line.hasSuffix("}")
      guard isWhole || ["  ]", "  )", "}"].contains(line) else { continue }
      types[type]?.members.append(member)
      member = Member()
    }
  }

  private static let typeKeywords = ["struct", "class", "enum", "extension", "actor", "protocol"]
  private static let memberKeywords = typeKeywords + ["func", "var", "let", "init"]

  /// The name behind the first of the keywords in a line; of an initialiser its keyword.
  private static func declared(in line: Substring, by keywords: [String]) -> String? {
    let words = listed(line)
    guard let index = words.firstIndex(where: { keywords.contains($0) }) else { return nil }
    return words[index] == "init" ? "init" : words.dropFirst(index + 1).first
  }

  private static func listed(_ line: Substring) -> [String] {
    line.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
  }

  /// The words of a test that is named `Suite.function`, and of what it reaches: none where there is none of that name.
  func words(ofTest test: String) -> Set<String> {
    let parts = test.split(separator: ".").map(String.init)
    guard parts.count == 2 else { return [] }
    var words: Set<String> = []
    for target in targets[parts[0]] ?? [] {
      guard let suite = types["\(target).\(parts[0])"],
        let test = suite.members.first(where: { $0.names.contains(parts[1]) })
      else { continue }
      words.formUnion(reached(from: test, in: suite, named: parts[0]))
    }
    return words
  }

  private func reached(
    from test: Member, in suite: TypeSource, named name: String
  ) -> Set<String> {
    var reached: Set<String> = []
    var next = test.words.union(["init"])
    while !next.isEmpty {
      reached.formUnion(next)
      var found: Set<String> = []
      for member in suite.members where !member.names.isDisjoint(with: next) {
        found.formUnion(member.words)
      }
      for word in next where word != name {
        guard let type = types["\(suite.target).\(word)"], !type.isSuite else { continue }
        for member in type.members { found.formUnion(member.words) }
      }
      next = found.subtracting(reached)
    }
    return reached
  }
}
