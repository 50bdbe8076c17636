import Foundation
import Testing

/// What the pages point to is there: other pages, files of the repository, and the commands that they tell to type.
struct PageTests {
  /// The folders from which pages begin their paths, the repository itself apart.
  private static let bases = [
    "Sources/", "Sources/Driftless/", "Sources/DriftlessSync/", "Sources/DriftlessProtocol/",
    "Server/DriftlessServer/", "Server/DriftlessServer/Storage/SQLite/", "Tests/",
  ]

  private static let manager = FileManager.default

  /// Every file's name in the repository, for a page that has said the folder before.
  private static let names: Set<String> = {
    var names: Set<String> = []
    for folder in ["Sources", "Server", "Client", "Tests", "Examples", "Scripts"] {
      let paths = manager.enumerator(atPath: Pages.root.appendingPathComponent(folder).path)
      while let path = paths?.nextObject() as? String {
        names.insert(String(path.split(separator: "/").last ?? ""))
      }
    }
    return names
  }()

  private static func exists(_ path: String) -> Bool {
    manager.fileExists(atPath: Pages.root.appendingPathComponent(path).path)
  }

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: Pages.root.appendingPathComponent(path), encoding: .utf8)
  }

  /// The parts between backticks, those in blocks of code apart.
  private static func codes(in text: String) -> [String] {
    let prose = text.components(separatedBy: "\n```").enumerated()
      .filter { $0.offset.isMultiple(of: 2) }.map(\.element).joined(separator: "\n")
    return prose.components(separatedBy: "`").enumerated()
      .filter { !$0.offset.isMultiple(of: 2) }.map(\.element)
  }

  /// Whether a code is the path of a file, by its ending.
  private static func isPath(_ code: String) -> Bool {
    code.allSatisfy { $0.isLetter || $0.isNumber || "/+._-".contains($0) }
      && [".swift", ".proto", ".md"].contains { code.hasSuffix($0) && code.count > $0.count }
  }

  @Test("Every page is there, and every link of it leads to a file", arguments: Pages.paths)
  func linksLead(path: String) throws {
    let page = try Self.text(path)
    let folder = Pages.root.appendingPathComponent(path).deletingLastPathComponent()
    for part in page.components(separatedBy: "](").dropFirst() {
      let link = part.components(separatedBy: ")")[0]
      if link.contains("://") { continue }
      let file = folder.appendingPathComponent(link.components(separatedBy: "#")[0])
      #expect(
        Self.manager.fileExists(atPath: file.path), "\(path) links to \(link), which is not there")
    }
  }

  @Test("Every page of the catalogue is linked to by its first page")
  func pagesAreListed() throws {
    let first = try Pages.text("Driftless.md")
    for path in Pages.paths where path.hasPrefix(Pages.catalogue) {
      let name = path.dropFirst(Pages.catalogue.count + 1)
      let isListed = name == "Driftless.md" || first.contains("](\(name))")
      #expect(isListed, "Driftless.md does not list \(name)")
    }
  }

  @Test("Every file that a page names exists", arguments: Pages.paths)
  func filesExist(path: String) throws {
    for code in Self.codes(in: try Self.text(path)) where Self.isPath(code) {
      let isThere =
        Self.exists(code) || Self.bases.contains { Self.exists($0 + code) }
        || (!code.contains("/") && Self.names.contains(code))
      #expect(isThere, "\(path) names \(code), which is not there")
    }
  }

  @Test("Every folder and script that a page names exists", arguments: Pages.paths)
  func foldersExist(path: String) throws {
    let tops = [
      "Sources", "Server", "Client", "Plugins", "Tests", "Scripts", "Benchmarks", "Examples",
    ]
    for code in Self.codes(in: try Self.text(path)) {
      guard let top = code.split(separator: "/").first, tops.contains(String(top)),
        code.contains("/"), code.allSatisfy({ $0.isLetter || $0.isNumber || "/._-+".contains($0) })
      else { continue }
      #expect(Self.exists(code), "\(path) names \(code), which is not there")
    }
  }

  @Test("Every make target that a page names is in the Makefile", arguments: Pages.paths)
  func targetsExist(path: String) throws {
    let makefile = "\n" + (try Self.text("Makefile"))
    let page = try Self.text(path)
    for part in page.components(separatedBy: "make ").dropFirst() {
      let before = page[..<part.startIndex].dropLast(5).last
      guard before == "`" || before == "\n" else { continue }
      let target = part.prefix { $0.isLetter }
      #expect(makefile.contains("\n\(target):"), "\(path) names make \(target)")
    }
  }
}
