import Driftless
import Foundation
import SyncDaemon
import TestSupport
import Testing

@testable import SyncControl

/// What `model generate` writes over, and what not.
@Suite struct ModelGenerateTests {
  private let directory: TemporaryDirectory
  private let folder: ClassFolder

  init() throws {
    directory = try TemporaryDirectory()
    folder = ClassFolder(url: directory.file("classes"))
  }

  private func model(_ names: String..., type: AttributeType = .string) throws -> ManagedObjectModel
  {
    let model = ManagedObjectModel(
      entities: names.map { name in
        let entity = EntityDescription(name)
        entity.properties = [AttributeDescription("name", type)]
        return entity
      })
    try model.freeze()
    return model
  }

  private func write(_ model: ManagedObjectModel, force: Bool = false) throws -> ClassFolder.Report
  {
    try folder.write(model, accessLevel: "internal", force: force)
  }

  private func file(_ name: String) -> URL { folder.url.appendingPathComponent(name) }
  private func text(_ name: String) throws -> String {
    try String(contentsOf: file(name), encoding: .utf8)
  }

  private func number(_ name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: file(name).path)[.systemFileNumber] as? Int
  }

  @Test("A second run writes nothing; another model is written over what was written")
  func again() throws {
    let first = try write(model("Book", "Shelf"))
    #expect(first.written == [file("Book.swift").path, file("Shelf.swift").path])
    #expect(try text("Book.swift").hasPrefix("// Made by syncctl model generate; SHA-256"))
    let number = try number("Book.swift")
    let second = try write(model("Book", "Shelf"))
    #expect(second.written.isEmpty && second.files == first.files && second.left.isEmpty)
    #expect(second.lines == ["nothing to write"])
    #expect(try self.number("Book.swift") == number)
    #expect(try write(model("Book", "Shelf", type: .date)).written.count == 2)
    #expect(try text("Book.swift").contains("Date"))
  }

  @Test("What was changed, and what others wrote, stays and is named; force writes over it")
  func kept() throws {
    _ = try write(model("Book", "Page", "Shelf", "Wall"))
    let changed = try text("Book.swift") + "// mine\n"
    try Data(changed.utf8).write(to: file("Book.swift"))
    try Data("class Shelf {}\n".utf8).write(to: file("Shelf.swift"))
    try Data(text("Wall.swift").split(separator: "\n")[0].utf8).write(to: file("Wall.swift"))
    unlink(file("Page.swift").path)
    symlink("/etc/hostname", file("Page.swift").path)
    let report = try write(model("Book", "Page", "Shelf", "Wall", type: .date))
    #expect(report.written.isEmpty && report.files.isEmpty)
    #expect(
      report.left.map(\.reason) == [
        "it was changed since it was written", "it was not written by this command",
        "it was not written by this command", "it was changed since it was written",
      ])
    #expect(try text("Book.swift") == changed && text("Shelf.swift") == "class Shelf {}\n")
    unlink(file("Page.swift").path)
    #expect(try write(model("Book", "Shelf", "Wall", type: .date), force: true).written.count == 3)
    #expect(try text("Shelf.swift").contains("Date"))
  }

  @Test("Lines that a version control system ends otherwise are no change")
  func lineEnds() throws {
    _ = try write(model("Book"))
    let text = try text("Book.swift").replacingOccurrences(of: "\n", with: "\r\n")
    try Data(text.utf8).write(to: file("Book.swift"))
    #expect(try write(model("Book")).lines == ["nothing to write"])
    #expect(try write(model("Book", type: .date)).written.count == 1)
  }

  @Test("Files of classes that are gone are named, and stay; those of others are not")
  func stale() throws {
    _ = try write(model("Book", "Shelf", "Wall"))
    try Data(text("Wall.swift").appending("\n").utf8).write(to: file("Wall.swift"))
    try Data("struct Other {}\n".utf8).write(to: file("Other.swift"))
    try Data([0xFF, 0xFE]).write(to: file("Bytes.swift"))
    let report = try write(model("Book"), force: true)
    #expect(report.stale == [file("Shelf.swift").path, file("Wall.swift").path])
    #expect(report.lines.count == 2 && report.lines[0].hasPrefix("stale: "))
    #expect(FileManager.default.fileExists(atPath: file("Shelf.swift").path))
  }

  @Test("A folder that cannot be, or a folder in a class's place, is a failure with what to try")
  func unwritable() throws {
    try Data().write(to: folder.url)
    let failure = #expect(throws: Failure.self) { try write(model("Book")) }
    #expect(failure?.code == "class-unwritable" && failure?.suggestion.isEmpty == false)
    unlink(folder.url.path)
    try FileManager.default.createDirectory(
      at: file("Book.swift").appendingPathComponent("in it"), withIntermediateDirectories: true)
    #expect(try write(model("Book")).left.count == 1)
    #expect(throws: Failure.self) { try write(model("Book"), force: true) }
  }

  @Test("The command ends with 1 where a file was left, and with 0 once force wrote it")
  func command() async throws {
    let shop = try Shop()
    let arguments = ["model", "generate", "--store", shop.url.path, "--folder", folder.url.path]
    #expect(await SyncControl.run(arguments) == 0)
    try Data("mine\n".utf8).write(to: file("Item.swift"))
    #expect(await SyncControl.run(arguments) == 1)
    #expect(await SyncControl.run(arguments + ["--force", "--json"]) == 0)
    #expect(await SyncControl.run(arguments) == 0)
  }
}
