import Foundation
import Testing

/// The catalogue's page `FileFormats.md` describes the tables that Driftless adds to a store as they are: which there are, their
/// columns, and the files that make and write them.
struct FormatTests {
  /// One table, as the page or the sources have it.
  private struct Table: Equatable {
    var columns: Set<String> = []
    var makers: Set<String> = []
    var writers: Set<String> = []
  }

  private static let sources: [String: String] = {
    let folder = Pages.root.appendingPathComponent("Sources")
    let names = FileManager.default.enumerator(atPath: folder.path)
    var files: [String: String] = [:]
    while let name = names?.nextObject() as? String {
      guard name.hasPrefix("Driftless"), name.hasSuffix(".swift") else { continue }
      files[name] = try? String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }
    return files
  }()

  // MARK: The sources

  private static func sourceTables() throws -> [String: Table] {
    // Columns end where the statement does; the keys at its end are none.
    let create = try Regex<(Substring, Substring, Substring)>(
      #"CREATE TABLE IF NOT EXISTS (ZDL_[A-Z_]+) ?\(((?:[^()]|\([^()]*\))*)\)"#)
    let add = try Regex<(Substring, Substring, Substring)>(
      #"ALTER TABLE (ZDL_[A-Z_]+) ADD COLUMN (\w+|\\\(column\))"#)
    let write = try Regex<(Substring, Substring)>(
      #"(?:INTO|UPDATE|DELETE FROM)\s+(?:main\.)?(ZDL_[A-Z_]+)"#)
    // What a row keeps by itself, which the check's rules say.
    let constraints = try Regex(#"\\\(RowRule\.constraints\([a-zA-Z]+\)\)"#)
    var tables: [String: Table] = [:]
    for (path, source) in sources {
      let text = source.replacing(constraints, with: "")
      for match in text.matches(of: create) {
        let name = String(match.output.1)
        tables[name, default: Table()].makers.insert(path)
        tables[name, default: Table()].columns.formUnion(columns(of: match.output.2))
      }
      for match in text.matches(of: add) where match.output.2.first != "\\" {
        tables[String(match.output.1), default: Table()].columns.insert(String(match.output.2))
      }
      // A migration writes all of them, which the page says once.
      guard !path.hasPrefix("Driftless/Migration/") else { continue }
      for match in text.matches(of: write) {
        tables[String(match.output.1), default: Table()].writers.insert(path)
      }
    }
    return tables
  }

  private static func columns(of definition: Substring) -> Set<String> {
    var columns: Set<String> = []
    var depth = 0
    for part in definition.split(separator: ",") {
      if depth == 0, let name = part.split(whereSeparator: \.isWhitespace).first,
        name != "PRIMARY"
      {
        columns.insert(String(name))
      }
      depth += part.count { $0 == "(" } - part.count { $0 == ")" }
    }
    return columns
  }

  // MARK: The page

  private static func pageTables() throws -> [String: Table] {
    var tables: [String: Table] = [:]
    for part in try Pages.text("FileFormats.md").components(separatedBy: "\n### ZDL_").dropFirst() {
      let section = part.components(separatedBy: "\n## ")[0]
      let lines = section.split(separator: "\n", omittingEmptySubsequences: false)
      var table = Table()
      for line in lines where line.hasPrefix("| `") {
        table.columns.insert(String(line.dropFirst(3).prefix { $0 != "`" }))
      }
      table.makers = files(behind: "Made in:", in: lines)
      table.writers = files(behind: "Written in:", in: lines)
      tables["ZDL_\(lines[0])"] = table
    }
    return tables
  }

  /// What stands between backticks from a word to the end of its paragraph.
  private static func files(behind word: String, in lines: [Substring]) -> Set<String> {
    let paragraph = lines.drop { !$0.hasPrefix(word) }.prefix { !$0.isEmpty }
    let parts = paragraph.joined(separator: " ").components(separatedBy: "`").enumerated()
    return Set(parts.filter { !$0.offset.isMultiple(of: 2) }.map(\.element))
  }

  @Test("Every table of Driftless has its section, with the files that make and write it")
  func tablesAreDescribed() throws {
    let page = try Self.pageTables()
    let sources = try Self.sourceTables()
    #expect(sources.count > 20)
    #expect(Set(page.keys) == Set(sources.keys))
    for (name, table) in sources.sorted(by: { $0.key < $1.key }) {
      guard let described = page[name] else { continue }
      #expect(described.makers == table.makers, "\(name), Made in: \(table.makers.sorted())")
      let writers = table.writers.sorted().map { "`\($0)`" }.joined(separator: ", ")
      #expect(described.writers == table.writers, "\(name) is to say: Written in: \(writers).")
    }
  }

  @Test("Every column of those tables is described")
  func columnsAreDescribed() throws {
    let page = try Self.pageTables()
    for (name, table) in try Self.sourceTables() {
      let missing = table.columns.subtracting(page[name]?.columns ?? [])
      #expect(missing.isEmpty, "\(name): \(missing.sorted())")
    }
  }

  @Test("Every setting of ZDL_STORE is described")
  func settingsAreDescribed() throws {
    let page = try Pages.text("FileFormats.md")
    let declared = try Regex<(Substring, Substring)>(
      #"static let \w*[sS]etting = "([\w.]+)""#)
    let used = try Regex<(Substring, Substring)>(#"etting\("([\w.]+)""#)
    var settings: Set<String> = []
    for text in Self.sources.values {
      for regex in [declared, used] {
        for match in text.matches(of: regex) { settings.insert(String(match.output.1)) }
      }
    }
    #expect(settings.count > 8)
    for setting in settings.sorted() {
      #expect(page.contains("`\(setting)`"), "the setting \(setting) is not described")
    }
  }
}
