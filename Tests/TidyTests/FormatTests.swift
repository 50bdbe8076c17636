import Foundation
import Testing

/// The catalogue's page `FileFormats.md` describes the tables that Driftless adds to a store as they are: which there are, and
/// their columns. Who owns them, `OwnerTests` looks at.
struct FormatTests {
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

  private static func sourceTables() throws -> [String: Set<String>] {
    // Columns end where the statement does; the keys at its end are none.
    let create = try Regex<(Substring, Substring, Substring)>(
      #"CREATE TABLE IF NOT EXISTS (ZDL_[A-Z_]+) ?\(((?:[^()]|\([^()]*\))*)\)"#)
    let add = try Regex<(Substring, Substring, Substring)>(
      #"ALTER TABLE (ZDL_[A-Z_]+) ADD COLUMN (\w+|\\\(column\))"#)
    // What a row keeps by itself, which the check's rules say.
    let constraints = try Regex(#"\\\(RowRule\.constraints\([a-zA-Z]+\)\)"#)
    var tables: [String: Set<String>] = [:]
    for source in sources.values {
      let text = source.replacing(constraints, with: "")
      for match in text.matches(of: create) {
        tables[String(match.output.1), default: []].formUnion(columns(of: match.output.2))
      }
      for match in text.matches(of: add) where match.output.2.first != "\\" {
        tables[String(match.output.1), default: []].insert(String(match.output.2))
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

  private static func pageTables() throws -> [String: Set<String>] {
    var tables: [String: Set<String>] = [:]
    for part in try Pages.text("FileFormats.md").components(separatedBy: "\n### ZDL_").dropFirst() {
      let section = part.components(separatedBy: "\n## ")[0]
      let lines = section.split(separator: "\n", omittingEmptySubsequences: false)
      var columns: Set<String> = []
      for line in lines where line.hasPrefix("| `") {
        columns.insert(String(line.dropFirst(3).prefix { $0 != "`" }))
      }
      tables["ZDL_\(lines[0])"] = columns
    }
    return tables
  }

  @Test("Every table of Driftless has its section")
  func tablesAreDescribed() throws {
    let page = try Self.pageTables()
    let sources = try Self.sourceTables()
    #expect(sources.count > 20)
    #expect(Set(page.keys) == Set(sources.keys))
  }

  @Test("Every column of those tables is described")
  func columnsAreDescribed() throws {
    let page = try Self.pageTables()
    for (name, columns) in try Self.sourceTables() {
      let missing = columns.subtracting(page[name] ?? [])
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

  @Test(
    "The versions of the tables are on the page of what is supported as they are in the sources")
  func versionsAreDescribed() throws {
    let page = try Pages.text("Platforms.md")
    let version = try Regex<(Substring, Substring)>(#"static let version: Int64 = (\d+)"#)
    for (file, setting) in [
      ("Driftless/Store/OwnTables.swift", "tables"),
      ("DriftlessSync/Replica/EngineTables.swift", "sync.tables"),
    ] {
      let number = try #require(Self.sources[file]?.firstMatch(of: version)?.output.1)
      #expect(page.contains("`\(setting)` \(number)"), "\(setting) is \(number)")
    }
  }
}
