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

  @Test("A store whose model has something again is not in step before that has come")
  func stillToCome() async throws {
    var fleet = try await Fleet(2, model(Self.all))
    let tag = try fleet[0].insert("Tag", ["title": .string("of one")])
    let one = try fleet[0].insert("Item", ["name": .string("one"), "note": .string("of one")])
    try relate(one, box: tag, [tag], fleet[0])
    try await fleet.sync(0, 1)
    #expect(try fleet[1].status.isCurrent)
    let way = ZoneWithoutBeginning(fleet.world.zone)
    try await fleet.migrate(1, to: model(["name"], hasTags: false, version: 1), by: way)
    try await fleet.sync(1)
    #expect(try fleet[1].status.isCurrent)
    try await fleet.migrate(1, to: model(Self.all, version: 2), by: way)
    #expect(try !fleet[1].status.isCurrent)
    way.open()
    await fleet[1].restart()
    try await fleet.sync(1)
    #expect(try fleet[1].status.isCurrent)
    try fleet.expect(.string("of one"), "note", of: one)
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

  @Test(
    "What the zone never had of an entity that went is undone as a whole, once the entity is back"
  )
  func unsent() async throws {
    var fleet = try await Fleet(2, model(Self.all))
    let item = try fleet[0].insert("Item", ["name": .string("one")])
    try await fleet.sync(0, 1)
    let given = UUID()
    _ = try fleet[1].insert("Tag", ["title": .string("given")], identity: given)
    let minted = try fleet[1].make("Tag", ["title": .string("minted")])
    try relate(item, box: given, [given, minted], fleet[1])
    try await fleet.migrate(1, to: model(["name", "note"], hasTags: false, version: 1))
    let entries = try fleet[1].conflicts.filter { $0.entity == "Tag" }
    #expect(entries.map(\.object).sorted { $0.uuidString < $1.uuidString }.count == 2)
    let store = fleet[1].store
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: try #require(entries.first).number, of: store)
    }
    #expect(error?.code == .cannotUndo && error?.suggestion.contains("syncctl migrate") == true)
    try await fleet.migrate(1, to: model(Self.all, version: 2))
    // It has none of their keys, and none of their identities.
    let later = try fleet[1].make("Tag", ["title": .string("later")])
    #expect(later != minted)
    for entry in entries { try SyncEngine.undo(conflict: entry.number, of: fleet[1].store) }
    #expect(try fleet[1].value(given, "title") == .string("given"))
    #expect(try fleet[1].value(minted, "title") == .string("minted"))
    #expect(try fleet[1].value(later, "title") == .string("later"))
    // What the item said of them has kept their identities.
    for entry in try fleet[1].conflicts where entry.object == item && entry.property == "box" {
      try SyncEngine.undo(conflict: entry.number, of: fleet[1].store)
    }
    #expect(try fleet[1].reference(item, "box") == given)
    try await fleet.joinBothWays(model(Self.all, version: 2))
    try await fleet.world.settle()
    for replica in fleet.world.replicas {
      for tag in [given, minted, later] { #expect(try replica.exists(tag), "\(replica.name)") }
      #expect(try SyncEngine.check(replica.store).isSound)
    }
  }

  @Test("What comes back with its properties in another order is undone by their names")
  func otherOrder() async throws {
    var fleet = try await Fleet(1, model(Self.all))
    let tag = UUID()
    _ = try fleet[0].insert("Tag", ["title": .string("t")], identity: tag)
    try await fleet.migrate(0, to: model(["name"], hasTags: false, version: 1))
    let back = model(Self.all, version: 2)
    let description = try #require(back.entitiesByName["Tag"])
    description.properties.append(AttributeDescription("area", .string))
    try await fleet.migrate(0, to: back)
    let entry = try #require(try fleet[0].conflicts.first { $0.object == tag })
    try SyncEngine.undo(conflict: entry.number, of: fleet[0].store)
    #expect(try fleet[0].value(tag, "title") == .string("t"))
    #expect(try fleet[0].value(tag, "area") == .null)
    try await fleet.world.settle()
  }

  /// Orders with lines, which must have one; or neither.
  private func orders(_ areThere: Bool, version: Int) -> ManagedObjectModel {
    let (item, order, line) = (
      EntityDescription("Item"), EntityDescription("Order"), EntityDescription("OrderLine")
    )
    item.properties = [AttributeDescription("name", .string)]
    item.versionHashModifier = "\(version)"
    order.properties = [
      AttributeDescription("title", .string, defaultValue: .string("untitled")),
      RelationshipDescription("lines", to: "OrderLine", inverse: "order", toMany: true),
    ]
    line.properties = [
      AttributeDescription("article", .string),
      RelationshipDescription("order", to: "Order", inverse: "lines", isOptional: false),
    ]
    return ManagedObjectModel(entities: areThere ? [item, order, line] : [item])
  }

  /// Makes an order with lines, as a context does.
  private func makeOrder(
    _ title: String?, _ articles: [String], _ replica: TestReplica
  ) throws -> (order: UUID, lines: [UUID]) {
    let order = try replica.make("Order", title.map { ["title": .string($0)] } ?? [:])
    let lines = articles.map { _ in UUID() }
    try replica.write { transaction in
      let owner = try #require(try transaction.key(of: order))
      let description = try #require(replica.store.model.entitiesByName["OrderLine"])
      let layout = description.layout
      for (article, identity) in zip(articles, lines) {
        var row = [PropertyValue](repeating: .null, count: layout.slots.count)
        row[try #require(layout.index(named: "article"))] = .string(article)
        row[try #require(layout.index(named: "order"))] = .reference(owner)
        let key = ObjectKey(
          entity: replica.store.schema.entityNumber(of: description),
          key: try transaction.allocateKeys(description, count: 1).lowerBound)
        try transaction.insert(description, key.key, values: row)
        try transaction.assignIdentity(key, identity)
      }
    }
    return (order, lines)
  }

  @Test(
    "What must refer to what went with it is undone after that, and its list is as it was",
    arguments: ["titled", nil])
  func required(title: String?) async throws {
    var fleet = try await Fleet(1, orders(true, version: 0))
    let (order, lines) = try makeOrder(title, ["nail", "screw"], fleet[0])
    try await fleet.migrate(0, to: orders(false, version: 1))
    try await fleet.migrate(0, to: orders(true, version: 2))
    let entries = try fleet[0].conflicts
    func undo(_ object: UUID, _ property: String?) throws {
      let entry = try #require(entries.first { $0.object == object && $0.property == property })
      try SyncEngine.undo(conflict: entry.number, of: fleet[0].store)
    }
    let error = #expect(throws: SyncError.self) { try undo(lines[0], "article") }
    #expect(
      error?.code == .cannotUndo && error?.suggestion == "Bring that one back first.", "\(error)")
    // One that has nothing but what it was made with is told as a whole.
    try undo(order, title == nil ? nil : "title")
    for line in lines { try undo(line, "article") }
    #expect(try fleet[0].value(order, "title") == .string(title ?? "untitled"))
    #expect(try fleet[0].elements(order, "lines") == Set(lines))
    #expect(try fleet[0].value(lines[1], "article") == .string("screw"))
    try await fleet.joinBothWays(orders(true, version: 2))
    try await fleet.world.settle()
    for replica in fleet.world.replicas {
      #expect(try replica.elements(order, "lines") == Set(lines), "\(replica.name)")
      #expect(try SyncEngine.check(replica.store).isSound)
    }
  }

  @Test("A new object that says nothing comes back with what it holds, where that stays")
  func defaultsAlone() async throws {
    var fleet = try await Fleet(1, model(Self.all))
    let items = try (0..<3).map { try fleet[0].insert("Item", ["name": .string("\($0)")]) }
    try await fleet.sync(0)
    let tag = try fleet[0].make("Tag", [:])
    for item in items { try relate(item, box: tag, [], fleet[0]) }
    try await fleet.migrate(0, to: model(["name", "note"], hasTags: false, version: 1))
    let entry = try #require(try fleet[0].conflicts.first { $0.object == tag })
    #expect(entry.property == nil && entry.entity == "Tag" && entry.outcome == .remote)
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: entry.number, of: fleet[0].store)
    }
    #expect(error?.code == .cannotUndo && error?.suggestion.contains("syncctl migrate") == true)
    try await fleet.migrate(0, to: model(Self.all, version: 2))
    try SyncEngine.undo(conflict: entry.number, of: fleet[0].store)
    #expect(try fleet[0].elements(tag, "content") == Set(items))
    try await fleet.joinBothWays(model(Self.all, version: 2))
    try await fleet.world.settle()
    for replica in fleet.world.replicas {
      #expect(try replica.elements(tag, "content") == Set(items), "\(replica.name)")
      #expect(try SyncEngine.check(replica.store).isSound)
    }
  }

  @Test("New objects of an entity that is back have identities of their own")
  func identities() async throws {
    var fleet = try await Fleet(2, model(Self.all))
    let first = try fleet[1].make("Tag", ["title": .string("first")])
    try await fleet.sync(1, 0)
    try await fleet.migrate(1, to: model(["name"], hasTags: false, version: 1))
    try await fleet.migrate(1, to: model(Self.all, version: 2))
    let second = try fleet[1].make("Tag", ["title": .string("second")])
    #expect(second != first)
    try await fleet.sync(1, 0, 1)
    try fleet.expect(.string("first"), "title", of: first)
    try fleet.expect(.string("second"), "title", of: second)
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
