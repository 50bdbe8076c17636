import Driftless
import Foundation
import Testing

/// Each row of the catalogue's page `Predicates.md`.
@Suite("The grammar as it is documented")
struct GrammarTests {
  private struct Row {
    let what: String
    let example: String
    let outcome: String
  }

  private static func rows(under title: String) throws -> [Row] {
    let root = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let text = try String(
      contentsOf: root.appendingPathComponent("Sources/Driftless/Driftless.docc/Predicates.md"),
      encoding: .utf8)
    var section = ""
    var rows: [Row] = []
    for line in text.split(separator: "\n") {
      if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
      guard section == title, line.hasPrefix("| ") else { continue }
      let cells = line.replacing("\\|", with: "\u{1}").split(separator: "|").map {
        $0.trimmingCharacters(in: .whitespaces).replacing("\u{1}", with: "|")
      }
      guard cells.count == 3, cells[1].hasPrefix("`") else { continue }
      rows.append(
        Row(
          what: cells[0], example: cells[1].trimmingCharacters(in: ["`"]), outcome: cells[2]))
    }
    return rows
  }

  private func predicate(_ format: String) throws -> FetchPredicate {
    let books = FetchRequest<ManagedObject>(entityName: "Book")
    let count = format.components(separatedBy: "%@").count - 1
    return try FetchPredicate(format: format, argumentArray: Array(repeating: books, count: count))
  }

  @Test("Each example finds what the page says, in the store and in memory")
  func taken() throws {
    let library = try Library()
    let rows = try Self.rows(under: "Taken")
    #expect(rows.count > 60)
    for row in rows {
      do {
        let predicate = try predicate(row.example)
        let inStore = try library.keys(predicate).sorted()
        let inMemory = try library.books.filter { try predicate.matches($0) }.map(\.key.key)
        #expect(inStore == inMemory, "\(row.what): \(row.example)")
        #expect("\(inStore.count)" == row.outcome, "\(row.what): \(row.example)")
        if !row.example.contains("FETCH") {
          #expect(try FetchPredicate(format: predicate.description) == predicate)
        }
      } catch {
        Issue.record("\(row.what): \(error)")
      }
    }
  }

  @Test("Expressions that are made by hand are those that their texts give")
  func madeByHand() throws {
    #expect(
      try FetchExpression(format: "uppercase(title)")
        == .function(.uppercase, [.keyPath(["title"])]))
    #expect(
      try FetchExpression(format: "SUBQUERY(tags, $tag, TRUEPREDICATE)")
        == .subquery(of: .keyPath(["tags"]), variable: "tag", where: .constant(true)))
    #expect(
      try FetchExpression(format: "TERNARY(TRUEPREDICATE, title, name)")
        == .conditional(.constant(true), then: .keyPath(["title"]), else: .keyPath(["name"])))
  }

  @Test("Each example of what is refused is refused as the page says, before anything is read")
  func refused() throws {
    let library = try Library()
    let rows = try Self.rows(under: "Refused")
    #expect(rows.count > 15)
    for row in rows {
      let error = #expect(throws: FetchError.self, "\(row.what): \(row.example)") {
        // Compiling reads nothing.
        _ = try library.compile(try predicate(row.example))
      }
      #expect(error?.code.rawValue == row.outcome, "\(row.what): \(row.example)")
      #expect(error?.suggestion.isEmpty == false)
    }
    let block = FetchPredicate { _ in true }
    let error = #expect(throws: FetchError.self) { try library.compile(.and([block])) }
    #expect(error?.code == .unsupported)
  }

  @Test(
    "L5 A chain of twenty thousand terms is refused, since its tree is as deep as it is long",
    arguments: [" + a", " - 1", "[0]", " ** 2"])
  func chains(term: String) throws {
    let chain = "a" + String(repeating: term, count: 20_000) + " == 1"
    #expect(throws: FetchError.self) { try FetchPredicate(format: chain) }
    let nested = (0..<50).reduce("a") { inner, _ in
      "(\(inner))" + String(repeating: " + a", count: 30)
    }
    #expect(throws: FetchError.self) { try FetchExpression(format: nested) }
    // Each comparison counts by itself.
    let many = Array(repeating: "a + b + 1 > 2", count: 1_000).joined(separator: " OR ")
    #expect(throws: Never.self) { try FetchPredicate(format: many) }
  }
}
