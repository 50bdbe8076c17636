import Driftless
import DriftlessSync
import Foundation
import Testing

/// Deletes that leave references as they are: of relationships without inverse, and of those whose rule does nothing.
@Suite struct ShapeSequenceTests {
  private static func model() -> ManagedObjectModel {
    let item = EntityDescription("Item")
    item.properties = [AttributeDescription("title", .string)]
    let folder = EntityDescription("Folder")
    folder.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "papers", to: "Paper", inverse: "folder", toMany: true, deleteRule: .noAction),
    ]
    let paper = EntityDescription("Paper")
    paper.isAbstract = true
    paper.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("folder", to: "Folder", inverse: "papers"),
    ]
    let letter = EntityDescription("Letter")
    letter.superentityName = "Paper"
    let note = EntityDescription("Note")
    note.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("about", to: "Item", inverse: nil),
      RelationshipDescription("also", to: "Item", inverse: nil, toMany: true),
    ]
    return ManagedObjectModel(entities: [item, folder, paper, letter, note])
  }

  private static func stage() async throws -> Stage {
    try await Stage(hosts: 2, model: model())
  }

  private static func syncAll(_ stage: Stage) async throws {
    for _ in 0..<2 { for host in stage.hosts { try await stage.sync(host.number) } }
  }

  @Test("A reference without inverse to what was deleted is none at who deleted it, as at others")
  func withoutInverse() async throws {
    let stage = try await Self.stage()
    let item = try stage.insert(0, "Item", ["title": .string("i")])
    let note = try stage.insert(0, "Note", ["name": .string("n")])
    try stage.relate(0, note, "about", item)
    try await Self.syncAll(stage)
    try stage.delete(1, item)
    try await stage.settle()
    #expect(stage.value(1, note, "about") == Image.null)
  }

  @Test("A reference whose other end's rule does nothing is none once that is deleted")
  func noAction() async throws {
    let stage = try await Self.stage()
    let folder = try stage.insert(0, "Folder", ["name": .string("f")])
    let letter = try stage.insert(0, "Letter", ["name": .string("l")])
    try stage.relate(0, letter, "folder", folder)
    try await Self.syncAll(stage)
    try stage.delete(1, folder)
    try await stage.settle()
    #expect(stage.value(1, letter, "folder") == Image.null)
    #expect(stage.value(0, letter, "folder") == Image.null)
  }

  @Test("What holds a deleted object without inverse, and is deleted then, leaves no pair behind")
  func holderAfterHeld() async throws {
    let stage = try await Self.stage()
    let item = try stage.insert(0, "Item", ["title": .string("i")])
    let note = try stage.insert(0, "Note", ["name": .string("n")])
    try stage.relate(0, note, "also", to: [item])
    try await Self.syncAll(stage)
    try stage.delete(1, item)
    try stage.delete(1, note)
    #expect(try SyncEngine.check(stage.hosts[1].store).isSound)
    try await stage.settle()
  }

  @Test("An export of what refers to a deleted object can be imported again")
  func imported() async throws {
    let stage = try await Self.stage()
    let item = try stage.insert(0, "Item", ["title": .string("i")])
    let note = try stage.insert(0, "Note", ["name": .string("n")])
    try stage.relate(0, note, "about", item)
    try stage.delete(0, item)
    #expect(try !ReplicaExport.text(of: stage.hosts[0].store).contains("about"))
    #expect(try stage.hosts[0].store.check().isSound)
    try await stage.settle()
  }
}
