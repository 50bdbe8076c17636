import Foundation
import Testing

@testable import SwiftSource

/// The examples that are applications of Core Data's, and what the port makes of them.
struct PortedExampleTests {
  @Test(
    "The examples' sources are what the port makes of their forms for Apple's systems",
    arguments: [("Notebook", 7), ("CoreDataCache", 2)])
  func example(_ name: String, count: Int) throws {
    let source = Self.examples.appendingPathComponent("\(name)/Apple/\(name)")
    let files = try Self.swiftFiles(source)
    #expect(files.count == count)
    for file in files {
      let text = try String(contentsOf: source.appendingPathComponent(file), encoding: .utf8)
      let result = SourcePort.port(text, keepsManaged: true)
      let here = Self.examples.appendingPathComponent("\(name)/Sources/\(name)/\(file)")
      #expect(result.text == (try String(contentsOf: here, encoding: .utf8)), "\(file)")
      #expect(!result.notes.contains { $0.isLeft }, "\(file)")
    }
  }

  @Test("What a new project has for Core Data is as it is for Apple's systems: nothing is ported")
  func template() throws {
    let source = Self.examples.appendingPathComponent("Template/Sources/Template")
    let files = try Self.swiftFiles(source)
    #expect(files.sorted() == ["AppDelegate.swift", "Persistence.swift"])
    for file in files {
      let text = try String(contentsOf: source.appendingPathComponent(file), encoding: .utf8)
      let result = SourcePort.port(text, keepsManaged: true)
      #expect(result.text == text && result.notes.isEmpty, "\(file)")
    }
  }

  private static let examples = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Examples")

  private static func swiftFiles(_ folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".swift") }
  }
}
