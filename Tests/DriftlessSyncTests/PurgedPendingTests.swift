import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// What is pending at a replica below the floor of a purged log meets what the zone came to: it goes on by itself, and nothing of
/// it is lost.
struct PurgedPendingTests {
  /// Two replicas that read the log, and one that was away when it was purged.
  private func world(
    _ model: () -> ManagedObjectModel = { shopModel() }
  ) async throws -> (world: World, way: PurgedZone) {
    var world = try await World(0)
    let way = try PurgedZone(world.zone)
    for name in ["one", "two"] {
      world.replicas.append(
        try await TestReplica(name, zone: world.zone, clock: world.clock, model: model()))
    }
    world.replicas.append(
      try await TestReplica(
        "away", zone: world.zone, clock: world.clock, model: model(), transport: way))
    return (world, way)
  }

  private func setLabels(_ labels: [UUID], of item: UUID, _ replica: TestReplica) throws {
    try replica.save { context in
      let objects = try labels.map { try #require(try context.object(withIdentity: $0)) }
      try #require(try context.object(withIdentity: item)).setValue(Set(objects), forKey: "labels")
    }
  }

  @Test("A pending set is merged element by element with the zone's, add wins")
  func pendingSet() async throws {
    let (world, way) = try await world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    let labels = try (0..<5).map { try world[0].insert("Label", ["name": .string("\($0)")]) }
    try setLabels(Array(labels[0..<3]), of: item, world[0])
    try await world.settle()
    try setLabels([labels[1], labels[2], labels[3]], of: item, world[0])
    try await world[0].sync()
    try setLabels([labels[0], labels[2], labels[4]], of: item, world[2])
    try way.purge()
    try await world[2].sync()
    #expect(way.refused > 0)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.elements(item, "labels") == Set(labels[2...]))
    }
    #expect(try world[2].conflicts.isEmpty)
  }

  @Test(
    "An element that the zone put in again after it was taken out here is out, and in the journal")
  func putInAgain() async throws {
    let (world, way) = try await world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    let label = try world[0].insert("Label", ["name": .string("label")])
    try setLabels([label], of: item, world[0])
    try await world.settle()
    try setLabels([], of: item, world[2])
    for labels in [[], [label]] {
      try setLabels(labels, of: item, world[0])
      try await world[0].sync()
    }
    try way.purge()
    try await world[2].sync()
    let told = try #require(try world[2].conflicts.first)
    #expect(told.object == item && told.property == "labels")
    #expect(told.explanation.contains("purged log does not tell"))
    try await world.settle()
    #expect(try world[0].elements(item, "labels").isEmpty)
    try SyncEngine.undo(conflict: told.number, of: world[2].store)
    try await world.settle()
    #expect(try world[0].elements(item, "labels") == [label])
  }

  @Test("A set of an object that is deleted here was changed in the zone: the delete stands")
  func setOfDeleted() async throws {
    let (world, way) = try await world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    let label = try world[0].insert("Label", ["name": .string("label")])
    try await world.settle()
    try setLabels([label], of: item, world[0])
    try await world[0].sync()
    try world[2].delete(item)
    try way.purge()
    try await world[2].sync()
    try await world.settle()
    #expect(try !world[0].exists(item))
    #expect(try world[2].conflicts.contains { $0.object == item })
  }

  @Test(
    "An edit that wins brings back what was deleted, with what this replica has, and the journal says so"
  )
  func editWins() async throws {
    let (world, way) = try await world()
    let shelf = try world[0].insert("Shelf", ["name": .string("one")])
    let row = try world[0].insert("Row", ["name": .string("row")])
    try world[0].save { context in
      let object = try #require(try context.object(withIdentity: row))
      try object.setValue(try context.object(withIdentity: shelf), forKey: "shelf")
    }
    try await world.settle()
    try world[0].delete(shelf)
    try await world[0].sync()
    try way.purge()
    try world[2].set(shelf, ["name": .string("edited here")])
    try await world[2].sync()
    #expect(try world[2].value(shelf, "name") == .string("edited here"))
    #expect(try world[2].status.pending.objects == 0, "the revival is sent at once")
    let told = try #require(try world[2].conflicts.first)
    #expect(told.object == shelf && told.explanation.contains("purged log does not tell"))
    try await world.settle()
    #expect(try world[0].value(shelf, "name") == .string("edited here"))
    for replica in world.replicas { #expect(try replica.reference(row, "shelf") == shelf) }
  }

  @Test(
    "What an edit brings back is in the sets that its delete cut, and not in one that it was taken out of before"
  )
  func cutSets() async throws {
    let (world, way) = try await world {
      let model = shopModel()
      model.entitiesByName["Label"]?.deletePolicy = .editWins
      return model
    }
    let items = try (0..<3).map { try world[0].insert("Item", ["title": .string("\($0)")]) }
    let label = try world[0].insert("Label", ["name": .string("one")])
    let other = try world[0].insert("Label", ["name": .string("other")])
    for item in items { try setLabels([label], of: item, world[0]) }
    try await world.settle()
    try setLabels([], of: items[0], world[0])
    try await world[0].sync()
    try world[0].delete(label)
    try await world[0].sync()
    // A later word on a set does not tell whether the delete had cut it before: add wins.
    try setLabels([other], of: items[2], world[0])
    try await world[0].sync()
    try way.purge()
    try world[2].set(label, ["name": .string("edited here")])
    try await world[2].sync()
    #expect(way.refused > 0)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.elements(items[0], "labels").isEmpty)
      #expect(try replica.elements(items[1], "labels") == [label])
      #expect(try replica.elements(items[2], "labels") == [label, other])
    }
  }

  private static func cascading() -> ManagedObjectModel {
    let list = EntityDescription("List")
    list.deletePolicy = .editWins
    list.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "lines", to: "Line", inverse: "list", toMany: true, deleteRule: .cascade),
    ]
    let line = EntityDescription("Line")
    line.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("list", to: "List", inverse: "lines"),
    ]
    return ManagedObjectModel(entities: [list, line])
  }

  @Test("What the delete of an object took with it comes back with the object")
  func cascade() async throws {
    let (world, way) = try await world(Self.cascading)
    let list = try world[0].insert("List", ["name": .string("list")])
    let lines = try (0..<3).map { try world[0].insert("Line", ["name": .string("\($0)")]) }
    try world[0].save { context in
      for line in lines {
        let object = try #require(try context.object(withIdentity: line))
        try object.setValue(try context.object(withIdentity: list), forKey: "list")
      }
    }
    let other = try world[0].insert("Line", ["name": .string("alone")])
    try await world.settle()
    try world[0].delete(list)
    try await world[0].sync()
    try world[0].delete(other)
    try await world[0].sync()
    #expect(try !world[0].exists(lines[0]))
    try way.purge()
    try world[2].set(list, ["name": .string("edited here")])
    try await world[2].sync()
    try await world.settle()
    for replica in world.replicas {
      for line in lines { #expect(try replica.reference(line, "list") == list) }
      #expect(try !replica.exists(other), "another save deleted it")
    }
  }

  @Test("A pending reference to what was deleted is cut, and in the journal")
  func reference() async throws {
    let (world, way) = try await world()
    let shelf = try world[0].insert("Shelf", ["name": .string("shelf")])
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world.settle()
    try world[0].delete(shelf)
    try await world[0].sync()
    try world[2].save { context in
      let object = try #require(try context.object(withIdentity: item))
      try object.setValue(try context.object(withIdentity: shelf), forKey: "shelf")
    }
    try way.purge()
    try await world[2].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.exists(shelf) == world[2].exists(shelf))
      #expect(try replica.reference(item, "shelf") == world[2].reference(item, "shelf"))
    }
    #expect(try world[2].conflicts.contains { [item, shelf].contains($0.object) })
  }

  @Test("An object with a pending edit that was deleted and came back has both edits")
  func cameBack() async throws {
    let (world, way) = try await world()
    let shelf = try world[0].insert("Shelf", ["name": .string("one")])
    let rows = try (0..<2).map { try world[0].insert("Row", ["name": .string("\($0)")]) }
    try await world.settle()
    try world[1].save { context in
      let object = try #require(try context.object(withIdentity: rows[0]))
      try object.setValue(try context.object(withIdentity: shelf), forKey: "shelf")
    }
    try world[1].set(rows[0], ["name": .string("two's")])
    for row in rows {
      try world[0].delete(row)
      try await world[0].sync()
    }
    try await world[1].sync()
    #expect(try world[1].exists(rows[0]))
    try await world[0].sync()
    try way.purge()
    try world[2].set(rows[0], ["name": .string("mine")])
    try await world[2].sync()
    #expect(way.refused > 0)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(rows[0], "name") == .string("mine"))
      #expect(try replica.reference(rows[0], "shelf") == shelf)
      #expect(try !replica.exists(rows[1]))
    }
  }

  @Test("Too many deletes of what is pending wait for a person as well")
  func tooMany() async throws {
    let (world, way) = try await world()
    let shelves = try (0..<60).map { try world[0].insert("Shelf", ["name": .string("\($0)")]) }
    try await world.settle()
    for shelf in shelves { try world[0].delete(shelf) }
    _ = try await world[0].engine.sync(allowingMassDelete: true)
    try way.purge()
    for shelf in shelves { try world[2].set(shelf, ["name": .string("mine")]) }
    let error = await #expect(throws: SyncError.self) { try await world[2].sync() }
    #expect(error?.code == .massDelete)
    #expect(try world[2].status.pending.objects == 60)
  }

  @Test(
    "F54 Whatever is pending below the floor, the store goes on and all replicas agree",
    arguments: 1...24)
  func random(seed: UInt64) async throws {
    var numbers = SeededGenerator(seed: seed)
    let (world, way) = try await world()
    var life = RandomLife()
    try life.begin(world[0], &numbers)
    try await world.settle()
    var there = life
    var second = life
    for _ in 0..<12 {
      try there.step(world[0], &numbers)
      try second.step(world[1], &numbers)
      if seed % 2 == 0 { try await world[1].sync() }
      try await world[0].sync()
    }
    try await world[1].sync()
    for _ in 0..<6 { try life.step(world[2], &numbers) }
    try way.purge()
    try await world[2].sync()
    #expect(way.refused > 0)
    try await world.settle()
  }
}
