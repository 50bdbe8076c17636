import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// An object that an edit keeps against a delete: each of its properties has the time of its own last edit.
struct RevivalTimeTests {
  private static func model() -> ManagedObjectModel {
    let item = EntityDescription("Item")
    item.deletePolicy = .editWins
    item.properties = [
      AttributeDescription("title", .string), AttributeDescription("note", .string),
      AttributeDescription("size", .integer64),
      RelationshipDescription("box", to: "Box", inverse: "items"),
      RelationshipDescription("tags", to: "Tag", inverse: "items", toMany: true),
    ]
    let box = EntityDescription("Box")
    box.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("items", to: "Item", inverse: "box", toMany: true),
    ]
    let tag = EntityDescription("Tag")
    tag.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("items", to: "Item", inverse: "tags", toMany: true),
    ]
    return ManagedObjectModel(entities: [item, box, tag])
  }

  private func stage(
    backingUpFirst: Bool = false
  ) async throws -> (Stage, item: UUID, box: UUID, tag: UUID) {
    let stage = try await Stage(.sqlite, hosts: 3, model: Self.model())
    if backingUpFirst { try stage.server.backup() }
    let item = try stage.insert(
      0, "Item", ["title": .string("title"), "note": .string("note"), "size": .integer(1)])
    let box = try stage.insert(0, "Box", ["name": .string("box")])
    let tag = try stage.insert(0, "Tag", ["name": .string("tag")])
    for number in [0, 1, 2] { try await stage.sync(number) }
    return (stage, item, box, tag)
  }

  @Test(
    "An edit of another property stands, whoever brings the object back first",
    arguments: [[1, 2], [2, 1]])
  func otherProperty(order: [Int]) async throws {
    let (stage, item, box, tag) = try await stage()
    // Before the revival, and after all that was known of these.
    try stage.set(2, item, ["note": .string("edited")])
    try stage.relate(2, item, "box", box)
    try stage.relate(2, item, "tags", to: [tag])
    try stage.set(1, item, ["title": .string("edited")])
    try stage.delete(0, item)
    try await stage.sync(0)
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    #expect(stage.value(0, item, "title") == "\"edited\"")
    #expect(stage.value(0, item, "note") == "\"edited\"")
    #expect(stage.value(0, item, "box").contains(box.uuidString.lowercased()))
    #expect(stage.value(0, item, "tags").contains(tag.uuidString.lowercased()))
    #expect(stage.value(0, item, "size") == "1")
  }

  @Test(
    "An edit that is older than the zone's of the same property loses to it, also after a revival")
  func olderEdit() async throws {
    let (stage, item, _, _) = try await stage()
    try stage.set(2, item, ["note": .string("older")])
    try stage.set(0, item, ["note": .string("newer")])
    try await stage.sync(0)
    try await stage.sync(1)
    try stage.set(1, item, ["title": .string("edited")])
    try stage.delete(0, item)
    try await stage.sync(0)
    try await stage.sync(1)
    try await stage.sync(2)
    try await stage.settle()
    #expect(stage.value(0, item, "note") == "\"newer\"")
    #expect(
      try stage.hosts[2].conflicts.contains { $0.property == "note" && $0.local == "\"older\"" })
  }

  @Test("Edits of two times of the one that brings it back have their own")
  func ownTimes() async throws {
    let (stage, item, _, _) = try await stage()
    try stage.set(1, item, ["note": .string("first")])
    try stage.set(2, item, ["note": .string("second")])
    try stage.set(1, item, ["title": .string("third")])
    try stage.delete(0, item)
    try await stage.sync(0)
    try await stage.sync(1)
    try await stage.sync(2)
    try await stage.settle()
    #expect(stage.value(0, item, "note") == "\"second\"")
    #expect(stage.value(0, item, "title") == "\"third\"")
  }

  @Test(
    "What a revival says of others' edits is offered with their times when a server lost it",
    arguments: [[1, 2], [2, 1]], [false, true])
  func lost(order: [Int], isRenewed: Bool) async throws {
    let (stage, item, _, _) = try await stage()
    try stage.server.backup()
    // Later than all that was known of the note, earlier than the edit that keeps the object.
    try stage.set(2, item, ["note": .string("edited")])
    try stage.set(1, item, ["title": .string("edited")])
    try stage.delete(0, item)
    for number in [0, 1, 0] { try await stage.sync(number) }
    #expect(stage.value(0, item, "title") == "\"edited\"")
    if isRenewed { try stage.renew() } else { try await stage.partLogs() }
    for number in order { try await stage.sync(number) }
    try await stage.settle()
    #expect(stage.value(0, item, "title") == "\"edited\"")
    #expect(stage.value(0, item, "note") == "\"edited\"")
    #expect(stage.value(0, item, "size") == "1")
  }

  @Test(
    "What was revived, lost with the server and deleted, unsent, has its edits when it is kept",
    arguments: [false, true])
  func lostAndDeleted(isMadeAbove: Bool) async throws {
    let (stage, item, _, _) = try await stage(backingUpFirst: isMadeAbove)
    if !isMadeAbove { try stage.server.backup() }
    try stage.set(1, item, ["title": .string("edited")])
    try stage.delete(0, item)
    for number in [0, 1, 0] { try await stage.sync(number) }
    try stage.delete(1, item)
    // It never knew of the delete, nor of the edit that was kept against it.
    try stage.set(2, item, ["note": .string("edited")])
    // Who else knew of it does not come back.
    try await stage.partLogs()
    try stage.delete(0, item)
    try await stage.sync(2)
    try await stage.sync(1)
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[item] != nil, "\(host.name)") }
    #expect(stage.value(0, item, "note") == "\"edited\"")
    #expect(stage.value(0, item, "title") == "\"edited\"")
  }
}
