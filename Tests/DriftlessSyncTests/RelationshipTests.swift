import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Relationships that both sides change.
struct RelationshipTests {
  private func labels(_ replica: TestReplica, _ item: UUID) throws -> Set<UUID> {
    var found: Set<UUID> = []
    try replica.store.read { transaction in
      guard let key = try transaction.key(of: item),
        let relationship = replica.store.schema.entity(numbered: key.entity)?
          .relationshipsByName["labels"]
      else { return }
      for label in try transaction.toManyKeys(of: key, relationship) {
        found.insert(try transaction.identity(of: label))
      }
    }
    return found
  }

  private func setLabels(_ replica: TestReplica, _ item: UUID, _ labels: [UUID]) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: item))
      let objects = try labels.map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(objects, forKey: "labels")
    }
  }

  private func world() async throws -> (World, UUID, [UUID]) {
    let world = try await World(3)
    let item = try world[0].insert("Item")
    let labels = try (0..<4).map { try world[0].insert("Label", ["name": .string("\($0)")]) }
    try await world.settle()
    return (world, item, labels)
  }

  @Test("A to-one relationship set through a context reaches the other replicas, from either end")
  func toOne() async throws {
    let world = try await World(2)
    let shelf = try world[0].insert("Shelf")
    let items = try (0..<3).map { _ in try world[0].insert("Item") }
    try world[0].save { context in
      let object = try #require(try context.object(withIdentity: shelf))
      let all = try items.map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(all, forKey: "items")
    }
    try await world.settle()
    for item in items { #expect(try world[1].reference(item, "shelf") == shelf) }
  }

  @Test("Elements that two replicas add are both there")
  func bothAdd() async throws {
    let (world, item, all) = try await world()
    try setLabels(world[0], item, [all[0], all[1]])
    try setLabels(world[1], item, [all[1], all[2]])
    try await world.settle()
    #expect(try labels(world[2], item) == [all[0], all[1], all[2]])
  }

  @Test("Adds and removes of different elements are both kept")
  func addAndRemove() async throws {
    let (world, item, all) = try await world()
    try setLabels(world[0], item, [all[0], all[1]])
    try await world.settle()
    try setLabels(world[0], item, [all[0]])
    try setLabels(world[1], item, [all[0], all[1], all[3]])
    try await world.settle()
    #expect(try labels(world[0], item) == [all[0], all[3]])
  }

  @Test("Changed from the other end, a many-to-many relationship syncs as well")
  func otherEnd() async throws {
    let (world, item, all) = try await world()
    try setLabels(world[0], item, [all[0]])
    try await world.settle()
    try world[1].save { context in
      let label = try #require(try context.object(withIdentity: all[2]))
      try label.setValue([try #require(try context.object(withIdentity: item))], forKey: "items")
      let dropped = try #require(try context.object(withIdentity: all[0]))
      try dropped.setValue([ManagedObject](), forKey: "items")
    }
    try await world.settle()
    #expect(try labels(world[0], item) == [all[2]])
  }

  @Test("An element that is deleted elsewhere leaves the set on every replica")
  func deletedElement() async throws {
    let (world, item, all) = try await world()
    try setLabels(world[0], item, [all[0], all[1]])
    try await world.settle()
    try world[2].delete(all[1])
    try setLabels(world[1], item, [all[0], all[1], all[2]])
    try await world[2].sync()
    try await world.settle()
    #expect(try labels(world[0], item) == [all[0], all[2]])
  }

  @Test("An edit of the set between send and acknowledgement stays pending on what was sent")
  func editInFlight() async throws {
    let (world, item, all) = try await world()
    try setLabels(world[0], item, [all[0]])
    let hook = HookedTransport(world.zone)
    let engine = try await world[0].engine(through: hook)
    hook.afterPush = { [replica = world[0]] in
      try setLabels(replica, item, [all[1]])
    }
    _ = try await engine.push()
    await engine.close()
    try setLabels(world[1], item, [all[3]])
    try await world.settle()
    #expect(try labels(world[2], item) == [all[1], all[3]])
  }
}
