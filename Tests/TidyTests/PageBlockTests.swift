import Foundation
import Testing

/// Blocks of pages that are no commands: code that a test compiles, and what other programs read, with why no test reads it.
/// Commands run, and say why where they do not (`EndToEndTests/Guides/PageShellTests.swift`).
struct PageBlockTests {
  private struct Block {
    var language: String
    var text: String
  }

  /// Where the code of a page is compiled.
  private static let compiled: [String: [String]] = [
    "README.md": ["Tests/EndToEndTests/EmbeddingTests.swift"],
    "CoreDataModule.md": ["Tests/CoreDataTests/PageExamples.swift"],
    "Migration.md": ["Tests/DriftlessStoreTests/MigrationGuideTests.swift"],
    "Porting.md": [
      "Tests/CoreDataTests/PageExamples.swift",
      "Tests/EndToEndTests/Guides/PageFragmentExamples.swift",
    ],
    "WritingAStorage.md": [
      "Tests/DriftlessServerTests/StorageConformanceTests.swift", "Tests/OwnStorageTests",
    ],
    "Tutorial.md": [
      "Examples/DownloadCache/Package.swift", "Examples/DownloadCache/Sources",
      "Tests/EndToEndTests/Guides/GuideExamples.swift",
    ],
  ]
  private static let guides = [
    "Tests/EndToEndTests/Guides/GuideExamples.swift",
    "Tests/EndToEndTests/Guides/PageFragmentExamples.swift",
  ]

  /// What no test of this package reads, with the reason.
  private static let unread: [String: String] = [
    "text": "a picture, or what a program prints in the text around it",
    "nginx": "nginx reads it, which tests do not have",
    "yaml": "Prometheus reads it, which tests do not have",
    "ini": "systemd reads it, on a host where it is installed",
  ]

  private func blocks(of path: String) throws -> [Block] {
    let text = try String(
      contentsOf: Pages.root.appendingPathComponent(path), encoding: .utf8)
    var blocks: [Block] = []
    var open: Block?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        if let block = open {
          blocks.append(block)
          open = nil
        } else {
          open = Block(language: String(line.dropFirst(3)), text: "")
        }
      } else {
        open?.text += line + "\n"
      }
    }
    return blocks
  }

  /// The text of files, and of all files in folders, without white space: how lines are broken is each file's own.
  private func plainText(of paths: [String]) throws -> String {
    var texts: [String] = []
    for path in paths {
      let url = Pages.root.appendingPathComponent(path)
      var files = [url]
      if url.pathExtension.isEmpty {
        let all = FileManager.default.enumerator(at: url, includingPropertiesForKeys: nil)
        files = all?.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" } ?? []
      }
      for file in files {
        let text = try String(contentsOf: file, encoding: .utf8)
        texts.append(Self.plain(text))
      }
    }
    return texts.joined()
  }

  private static func plain(_ text: some StringProtocol) -> String {
    String(text).filter { !$0.isWhitespace }
  }

  @Test(
    "Each line of code that a page shows stands in a file that is compiled", arguments: Pages.paths)
  func code(path: String) throws {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    let compiled = try plainText(of: Self.compiled[name] ?? Self.guides)
    let products = try manifestNames()
    for block in try blocks(of: path) where block.language == "swift" {
      if block.text.contains("package: \"driftless\"") {
        for product in block.text.matches(of: /name: "(\w+)", package: "driftless"/) {
          #expect(
            products.contains(String(product.1)), "\(path) names no product: \(product.1)")
        }
        continue
      }
      for line in block.text.split(separator: "\n").map(Self.plain)
      where line.count > 2 && !line.contains("…") {
        #expect(compiled.contains(line), "\(path) shows what is not compiled: \(line)")
      }
    }
  }

  private func manifestNames() throws -> Set<String> {
    let manifest = try String(
      contentsOf: Pages.root.appendingPathComponent("Package.swift"), encoding: .utf8)
    let products = manifest.components(separatedBy: "products: [").dropFirst().joined()
    let names = products.prefix { $0 != "\u{0}" }.matches(of: /"(\w+)"/).map { String($0.1) }
    return Set(names)
  }

  @Test("What no test reads says why, and what a model may say is known", arguments: Pages.paths)
  func rest(path: String) throws {
    let sources = try plainText(of: ["Sources/Driftless/Model", "Sources/DriftlessSync"])
    for block in try blocks(of: path) {
      switch block.language {
      case "sh", "output", "console", "swift", "json": continue
      case "xml":
        for key in block.text.matches(of: /"driftless\.(\w+)"/) {
          #expect(
            sources.contains("driftless.\(key.1)"), "\(path): nothing reads driftless.\(key.1)")
        }
      default:
        #expect(
          Self.unread[block.language] != nil, "\(path): nobody reads a block of \(block.language)")
      }
    }
  }
}
