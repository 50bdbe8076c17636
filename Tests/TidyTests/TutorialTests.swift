import Foundation
import Testing

/// The catalogue's page `Tutorial.md` shows the example as it is.
struct TutorialTests {
  private static func text(_ path: String) throws -> String {
    try String(contentsOf: Pages.root.appendingPathComponent(path), encoding: .utf8)
  }

  /// The blocks marked as Swift.
  private static func blocks(in document: String) -> [String] {
    document.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
  }

  @Test(
    "Every block of Swift in the tutorial stands in the example's sources, or in those of the guides"
  )
  func blocksStandInSources() throws {
    let folder = "Examples/DownloadCache"
    var sources = try ["\(folder)/Package.swift", "Tests/EndToEndTests/Guides/GuideExamples.swift"]
      .map(Self.text)
    let names = FileManager.default.enumerator(
      atPath: Pages.root.appendingPathComponent("\(folder)/Sources").path)
    while let name = names?.nextObject() as? String {
      guard name.hasSuffix(".swift") else { continue }
      sources.append(try Self.text("\(folder)/Sources/\(name)"))
    }
    let blocks = Self.blocks(in: try Pages.text("Tutorial.md"))
    #expect(blocks.count >= 10)
    for block in blocks {
      let isThere = sources.contains { $0.contains(block) }
      #expect(isThere, "the sources have no longer:\n\(block)")
    }
  }
}
