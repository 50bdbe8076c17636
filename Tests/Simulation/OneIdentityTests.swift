import Driftless
import DriftlessSync
import Foundation
import Testing

/// One identity under two entities is two objects, the same ones everywhere.
struct OneIdentityTests {
  private let identity =
    UUID(uuidString: "00000000-0000-5000-8000-000000000001") ?? UUID()

  /// Two entities of one hierarchy, and one of another.
  private func model() -> ManagedObjectModel {
    let item = EntityDescription("Item")
    item.properties = [AttributeDescription("title", .string)]
    let special = EntityDescription("Special")
    special.superentityName = "Item"
    special.properties = [AttributeDescription("extra", .string)]
    let box = EntityDescription("Box")
    box.properties = [AttributeDescription("title", .string)]
    return ManagedObjectModel(entities: [item, special, box])
  }

  private func insert(_ stage: Stage, _ number: Int, _ entity: String, _ title: String) throws {
    try stage.save(number) { context in
      let object = try context.insert(entityNamed: entity, identity: identity)
      try object.setValue(title, forKey: "title")
    }
  }

  /// What the identity leads to on a host.
  private func found(_ stage: Stage, _ number: Int) throws -> (entity: String, title: String?)? {
    let context = ManagedObjectContext(stage.hosts[number].coordinator)
    return try context.object(withIdentity: identity).map {
      ($0.entity.name, try $0.value(forKey: "title") as? String)
    }
  }

  private func delete(_ stage: Stage, _ number: Int) throws {
    try stage.save(number) { $0.delete(try #require(try $0.object(withIdentity: identity))) }
  }

  @Test(
    "Made anew under its identity as another entity, it is another object",
    arguments: [true, false])
  func madeAnew(isKnownDeleted: Bool) async throws {
    let stage = try await Stage(.memory, model: model())
    try insert(stage, 0, "Item", "an item")
    try await stage.settle()
    try delete(stage, 0)
    if isKnownDeleted { try await stage.settle() }
    try insert(stage, 0, "Special", "special")
    try await stage.settle()
    #expect(stage.hosts[2].image.things.values.map(\.entity) == ["Special"])
    #expect(try found(stage, 2)?.title == "special")
  }

  @Test("What replicas make anew as one other entity is one object, found by the identity")
  func madeAnewTwice() async throws {
    let stage = try await Stage(.memory, model: model())
    try insert(stage, 0, "Item", "an item")
    try await stage.settle()
    try delete(stage, 0)
    try await stage.settle()
    try insert(stage, 0, "Special", "first")
    try insert(stage, 1, "Special", "second")
    try await stage.settle()
    #expect(stage.hosts[2].image.things.count == 1)
    #expect(try found(stage, 2)?.entity == "Special")
    try delete(stage, 2)
    try await stage.settle()
    #expect(stage.hosts[0].image.things.isEmpty)
    // It comes back as the object that it was.
    try insert(stage, 1, "Special", "third")
    try insert(stage, 2, "Box", "a box")
    try await stage.settle()
    #expect(stage.hosts[0].image.things.count == 2)
  }

  @Test("Made anew while the first is under way, it is another object")
  func underWay() async throws {
    let stage = try await Stage(.memory, model: model())
    try insert(stage, 0, "Item", "an item")
    let network = stage.hosts[0].network
    network.interlude = { moment in
      if case .afterServer = moment { throw SimulatedNetwork.Lost(description: "lost") }
    }
    await #expect(throws: SimulatedNetwork.Lost.self) { try await stage.push(0) }
    network.interlude = nil
    try delete(stage, 0)
    try insert(stage, 0, "Special", "special")
    try await stage.settle()
    #expect(stage.hosts[2].image.things.values.map(\.entity) == ["Special"])
    #expect(try found(stage, 2)?.title == "special")
  }

  @Test("An identity that the zone never heard of is free again", arguments: ["Special", "Box"])
  func free(entity: String) async throws {
    let stage = try await Stage(.memory, model: model())
    try insert(stage, 0, "Item", "an item")
    try delete(stage, 0)
    try insert(stage, 0, entity, "the second")
    try insert(stage, 1, entity, "elsewhere")
    try await stage.settle()
    #expect(stage.hosts[2].image.things.keys.map { $0 } == [identity])
  }
}
