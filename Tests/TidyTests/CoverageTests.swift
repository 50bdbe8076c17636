import Foundation
import Testing

/// The catalogue's page `Coverage.md` says what is there: each test that it names exists, and each member.
struct CoverageTests {
  private struct Row {
    let type: String
    let member: String
    let here: String
    let tests: [String]
    let place: String

    var isLeftOut: Bool { here == "—" }

    /// The identifier that has to be declared in the sources.
    var identifier: String {
      let name = here == "=" ? member : here
      let path = name.drop { $0 == "`" }
        .prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
      return path.split(separator: ".").last.map(String.init) ?? ""
    }
  }

  private static func swiftFiles(in folder: String) -> [String] {
    let url = Pages.root.appendingPathComponent(folder)
    let names = FileManager.default.enumerator(atPath: url.path)
    var texts: [String] = []
    while let name = names?.nextObject() as? String {
      guard name.hasSuffix(".swift"),
        let text = try? String(contentsOf: url.appendingPathComponent(name), encoding: .utf8)
      else { continue }
      texts.append(text)
    }
    return texts
  }

  private static func rows() throws -> [Row] {
    let text = try Pages.text("Coverage.md")
    var rows: [Row] = []
    var type = ""
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      if line.hasPrefix("## ") { type = String(line.dropFirst(3)) }
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
        .map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 5, cells[1] != "member", !cells[1].hasPrefix("---") else { continue }
      rows.append(
        Row(
          type: type, member: cells[1], here: cells[2],
          tests: cells[3].components(separatedBy: ", "), place: "line \(number + 1)"))
    }
    return rows
  }

  /// Every test as `Suite.function`.
  private static func tests() -> Set<String> {
    var found: Set<String> = []
    for text in swiftFiles(in: "Tests") {
      var suite = ""
      for line in text.split(separator: "\n") {
        if let name = word(after: "struct ", in: line) ?? word(after: "class ", in: line),
          !line.hasPrefix("  ")
        {
          suite = name
        }
        if let name = word(after: "func ", in: line) { found.insert("\(suite).\(name)") }
      }
    }
    return found
  }

  private static func word(after prefix: String, in line: Substring) -> String? {
    guard let range = line.range(of: prefix) else { return nil }
    let word = line[range.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
    return word.isEmpty ? nil : String(word)
  }

  @Test("Every test that the coverage names exists, and every member has one or a reason")
  func testsExist() throws {
    let rows = try Self.rows()
    let tests = Self.tests()
    #expect(rows.count > 100 && tests.count > 200)
    for row in rows where row.isLeftOut {
      #expect(
        row.tests.joined().count > 10, "\(row.place): \(row.member) is left out for no reason")
    }
    for row in rows where !row.isLeftOut {
      for test in row.tests {
        #expect(
          tests.contains(test),
          "\(row.place): there is no test \(test) for \(row.type).\(row.member)")
      }
    }
  }

  /// Names that stand for a syntax.
  private static let unspelled: Set<String> = ["init", "subscript", "Sequence", "Codable"]

  @Test("A member is used by the test that is named for it, or by what that calls or names")
  func testsUseMembers() throws {
    let sources = try TestSources()
    for row in try Self.rows() where !row.isLeftOut && row.here != "`==`" {
      guard !Self.unspelled.contains(row.identifier) else { continue }
      let isUsed = row.tests.contains { sources.words(ofTest: $0).contains(row.identifier) }
      #expect(isUsed, "\(row.place): no test of \(row.type).\(row.member) has \(row.identifier)")
    }
  }

  @Test("Every member that the coverage claims is declared in the sources")
  func membersExist() throws {
    var declared: Set<String> = ["Sequence", "Codable"]
    for text in Self.swiftFiles(in: "Sources") {
      for line in text.split(separator: "\n") {
        for keyword in [
          "var ", "let ", "func ", "class ", "struct ", "enum ", "case ", "typealias ",
        ] {
          if let name = Self.word(after: keyword, in: line) { declared.insert(name) }
        }
        if line.contains("init(") || line.contains("init?(") { declared.insert("init") }
        if line.contains("subscript") { declared.insert("subscript") }
      }
    }
    for row in try Self.rows() where !row.isLeftOut && row.here != "`==`" {
      let isThere = declared.contains(row.identifier)
      #expect(
        isThere,
        "\(row.place): nothing in Sources declares \(row.identifier)")
    }
  }

  @Test("No member stands twice in a class")
  func noMemberTwice() throws {
    var seen: Set<String> = []
    for row in try Self.rows() {
      #expect(
        seen.insert("\(row.type).\(row.member)").inserted,
        "\(row.place): \(row.member) is there twice")
    }
  }
}
