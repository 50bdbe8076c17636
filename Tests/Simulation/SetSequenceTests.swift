import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Both sides did one thing to a set, and then one of them did another.
struct SetSequenceTests {
  private func model() -> ManagedObjectModel {
    let item = EntityDescription("Item")
    item.deletePolicy = .editWins
    item.properties = [
      AttributeDescription("title", .string),
      RelationshipDescription("tags", to: "Tag", inverse: "items", toMany: true),
    ]
    let tag = EntityDescription("Tag")
    tag.deletePolicy = .editWins
    tag.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("items", to: "Item", inverse: "tags", toMany: true),
    ]
    return ManagedObjectModel(entities: [item, tag])
  }

  /// Two hosts added one pair, the second later, and it has heard of the first's.
  private func addedOnBothSides() async throws -> (Stage, item: UUID, tag: UUID) {
    let stage = try await Stage(.memory, model: model())
    let item = try stage.insert(0)
    let tag = try stage.insert(0, "Tag")
    try await stage.settle()
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.sync(0)
    stage.clock.advance(milliseconds: 1000)
    try stage.relate(1, item, "tags", to: [tag])
    _ = try await stage.hosts[1].engine.pull()
    try stage.hosts[1].look()
    return (stage, item, tag)
  }

  @Test("What left a set with its delete does not come back into it alone")
  func removedByDelete() async throws {
    let model = Stage.model()
    model.entitiesByName["Tag"]?.deletePolicy = .editWins
    let stage = try await Stage(.memory, hosts: 2, model: model)
    let item = try stage.insert(0)
    let tag = try stage.insert(0, "Tag")
    try await stage.settle()
    // Two put it in: the one who comes later says it again.
    try stage.relate(0, item, "tags", to: [tag])
    try stage.relate(1, item, "tags", to: [tag])
    try await stage.sync(0)
    _ = try await stage.hosts[1].engine.pull()
    try await stage.push(1)
    try stage.delete(0, tag)
    try await stage.sync(0)
    try stage.set(1, tag, ["name": .string("edited")])
    try await stage.settle()
    #expect(stage.value(0, item, "tags") == stage.value(1, item, "tags"))
  }

  @Test("An element that both added, and one of them removed then, is gone everywhere")
  func addedTwiceThenRemoved() async throws {
    let (stage, item, _) = try await addedOnBothSides()
    try stage.relate(1, item, "tags", to: [])
    try await stage.settle()
    #expect(Image.identities(in: stage.value(0, item, "tags")) == [])
  }

  @Test(
    "An element that both added, and one of them deleted then, is in the set when an edit brings it back"
  )
  func addedTwiceThenDeleted() async throws {
    let (stage, item, tag) = try await addedOnBothSides()
    try stage.delete(1, tag)
    try stage.set(2, tag, ["name": .string("edited")])
    try await stage.sync(2)
    try await stage.settle()
    #expect(Image.identities(in: stage.value(1, item, "tags")) == [tag])
  }

  @Test("An element that both added stays when a third removes the earlier of the two")
  func addedTwiceAndRemoved() async throws {
    let (stage, item, tag) = try await addedOnBothSides()
    try await stage.sync(2)
    try stage.relate(2, item, "tags", to: [])
    try await stage.sync(2)
    try await stage.settle()
    #expect(Image.identities(in: stage.value(0, item, "tags")) == [tag])
  }

  @Test(
    "An object and an element of its set, both deleted, are together again when edits bring both back"
  )
  func bothDeletedApart() async throws {
    let stage = try await Stage(.memory, model: model())
    let item = try stage.insert(0)
    let tag = try stage.insert(0, "Tag")
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.settle()
    try stage.delete(0, item)
    try stage.delete(0, tag)
    try stage.set(1, item, ["title": .string("edited")])
    try stage.set(1, tag, ["name": .string("edited")])
    try await stage.sync(1)
    try await stage.settle()
    #expect(Image.identities(in: stage.value(0, item, "tags")) == [tag])
  }
}
