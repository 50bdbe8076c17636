import ArgumentParser
import Foundation
import SyncDaemon
import TestSupport
import Testing

@testable import SyncControl

/// `syncctl code port` on folders.
@Suite struct CodePortCommandTests {
  private let folder: TemporaryDirectory
  private let manager = FileManager.default

  init() throws {
    folder = try TemporaryDirectory()
    try write("Model/Book.swift", "@objc(Book)\nclass Book {\n  @NSManaged var x: Int32\n}\n")
    try write("App.swift", "import Foundation\n")
    try write("Model/Deep/Keys.swift", "let key = #keyPath(Book.x)\n")
    try write("Model/Notes.txt", "@objc\n")
    try write(".build/Other.swift", "@objc class A {}\n")
  }

  private func write(_ path: String, _ text: String) throws {
    let url = folder.file(path)
    try manager.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  private func text(_ path: String) throws -> String {
    try String(contentsOf: folder.file(path), encoding: .utf8)
  }

  private func identity(_ path: String) throws -> Int? {
    try manager.attributesOfItem(atPath: folder.file(path).path)[.systemFileNumber] as? Int
  }

  private func run(_ arguments: String...) async -> Int32 {
    await SyncControl.run(["code", "port"] + arguments)
  }

  @Test(
    "A folder is changed in place; what needs nothing is not touched, and a second run does nothing"
  )
  func tree() async throws {
    let before = try identity("App.swift")
    #expect(await run(folder.url.path) == 0)
    #expect(
      try text("Model/Book.swift")
        == "class Book {\n  var x: Int32 { get { managedValue(forKey: \"x\") } "
        + "set { setManagedValue(newValue, forKey: \"x\") } }\n}\n")
    #expect(try text("Model/Deep/Keys.swift") == "let key = \"x\"\n")
    #expect(try text("Model/Notes.txt") == "@objc\n")
    #expect(try text(".build/Other.swift") == "@objc class A {}\n")
    #expect(try identity("App.swift") == before)
    let book = try identity("Model/Book.swift")
    let report = try SourceTree(folder.url.path).port(dryRun: false)
    #expect(report.files.isEmpty && report.read == 3)
    #expect(try identity("Model/Book.swift") == book)
    #expect(try manager.contentsOfDirectory(atPath: folder.file("Model").path).count == 3)
  }

  @Test("A dry run tells and changes nothing")
  func dryRun() async throws {
    #expect(await run(folder.url.path, "--dry-run", "--json") == 0)
    let report = try SourceTree(folder.url.path).port(dryRun: true)
    #expect(
      report.lines(dryRun: true) == [
        "Model/Book.swift:1: @objc(Book) removed",
        "Model/Book.swift:3: @NSManaged x reads and writes by key",
        "Model/Deep/Keys.swift:1: #keyPath(Book.x) is now \"x\"",
        "would change 2 of 3 files; left to do by hand: 0",
      ])
    #expect(try text("Model/Deep/Keys.swift") == "let key = #keyPath(Book.x)\n")
  }

  @Test("Something that is left to do gives another exit code, each time")
  func left() async throws {
    try write("App.swift", "let a = #selector(b)\n")
    for _ in 0...1 { #expect(await run(folder.url.path) == 1) }
    let lines = try SourceTree(folder.url.path).port(dryRun: false).lines(dryRun: false)
    #expect(lines.first?.hasPrefix("App.swift:1: left: #selector is not there on Linux") == true)
    #expect(lines.last == "changed 0 of 3 files; left to do by hand: 1")
  }

  @Test("A file keeps its mode", arguments: [0o600, 0o755, 0o444])
  func mode(mode: Int) async throws {
    let path = folder.file("Model/Book.swift").path
    try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    #expect(await run(folder.url.path) == 0)
    #expect(try text("Model/Book.swift").hasPrefix("class Book"))
    #expect(try manager.attributesOfItem(atPath: path)[.posixPermissions] as? Int == mode)
  }

  @Test("Links are not followed, but the folder itself may be one")
  func links() async throws {
    let outside = try TemporaryDirectory()
    let file = outside.file("Outside.swift")
    try Data("@objc class A {}\n".utf8).write(to: file)
    try manager.createSymbolicLink(at: folder.file("File.swift"), withDestinationURL: file)
    try manager.createSymbolicLink(at: folder.file("Folder"), withDestinationURL: outside.url)
    try manager.createSymbolicLink(at: folder.file("Round"), withDestinationURL: folder.url)
    let link = outside.file("link")
    try manager.createSymbolicLink(at: link, withDestinationURL: folder.url)
    #expect(await run(link.path) == 0)
    #expect(try text("Model/Deep/Keys.swift") == "let key = \"x\"\n")
    #expect(try Data(contentsOf: file) == Data("@objc class A {}\n".utf8))
  }

  @Test("A file in another encoding is told of and left alone")
  func encoding() async throws {
    let bytes = Data("@objc class A {} // ".utf8) + [0xE9, 0x0A]
    try bytes.write(to: folder.file("Old.swift"))
    #expect(await run(folder.url.path) == 1)
    #expect(try Data(contentsOf: folder.file("Old.swift")) == bytes)
    let lines = try SourceTree(folder.url.path).port(dryRun: false).lines(dryRun: false)
    #expect(lines.first == "Old.swift: left: is not in UTF-8: save it so, and run this again")
  }

  @Test("A folder that is not there, and a file in its place, are errors")
  func refusals() async throws {
    #expect(await run(folder.file("Nowhere").path) == ExitStatus.badData.rawValue)
    #expect(await run(folder.file("App.swift").path) == ExitStatus.badData.rawValue)
    #expect(await run() == ExitStatus.usage.rawValue)
    let error = #expect(throws: Failure.self) { try SourceTree("/no/such/folder") }
    #expect(error?.message == "There is no folder /no/such/folder.")
  }
}
