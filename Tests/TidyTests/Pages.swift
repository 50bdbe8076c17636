import Foundation

/// The pages that a person reads: those of the documentation catalogue, and those at the top of the repository.
enum Pages {
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The folder of the catalogue, from the root.
  static let catalogue = "Sources/Driftless/Driftless.docc"

  /// The text of a page of the catalogue.
  static func text(_ name: String) throws -> String {
    try String(
      contentsOf: root.appendingPathComponent("\(catalogue)/\(name)"), encoding: .utf8)
  }

  /// The paths of all pages from the root, in order.
  static let paths: [String] = {
    let folder = root.appendingPathComponent(catalogue)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let top = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
    return top + names.filter { $0.hasSuffix(".md") }.sorted().map { "\(catalogue)/\($0)" }
  }()
}
