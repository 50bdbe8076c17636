import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation
import Testing

@testable import DriftlessSync

/// Values that a store has of before, and that the narrower model to which it was migrated refuses.
struct MigratedValueTests {
  private func model(least: Int64?) -> ManagedObjectModel {
    let thing = EntityDescription("Thing")
    let size = AttributeDescription("size", .integer64, defaultValue: .integer(7))
    if let least { size.minimum = .integer(least) }
    thing.properties = [size, AttributeDescription("name", .string)]
    return ManagedObjectModel(entities: [thing])
  }

  private func replica(
    _ name: String, _ world: World, least: Int64?, file: URL? = nil
  ) async throws -> TestReplica {
    try await TestReplica(
      name, zone: world.zone, clock: world.clock, model: model(least: least), file: file)
  }

  @Test("They are parked as they are where somebody joins, and back with a model that holds them")
  func parked() async throws {
    var world = try await World(0)
    var old: [TestReplica] = []
    for index in 0..<2 { old.append(try await replica("r\(index)", world, least: nil)) }
    let low = try old[0].insert("Thing", ["size": .integer(-5)])
    let high = try old[0].insert("Thing", ["size": .integer(5)])
    for replica in old { try await replica.sync() }
    let unsent = try old[1].insert("Thing", ["size": .integer(-6)])
    for replica in old {
      await replica.engine.close()
      world.replicas.append(
        try await self.replica(replica.name, world, least: 0, file: replica.store.url))
    }
    world.replicas.append(try await replica("late", world, least: 0))
    try await world.syncAll()
    // In step, it shows what others show.
    #expect(try world[1].status.pending.objects == 0)
    #expect(try world[1].value(unsent, "size") == .integer(7))
    try await world.syncAll()
    for replica in world.replicas {
      #expect(try replica.value(low, "size") == .integer(7), "\(replica.name)")
      #expect(try replica.value(unsent, "size") == .integer(7), "\(replica.name)")
      #expect(try SyncEngine.parked(of: replica.store).map(\.object).contains(unsent))
      #expect(try replica.value(high, "size") == .integer(5))
      #expect(try SyncEngine.parked(of: replica.store).map(\.object).contains(low))
      #expect(try replica.status.pending.objects == 0)
      #expect(try SyncEngine.check(replica.store).findings == [])
    }
    try world[0].set(low, ["size": .integer(3)])
    try await world.syncAll()
    try await world.syncAll()
    for replica in world.replicas { #expect(try replica.value(low, "size") == .integer(3)) }
    await world[2].engine.close()
    let wide = try await replica("late", world, least: nil, file: world[2].store.url)
    try await wide.sync()
    #expect(try wide.value(unsent, "size") == .integer(-6))
    #expect(try SyncEngine.parked(of: wide.store).isEmpty)
  }

  @Test("While an edit that the model refuses cannot be sent, a sync looks at no other object")
  func heldBack() async throws {
    let world = try await World(0)
    let way = PickyTransport(world.zone)
    func replica(least: Int64?, file: URL? = nil) async throws -> TestReplica {
      try await TestReplica(
        "r", zone: world.zone, clock: world.clock, model: model(least: least), transport: way,
        file: file)
    }
    let old = try await replica(least: nil)
    for number in 1...40 { try old.insert("Thing", ["size": .integer(Int64(-number))]) }
    try await old.sync()
    let held = try old.insert("Thing", ["size": .integer(-50), "name": .string("refused")])
    await old.engine.close()
    way.set(PickyTransport.Rule(word: "refused"))
    let now = try await replica(least: 0, file: old.store.url)
    #expect(try await now.engine.parkRefused() == 41)
    #expect(try SyncEngine.parked(of: now.store).count == 40)
    try await now.sync()
    #expect(try now.status.quarantined == 1)
    #expect(try await now.engine.parkRefused() == 0)
    #expect(try SyncEngine.check(now.store).findings == [])
    #expect(try now.value(held, "size") == .integer(-50), "the edit says what it says")
    await now.restart()
    #expect(try await now.engine.parkRefused() == 0)
    way.set(PickyTransport.Rule())
    try SyncEngine.retryQuarantined(of: now.store)
    try await now.sync()
    try await now.sync()
    #expect(try now.value(held, "size") == .integer(7))
    #expect(try SyncEngine.parked(of: now.store).contains { $0.object == held })
    #expect(try await now.engine.parkRefused() == 0)
  }

  @Test(
    "What stands in for a parked value follows a constraint that comes or goes with a new model")
  func constraint() async throws {
    let world = try await World(0)
    func replica(
      _ name: String, least: Int64?, isUnique: Bool = false, isLast: Bool = false,
      file: URL? = nil
    ) async throws -> TestReplica {
      let model = model(least: least)
      if isLast {
        model.entitiesByName["Thing"]?.properties.append(AttributeDescription("note", .string))
      }
      if isUnique { model.entitiesByName["Thing"]?.uniquenessConstraints = [["size"]] }
      return try await TestReplica(
        name, zone: world.zone, clock: world.clock, model: model, file: file)
    }
    let wide = try await replica("wide", least: nil)
    let low = try wide.insert("Thing", ["size": .integer(-5)])
    try await wide.sync()
    var narrow = try await replica("narrow", least: 0)
    let file = narrow.store.url
    var former: [TestReplica] = []
    try await narrow.sync()
    #expect(try narrow.value(low, "size") == .integer(7))
    for (isUnique, shown) in [(true, PropertyValue.null), (false, .integer(7))] {
      await narrow.engine.close()
      narrow.store.close()
      // Its file goes with it.
      former.append(narrow)
      narrow = try await replica(
        "narrow", least: 0, isUnique: isUnique, isLast: !isUnique, file: file)
      try await narrow.sync()
      #expect(try narrow.value(low, "size") == shown)
      // Who joins now shows the same.
      let late = try await replica("late", least: 0, isUnique: isUnique, isLast: !isUnique)
      try await late.sync()
      #expect(try late.value(low, "size") == shown)
      for replica in [narrow, late] {
        #expect(try replica.status.pending.objects == 0)
        #expect(try SyncEngine.parked(of: replica.store).map(\.object) == [low])
        #expect(try SyncEngine.check(replica.store).findings == [])
      }
    }
  }

  static let widenings: [(AttributeType, PropertyValue, AttributeType, PropertyValue)] = [
    (.integer64, .integer(70_001), .double, .double(70_001)),
    (.integer64, .integer(16_777_217), .float, .double(16_777_217)),
    (.integer32, .integer(-5), .decimal, .decimal(-5)),
    (.double, .double(72_057_594_037_927_936), .decimal, .decimal(72_057_594_037_927_936)),
    (.double, .double(0.1), .decimal, .decimal(Decimal(string: "0.1") ?? 0)),
    (.double, .double(-0.0), .decimal, .decimal(0)),
    (.float, .double(-0.0), .decimal, .decimal(0)),
    (.double, .double(.nan), .decimal, .decimal(.nan)),
    (.boolean, .bool(true), .integer16, .integer(1)),
    (.boolean, .bool(false), .double, .double(0)),
    (.string, .string("https://a.example/b"), .uri, .uri(URL(fileURLWithPath: "/"))),
    (.uri, .uri(URL(fileURLWithPath: "/a b")), .string, .string("file:///a%20b")),
  ]

  @Test(
    "What was said before an attribute got a wider type is the same for who joins and for who migrated",
    arguments: widenings)
  func widened(
    _ former: AttributeType, _ value: PropertyValue, _ type: AttributeType, _ wide: PropertyValue
  ) async throws {
    func model(_ type: AttributeType) -> ManagedObjectModel {
      let thing = EntityDescription("Thing")
      thing.properties = [
        AttributeDescription("value", type), AttributeDescription("name", .string),
      ]
      return ManagedObjectModel(entities: [thing])
    }
    var wide = wide
    if case .string(let text) = value, let url = URL(string: text) { wide = .uri(url) }
    var fleet = try await Fleet(2, model(former))
    let early = try fleet[0].insert("Thing", ["value": value])
    try await fleet.sync(0, 1)
    try await fleet.migrate(0, to: model(type))
    try await fleet.sync(0)
    // A program of before goes on.
    let late = try fleet[1].insert("Thing", ["value": value])
    let edited = try fleet[1].insert("Thing", ["name": .string("first")])
    try await fleet.sync(1)
    try fleet[1].set(edited, ["value": value])
    try await fleet.sync(1, 0)
    try await fleet.migrate(1, to: model(type))
    try await fleet.joinBothWays(model(type))
    try await fleet.sync(1, 0, 2, 3)
    for id in [early, late, edited] { try fleet.expect(wide, "value", of: id) }
    for replica in fleet.world.replicas {
      #expect(try SyncEngine.parked(of: replica.store).isEmpty, "\(replica.name)")
    }
    try await fleet.world.settle()
  }

  @Test(
    "What was sealed before an attribute got a wider type is the same for who joins and for who migrated",
    arguments: widenings)
  func widenedAndSealed(
    _ former: AttributeType, _ value: PropertyValue, _ type: AttributeType, _ wide: PropertyValue
  ) async throws {
    func model(_ type: AttributeType) -> ManagedObjectModel {
      let thing = EntityDescription("Thing")
      let attribute = AttributeDescription("value", type)
      attribute.userInfo[AttributeDescription.encryptedKey] = "yes"
      thing.properties = [attribute, AttributeDescription("name", .string)]
      return ManagedObjectModel(entities: [thing])
    }
    var wide = wide
    if case .string(let text) = value, let url = URL(string: text) { wide = .uri(url) }
    var world = try await SealedWorld()
    let ring = KeyRing()
    let first = try await world.add(ring, model: model(former))
    let early = try first.insert("Thing", ["value": value])
    let edited = try first.insert("Thing", ["name": .string("first")])
    try await first.sync()
    // It has the cells, and no key before it has the wider type.
    let keyless = try await world.add(nil, model: model(former))
    try await keyless.sync()
    try first.set(edited, ["value": value])
    try await first.sync()
    var replicas: [TestReplica] = []
    for replica in [first, keyless] {
      await replica.engine.close()
      replica.store.close()
      var options = SyncOptions()
      options.keys = ring
      replicas.append(
        try await TestReplica(
          replica.name, zone: world.zone, clock: world.world.clock, model: model(type),
          options: options, enrolled: false, file: replica.store.url))
    }
    replicas.append(try await world.add(ring, model: model(type)))
    for _ in 0..<2 { for replica in replicas { try await replica.sync() } }
    for replica in replicas {
      for id in [early, edited] {
        #expect(try replica.value(id, "value") == wide, "\(replica.name)")
      }
      #expect(try SyncEngine.parked(of: replica.store).isEmpty, "\(replica.name)")
      #expect(try SyncEngine.check(replica.store).findings == [], "\(replica.name)")
    }
  }

  /// Items with tags, a box and a note; or what is left of them.
  private func items(_ properties: Set<String>) -> ManagedObjectModel {
    let (item, tag) = (EntityDescription("Item"), EntityDescription("Tag"))
    let all: [PropertyDescription] = [
      AttributeDescription("name", .string), AttributeDescription("note", .string),
      RelationshipDescription("box", to: "Tag", inverse: nil),
      RelationshipDescription("tags", to: "Tag", inverse: nil, toMany: true),
    ]
    item.properties = all.filter { properties.contains($0.name) }
    tag.properties = [AttributeDescription("title", .string)]
    return ManagedObjectModel(entities: [item, tag])
  }

  @Test(
    "A pending edit of what the next model lacks is in the journal, with its value",
    arguments: [false, true])
  func lostProperties(isDeferred: Bool) async throws {
    let world = try await World(0)
    let wide = items(["name", "note", "box", "tags"])
    let a = try await TestReplica("a", zone: world.zone, clock: world.clock, model: wide)
    let tag = try a.insert("Tag", ["title": .string("t")])
    let known = try a.insert("Item", ["name": .string("n"), "note": .string("old")])
    let still = try a.insert("Item", ["note": .string("sent")])
    try await a.sync()
    let key = try #require(try a.store.read { try $0.key(of: tag) })
    try a.set(known, ["name": .string("m"), "note": .string("PENDING"), "box": .reference(key)])
    try a.save { context in
      let item = try #require(try context.object(withIdentity: known))
      item["tags"] = Set([try #require(try context.object(withIdentity: tag))])
    }
    let new = try a.insert("Item", ["note": .string("new")])
    try a.insert("Item", ["name": .string("no note")])
    let gone = try a.insert("Item", ["note": .string("gone")])
    try a.delete(gone)
    await a.engine.close()
    a.store.close()
    let url = try #require(a.store.url)
    try PersistentStore.open(
      url: url, model: items(["name"]),
      options: StoreOptions(migratesAutomatically: true, defersMigrationCleanup: isDeferred)
    ).close()
    let b = try await TestReplica(
      "a", zone: world.zone, clock: world.clock, model: items(["name"]), file: url)
    let entries = try b.conflicts
    func told(_ id: UUID, _ property: String) -> String? {
      entries.first { $0.object == id && $0.property == property }?.local
    }
    #expect(told(known, "note") == "\"PENDING\"")
    #expect(told(known, "box") == "\"\(tag.uuidString.lowercased())\"")
    #expect(told(known, "tags") == "[\"\(tag.uuidString.lowercased())\"]")
    #expect(told(new, "note") == "\"new\"")
    #expect(told(still, "note") == nil)
    #expect(entries.count == 4 && entries.allSatisfy { $0.entity == "Item" && !$0.isWaiting })
    #expect(try SyncEngine.check(b.store).findings == [])
    try await b.sync()
    #expect(try b.status.pending.objects == 0)

    // With a model that has it again, it can be put back.
    await b.engine.close()
    b.store.close()
    let c = try await TestReplica(
      "a", zone: world.zone, clock: world.clock, model: items(["name", "note"]), file: url)
    let entry = try #require(entries.first { $0.object == known && $0.property == "note" })
    try SyncEngine.undo(conflict: entry.number, of: c.store)
    #expect(try c.value(known, "note") == .string("PENDING"))
  }

  @Test("An edit that a pull left pending is in the journal too")
  func lostAfterAPull() async throws {
    let world = try await World(0)
    let wide = items(["name", "note"])
    let a = try await TestReplica("a", zone: world.zone, clock: world.clock, model: wide)
    let b = try await TestReplica("b", zone: world.zone, clock: world.clock, model: wide)
    let item = try a.insert("Item", ["name": .string("n")])
    try await a.sync()
    try await b.sync()
    try a.set(item, ["name": .string("other")])
    try await a.sync()
    try b.set(item, ["name": .string("mine"), "note": .string("kept")])
    try await b.pull()
    await b.engine.close()
    b.store.close()
    let c = try await TestReplica(
      "b", zone: world.zone, clock: world.clock, model: items(["name"]), file: b.store.url)
    #expect(try c.conflicts.first { $0.property == "note" }?.local == "\"kept\"")
    try await c.sync()
    #expect(try SyncEngine.check(c.store).findings == [])
  }
}
