import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What refers to each other among objects that a model had no entity for, when a purged zone's snapshot was taken.
struct LeftOutReferenceTests {
  private static func model(hasCategories: Bool) -> ManagedObjectModel {
    let ware = EntityDescription("Ware")
    ware.properties = [AttributeDescription("name", .string)]
    guard hasCategories else { return ManagedObjectModel(entities: [ware]) }
    let category = EntityDescription("Category")
    category.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("parent", to: "Category", inverse: "children"),
      RelationshipDescription("children", to: "Category", inverse: "parent", toMany: true),
      RelationshipDescription("likes", to: "Category", inverse: "likedBy", toMany: true),
      RelationshipDescription("likedBy", to: "Category", inverse: "likes", toMany: true),
    ]
    return ManagedObjectModel(entities: [ware, category])
  }

  private func insert(
    _ name: String, under parent: UUID, in replica: TestReplica
  ) throws -> UUID {
    let child = try replica.insert("Category", ["name": .string(name)])
    try relate(child, to: parent, in: replica)
    return child
  }

  private func relate(_ child: UUID, to parent: UUID, in replica: TestReplica) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: child))
      let parent = try #require(try context.object(withIdentity: parent))
      try object.setValue(parent, forKey: "parent")
      try object.setValue([parent], forKey: "likes")
    }
  }

  @Test("An object that was set aside after a snapshot has what it refers to of before it")
  func parent() async throws {
    let full = Self.model(hasCategories: true)
    var fleet = try await Fleet(1, full)
    let way = try PurgedZone(fleet.world.zone)
    try await fleet.join(Self.model(hasCategories: false), "narrow", by: way)
    let root = try fleet[0].insert("Category", ["name": .string("root")])
    try fleet[0].insert("Ware", ["name": .string("ware")])
    try await fleet.sync(0)
    try way.purge()
    try await fleet.sync(1)
    #expect(way.refused > 0)
    let child = try insert("child", under: root, in: fleet[0])
    let later = try insert("later", under: root, in: fleet[0])
    try await fleet.sync(0, 1)
    try await fleet.migrate(1, to: full, by: way)
    try await fleet.sync(1)
    #expect(try fleet[1].export == fleet[0].export)
    for identity in [child, later] {
      #expect(try fleet[1].reference(identity, "parent") == root)
    }
    #expect(try SyncEngine.check(fleet[1].store).findings == [])
    #expect(try SyncEngine.parked(of: fleet[1].store).isEmpty)
    try await fleet.world.settle()
  }

  @Test(
    "A column that a program of before did not know is taken by one that knows it",
    arguments: [true, false])
  func column(isAsked: Bool) async throws {
    let full = Self.model(hasCategories: true)
    var fleet = try await Fleet(1, full)
    let way = try PurgedZone(fleet.world.zone)
    try await fleet.join(full, "older", by: way)
    let ware = try fleet[0].insert("Ware", ["name": .string("ware")])
    try await fleet.sync(0)
    try way.purge()
    try await fleet.sync(1)
    let generation = try await fleet.world.zone.zoneInfo().generation
    // As a program left it that could not read the column.
    let level = isAsked ? "" : #","triedLevel":2"#
    let text =
      #"{"generation":"\#(generation.uuidString)","sequence":1,"since":1,"texts":["Ware.name\tunknown"]"#
      + level + "}"
    try fleet[1].write { try $0.setSetting("sync.namesLeftOut", .text(text)) }
    #expect(try SyncEngine.parked(of: fleet[1].store).map(\.names) == [["Ware.name"]])
    if isAsked {
      try await fleet.sync(1)
      #expect(try SyncEngine.parked(of: fleet[1].store).count == 1, "it was tried by this program")
      #expect(try SyncEngine.retryParked(of: fleet[1].store) == 1)
    }
    try await fleet.sync(1)
    #expect(try SyncEngine.parked(of: fleet[1].store).isEmpty)
    #expect(try fleet[1].value(ware, "name") == .string("ware"))
    try await fleet.world.settle()
  }
}
