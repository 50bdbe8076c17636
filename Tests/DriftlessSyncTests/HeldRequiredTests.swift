import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What must refer to an object that waits with a mass delete waits with it, and so does what must refer to that.
struct HeldRequiredTests {
  private func model() -> ManagedObjectModel {
    func entity(_ name: String, _ relationships: RelationshipDescription...) -> EntityDescription {
      let entity = EntityDescription(name)
      entity.properties = [AttributeDescription("name", .string)] + relationships
      return entity
    }
    return ManagedObjectModel(entities: [
      entity("Box"),
      entity(
        "Folder", RelationshipDescription("papers", to: "Paper", inverse: "folder", toMany: true)),
      entity(
        "Paper",
        RelationshipDescription("folder", to: "Folder", inverse: "papers", isOptional: false),
        RelationshipDescription("pages", to: "Page", inverse: "paper", toMany: true)),
      entity(
        "Page", RelationshipDescription("paper", to: "Paper", inverse: "pages", isOptional: false)),
      entity(
        "Car", RelationshipDescription("driver", to: "Driver", inverse: "car", isOptional: false)),
      entity(
        "Driver", RelationshipDescription("car", to: "Car", inverse: "driver", isOptional: false)),
    ])
  }

  /// Two replicas with 20 boxes and a folder, and the first has deleted most of them in a save that `also` did something more.
  private func world(also: (ManagedObjectContext) throws -> Void) async throws -> (
    World, folder: UUID
  ) {
    var options = SyncOptions()
    options.massDelete.floor = 8
    var world = try await World(0)
    for index in 0..<2 {
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, model: model(), options: options))
    }
    let boxes = try (0..<20).map { try world[0].insert("Box", ["name": .string("\($0)")]) }
    let folder = try world[0].insert("Folder", ["name": .string("old")])
    try await world.settle()
    try world[0].save { context in
      for id in boxes.prefix(15) {
        context.delete(try #require(try context.object(withIdentity: id)))
      }
      try also(context)
    }
    return (world, folder)
  }

  private func expectWaiting(_ world: World) async throws {
    for _ in 0..<2 {
      let error = await #expect(throws: SyncError.self) { try await world[0].sync() }
      #expect(error?.code == .massDelete)
      await world[0].restart()
    }
    try await world[1].sync()
    #expect(try world[1].lacking == [])
  }

  @Test("A chain of new objects, each of which must refer to the one before, waits whole")
  func chain() async throws {
    let (world, old) = try await world { context in
      try context.insert(entityNamed: "Folder").setValue("new", forKey: "name")
    }
    let folder = try #require(try world[0].identities(of: "Folder").first { $0 != old })
    let paper = try world[0].make("Paper", to: ["folder": folder])
    let page = try world[0].make("Page", to: ["paper": paper])
    let other = try world[0].make("Paper", to: ["folder": old])
    let moved = try world[0].make("Page", to: ["paper": other])
    try await expectWaiting(world)
    #expect(try world[1].identities(of: "Paper") == [other])
    #expect(try world[1].identities(of: "Page") == [moved])
    // What is moved to one that waits stays where it was until then.
    try world[0].point(moved, "paper", paper)
    try await expectWaiting(world)
    #expect(try world[1].reference(moved, "paper") == other)
    _ = try await world[0].engine.sync(allowingMassDelete: true)
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas {
      #expect(try replica.reference(page, "paper") == paper, "\(replica.name)")
      #expect(try replica.reference(moved, "paper") == paper, "\(replica.name)")
      #expect(try replica.reference(paper, "folder") == folder, "\(replica.name)")
    }
  }

  @Test("A new partner of an object that waits waits, though the reference is the other one's")
  func partner() async throws {
    let (world, _) = try await world { context in
      let car = try context.insert(entityNamed: "Car")
      try car.setValue(try context.insert(entityNamed: "Driver"), forKey: "driver")
    }
    let car = try #require(try world[0].identities(of: "Car").first)
    let first = try #require(try world[0].identities(of: "Driver").first)
    try world[0].save { context in
      let driver = try context.insert(entityNamed: "Driver")
      try driver.setValue(
        try #require(try context.object(withIdentity: car)) as ManagedObject, forKey: "car")
      context.delete(try #require(try context.object(withIdentity: first)))
    }
    let second = try #require(try world[0].identities(of: "Driver").first)
    try await expectWaiting(world)
    #expect(try world[1].identities(of: "Driver") == [])
    #expect(try world[1].identities(of: "Car") == [])
    _ = try await world[0].engine.sync(allowingMassDelete: true)
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas {
      #expect(try replica.identities(of: "Driver") == [second], "\(replica.name)")
      #expect(try replica.reference(car, "driver") == second, "\(replica.name)")
    }
  }
}
