import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import Testing

/// What one version of a model does not have any more, and a later one has again.
struct DroppedAndBackTests {
  /// Items with tags, a box and a note; or what is left of them.
  ///
  /// - Parameter version: a model of before is not taken for a later one.
  private func model(
    _ properties: Set<String>, hasTags: Bool = true, version: Int = 0
  ) -> ManagedObjectModel {
    let (item, tag) = (EntityDescription("Item"), EntityDescription("Tag"))
    let all: [PropertyDescription] = [
      AttributeDescription("name", .string), AttributeDescription("note", .string),
      AttributeDescription(
        "stock", .integer64, defaultValue: .integer(0), conflictPolicy: .counter),
      RelationshipDescription("box", to: "Tag", inverse: "content"),
      RelationshipDescription("tags", to: "Tag", inverse: "items", toMany: true),
    ]
    item.properties = all.filter { properties.contains($0.name) }
    tag.properties = [AttributeDescription("title", .string)]
    if properties.contains("box") {
      tag.properties.append(
        RelationshipDescription("content", to: "Item", inverse: "box", toMany: true))
    }
    if properties.contains("tags") {
      tag.properties.append(
        RelationshipDescription("items", to: "Item", inverse: "tags", toMany: true))
    }
    item.versionHashModifier = "\(version)"
    return ManagedObjectModel(entities: hasTags ? [item, tag] : [item])
  }

  private static let all: Set = ["name", "note", "stock", "box", "tags"]

  private func relate(_ item: UUID, box: UUID?, _ tags: [UUID], _ replica: TestReplica) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: item))
      object["box"] = try box.map { try #require(try context.object(withIdentity: $0)) }
      object["tags"] = Set(try tags.map { try #require(try context.object(withIdentity: $0)) })
    }
  }

  @Test("Properties are as the zone has them", arguments: [false, true])
  func properties(isTold: Bool) async throws {
    var fleet = try await Fleet(2, model(Self.all))
    let tags = try (0..<2).map { try fleet[0].insert("Tag", ["title": .string("\($0)")]) }
    let one = try fleet[0].insert(
      "Item", ["name": .string("one"), "note": .string("of one"), "stock": .integer(3)])
    let two = try fleet[0].insert(
      "Item", ["name": .string("two"), "note": .string("of two"), "stock": .integer(4)])
    try relate(one, box: tags[0], [tags[0]], fleet[0])
    try relate(two, box: tags[1], tags, fleet[0])
    try await fleet.sync(0, 1)
    try await fleet.migrate(1, to: model(["name"], version: 1))
    if isTold { try await fleet.sync(1) }
    try fleet[0].set(two, ["note": .string("edited"), "stock": .integer(6)])
    try relate(two, box: tags[0], [tags[1]], fleet[0])
    try await fleet.sync(0)
    if isTold { try await fleet.sync(1) }
    try fleet[1].set(one, ["name": .string("renamed")])
    let made = try fleet[1].insert("Item", ["name": .string("made without")])
    if isTold { try await fleet.sync(1, 0) }
    try await fleet.migrate(1, to: model(Self.all, version: 2))
    try await fleet.joinBothWays(model(Self.all, version: 2))
    try await fleet.world.settle()
    try fleet.expect(.string("of one"), "note", of: one)
    try fleet.expect(.string("edited"), "note", of: two)
    try fleet.expect(.integer(3), "stock", of: one)
    try fleet.expect(.integer(6), "stock", of: two)
    try fleet.expect(.null, "note", of: made)
    for replica in fleet.world.replicas {
      #expect(try replica.reference(one, "box") == tags[0], "\(replica.name)")
      #expect(try replica.reference(two, "box") == tags[0], "\(replica.name)")
      #expect(try replica.elements(one, "tags") == [tags[0]], "\(replica.name)")
      #expect(try replica.elements(two, "tags") == [tags[1]], "\(replica.name)")
    }
  }

  @Test("What was edited of a property that is back is sent once it has met what the zone has")
  func unread() async throws {
    var fleet = try await Fleet(2, model(Self.all))
    let id = try fleet[0].insert("Item", ["name": .string("one"), "note": .string("first")])
    try await fleet.sync(0, 1)
    try await fleet.migrate(1, to: model(["name"], version: 1))
    try await fleet.sync(1)
    try fleet[0].set(id, ["note": .string("of who had it")])
    try await fleet.sync(0, 1)
    let way = ZoneWithoutBeginning(fleet.world.zone)
    try await fleet.migrate(1, to: model(Self.all, version: 2), by: way)
    try fleet[1].set(
      id, ["name": .string("renamed"), "note": .string("of who has it again")])
    try await fleet.sync(1, 0)
    try fleet.expect(.string("renamed"), "name", of: id)
    #expect(try fleet[0].value(id, "note") == .string("of who had it"))
    #expect(try fleet[1].status.pending.objects == 1)
    way.open()
    await fleet[1].restart()
    try await fleet.sync(1, 0)
    try await fleet.world.settle()
    try fleet.expect(.string("of who has it again"), "note", of: id)
    let entries = try fleet.world.replicas.flatMap { try $0.conflicts }
    #expect(entries.contains { $0.property == "note" && $0.remote == "\"of who had it\"" })
  }

  @Test("An entity's objects are as the zone has them", arguments: [false, true])
  func entity(isTold: Bool) async throws {
    var fleet = try await Fleet(2, model(Self.all))
    let tags = try (0..<3).map { try fleet[0].insert("Tag", ["title": .string("\($0)")]) }
    let item = try fleet[0].insert("Item", ["name": .string("one"), "note": .string("of one")])
    try relate(item, box: tags[0], tags, fleet[0])
    try await fleet.sync(0, 1)
    try await fleet.migrate(1, to: model(["name", "note"], hasTags: false, version: 1))
    if isTold { try await fleet.sync(1) }
    try fleet[0].set(tags[1], ["title": .string("edited")])
    try fleet[0].delete(tags[2])
    let later = try fleet[0].insert("Tag", ["title": .string("later")])
    try await fleet.sync(0)
    if isTold { try await fleet.sync(1, 0) }
    try await fleet.migrate(1, to: model(Self.all, version: 2))
    try await fleet.joinBothWays(model(Self.all, version: 2))
    try await fleet.world.settle()
    for tag in [tags[0], tags[1], later] {
      for replica in fleet.world.replicas { #expect(try replica.exists(tag), "\(replica.name)") }
    }
    for replica in fleet.world.replicas {
      #expect(try replica.elements(item, "tags") == [tags[0], tags[1]], "\(replica.name)")
      #expect(try !replica.exists(tags[2]), "\(replica.name)")
    }
  }
}

/// A way on which the log's beginning does not come, so that nobody can read all of it.
private final class ZoneWithoutBeginning: ForwardingTransport {
  let next: any SyncTransport
  private let isOpen = Mutex(false)

  init(_ zone: any SyncTransport) { next = zone }

  func open() { isOpen.withLock { $0 = true } }

  func pull(_ request: PullRequest) async throws -> PullPage {
    guard request.cursor.sequence > 0 || isOpen.withLock({ $0 }) else {
      throw ProtocolError(.busy, "Nobody is there", suggestion: "Try again.")
    }
    return try await next.pull(request)
  }
}
