import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A fleet whose entities, properties and relationships are renamed twice, in a log that has all their names.
struct RenamedTwiceTests {
  private static let names = [
    (entity: "Article", name: "name", tag: "tag"), (entity: "Ware", name: "title", tag: "label"),
    (entity: "Good", name: "heading", tag: "mark"),
  ]

  /// - Parameter version: 0 to 2.
  private func model(_ version: Int) -> ManagedObjectModel {
    let now = Self.names[version]
    let item = EntityDescription(now.entity)
    let name = AttributeDescription(now.name, .string)
    let tag = RelationshipDescription(now.tag, to: "Tag", inverse: "items")
    if version > 0 {
      let before = Self.names[version - 1]
      item.renamingIdentifier = before.entity
      name.renamingIdentifier = before.name
      tag.renamingIdentifier = before.tag
    }
    if version > 1 {
      item.userInfo[PropertyDescription.formerNamesKey] = Self.names[0].entity
      name.userInfo[PropertyDescription.formerNamesKey] = Self.names[0].name
      tag.userInfo[PropertyDescription.formerNamesKey] = Self.names[0].tag
    }
    item.properties = [
      name, tag,
      AttributeDescription(
        "stock", .integer64, defaultValue: .integer(0), conflictPolicy: .counter),
    ]
    let label = EntityDescription("Tag")
    label.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("items", to: now.entity, inverse: now.tag, toMany: true),
    ]
    return ManagedObjectModel(entities: [item, label])
  }

  private func link(_ item: UUID, _ tag: UUID, _ version: Int, _ replica: TestReplica) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: item))
      let target = try #require(try context.object(withIdentity: tag))
      try object.setValue(target, forKey: Self.names[version].tag)
    }
  }

  @Test(
    "What was said under each name is one thing for who joins, whichever name came last",
    arguments: [0, 1, 2])
  func joiners(last: Int) async throws {
    var fleet = try await Fleet(3, model(0))
    let tags = try (0..<3).map { try fleet[0].insert("Tag", ["name": .string("\($0)")]) }
    let items = try (0..<3).map {
      try fleet[0].insert("Article", ["name": .string("of version 0: \($0)")])
    }
    for item in items { try link(item, tags[0], 0, fleet[0]) }
    try await fleet.sync(0, 1, 2)
    // The first goes ahead by one version after the other, and says something in each.
    for version in 1...2 {
      try await fleet.migrate(0, to: model(version))
      try await fleet.sync(0)
      for item in items[version...] {
        try fleet[0].set(
          item, [Self.names[version].name: .string("of version \(version)"), "stock": .integer(1)])
        try link(item, tags[version], version, fleet[0])
      }
      try await fleet.sync(0, 1, 2)
    }
    // The second follows as far as the last who speaks.
    for version in 0...last where version > 0 { try await fleet.migrate(1, to: model(version)) }
    try await fleet.sync(1)
    try fleet[1].set(items[0], [Self.names[last].name: .string("last")])
    try await fleet.sync(1, 0, 2)
    // The third goes from the first version to the last at once.
    try await fleet.migrate(2, to: model(2))
    if last < 2 { try await fleet.migrate(1, to: model(2)) }
    try await fleet.joinBothWays(model(2))
    try await fleet.world.settle()
    try fleet.expect(.string("last"), "heading", of: items[0])
    try fleet.expect(.string("of version 1"), "heading", of: items[1])
    try fleet.expect(.string("of version 2"), "heading", of: items[2])
    for replica in fleet.world.replicas {
      for (item, tag) in zip(items, tags) {
        #expect(try replica.reference(item, "mark") == tag, "\(replica.name)")
      }
      #expect(try SyncEngine.parked(of: replica.store).isEmpty, "\(replica.name)")
    }
  }

  @Test("A model that gives one former name to two of its things is not enrolled")
  func sharedNames() async throws {
    let model = model(2)
    let other = AttributeDescription("subtitle", .string)
    other.userInfo[PropertyDescription.formerNamesKey] = "title"
    model.entitiesByName["Good"]?.properties += [other]
    let world = try await World(0)
    let error = await #expect(throws: SyncError.self) {
      _ = try await TestReplica("r", zone: world.zone, clock: world.clock, model: model)
    }
    #expect(error?.code == .sharedName)
    #expect(error?.message.contains("Good.heading and Good.subtitle") == true)
  }
}
