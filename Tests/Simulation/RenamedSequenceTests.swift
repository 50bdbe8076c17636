import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Sequences of stores whose model gave an entity or a property another name.
struct RenamedSequenceTests {
  /// - Parameter renamesEntity: The new model has another name for items too.
  private static func model(isNew: Bool, renamesEntity: Bool) throws -> ManagedObjectModel {
    let item = EntityDescription(isNew && renamesEntity ? "Article" : "Item")
    item.renamingIdentifier = "Item"
    let title = AttributeDescription(isNew ? "name" : "title", .string)
    title.renamingIdentifier = "title"
    let stock = AttributeDescription(
      isNew ? "count" : "stock", .integer64, isOptional: false, defaultValue: .integer(0),
      conflictPolicy: .counter)
    stock.renamingIdentifier = "stock"
    let tags = RelationshipDescription(
      isNew ? "labels" : "tags", to: "Tag", inverse: "items", toMany: true)
    tags.renamingIdentifier = "tags"
    item.properties = [title, stock, tags]
    let tag = EntityDescription("Tag")
    tag.properties = [
      RelationshipDescription("items", to: item.name, inverse: tags.name, toMany: true)
    ]
    let box = EntityDescription("Box")
    box.properties = [AttributeDescription("name", .string)]
    let model = ManagedObjectModel(entities: [item, tag, box])
    try model.freeze()
    return model
  }

  @Test(
    "What a server lost is offered under the names of the model that a store has by now",
    arguments: [false, true])
  func lostUnderFormerNames(isMadeAfter: Bool) async throws {
    // Who comes late with the new model knows nothing of an object that the log has under the former entity.
    let stage = try await Stage(
      .memory, hosts: 1, model: Self.model(isNew: false, renamesEntity: isMadeAfter))
    var item = UUID()
    let tag = try stage.insert(0, "Tag")
    if !isMadeAfter { item = try stage.insert(0, "Item", ["title": .string("made")]) }
    try await stage.sync(0)
    try stage.server.backup()
    if isMadeAfter { item = try stage.insert(0, "Item", ["title": .string("made")]) }
    try await stage.push(0)
    try stage.set(0, item, ["title": .string("lost")])
    try stage.set(0, item, ["stock": .integer(7)])
    try stage.relate(0, item, "tags", to: [tag])
    try await stage.push(0)
    let new = try Self.model(isNew: true, renamesEntity: isMadeAfter)
    try await stage.hosts[0].reopen(new)
    try await stage.partLogs()
    try await stage.sync(0)
    let late = try await stage.addHost(of: new)
    try await stage.sync(late.number)
    #expect(stage.value(late.number, item, "name") == "\"lost\"")
    #expect(stage.value(late.number, item, "count") == "7")
    #expect(stage.value(late.number, item, "labels").contains(tag.uuidString.lowercased()))
  }
}
