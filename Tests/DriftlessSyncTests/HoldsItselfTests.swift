import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Objects that refer to themselves, or to each other, become one with those of the zone that have their unique key.
struct HoldsItselfTests {
  private static func model() -> ManagedObjectModel {
    let person = EntityDescription("Person")
    person.properties = [
      AttributeDescription("email", .string),
      AttributeDescription("name", .string),
      RelationshipDescription("boss", to: "Person", inverse: "reports"),
      RelationshipDescription("reports", to: "Person", inverse: "boss", toMany: true),
      RelationshipDescription("mentor", to: "Person", inverse: "pupil"),
      RelationshipDescription("pupil", to: "Person", inverse: "mentor"),
      RelationshipDescription("friends", to: "Person", inverse: "friendOf", toMany: true),
      RelationshipDescription("friendOf", to: "Person", inverse: "friends", toMany: true),
      RelationshipDescription(
        "ahead", to: "Person", inverse: "behind", toMany: true, isOrdered: true),
      RelationshipDescription("behind", to: "Person", inverse: "ahead", toMany: true),
    ]
    person.uniquenessConstraints = [["email"]]
    return ManagedObjectModel(entities: [person])
  }

  private func world() async throws -> World {
    var world = try await World(0)
    for index in 0..<2 {
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, model: Self.model()))
    }
    return world
  }

  private func elements(_ replica: TestReplica, _ id: UUID, _ name: String) throws -> [UUID] {
    try replica.store.read { transaction in
      guard let key = try transaction.key(of: id),
        let relationship = replica.store.schema.entity(numbered: key.entity)?
          .relationshipsByName[name]
      else { return [] }
      return try transaction.toManyKeys(of: key, relationship).map {
        try transaction.identity(of: $0)
      }
    }
  }

  /// The zone's object with the key, and one of another replica that is to become one with it.
  private func pair(_ world: World) async throws -> (zone: UUID, made: UUID) {
    let zone = try world[0].insert("Person", ["email": .string("e"), "name": .string("r")])
    try await world[0].sync()
    let made = try world[1].insert("Person", ["email": .string("e"), "name": .string("s")])
    return (zone, made)
  }

  @Test(
    "An object that holds itself holds the one that it became one with",
    arguments: ["friends", "friendOf", "ahead", "behind"])
  func set(name: String) async throws {
    let world = try await world()
    let (zone, made) = try await pair(world)
    let others = try (0..<2).map { try world[1].insert("Person", ["name": .string("\($0)")]) }
    try world[1].save { context in
      let objects = try [others[0], made, others[1]].map {
        try #require(try context.object(withIdentity: $0))
      }
      try objects[1].setValue(objects, forKey: name)
    }
    try await world[1].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try !replica.identities(of: "Person").contains(made))
      let found = try elements(replica, zone, name)
      let all = [others[0], zone, others[1]]
      #expect(name == "ahead" ? found == all : Set(found) == Set(all), "\(replica.name)")
    }
  }

  @Test("A reference to itself follows", arguments: ["boss", "mentor", "pupil"])
  func reference(name: String) async throws {
    let world = try await world()
    let (zone, made) = try await pair(world)
    try world[1].save { context in
      let object = try #require(try context.object(withIdentity: made))
      try object.setValue(object, forKey: name)
    }
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.reference(zone, name) == zone, "\(replica.name)")
    }
  }

  @Test("Where the zone's object refers to another one by a later edit, that stands")
  func referenceOfTheZone() async throws {
    let world = try await world()
    let made = try world[1].insert("Person", ["email": .string("e")])
    try world[1].save { context in
      let object = try #require(try context.object(withIdentity: made))
      try object.setValue(object, forKey: "boss")
    }
    let other = try world[0].insert("Person", ["name": .string("other")])
    let zone = try world[0].insert("Person", ["email": .string("e")])
    try world[0].save { context in
      let object = try #require(try context.object(withIdentity: zone))
      try object.setValue(try context.object(withIdentity: other), forKey: "boss")
    }
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.reference(zone, "boss") == other, "\(replica.name)")
    }
  }

  @Test(
    "Two objects that become one, and hold each other, are one that holds itself",
    arguments: ["friends", "ahead", "boss"])
  func eachOther(name: String) async throws {
    let world = try await world()
    let zone = try world[0].insert("Person", ["name": .string("r")])
    try await world.settle()
    try world[0].set(zone, ["email": .string("e")])
    try await world[0].sync()
    let made = try world[1].insert("Person", ["email": .string("e"), "name": .string("s")])
    try world[1].save { context in
      let own = try #require(try context.object(withIdentity: made))
      let other = try #require(try context.object(withIdentity: zone))
      if name == "boss" {
        try own.setValue(other, forKey: name)
        try other.setValue(own, forKey: name)
      } else {
        try own.setValue([own, other], forKey: name)
        try other.setValue([own, other], forKey: name)
      }
    }
    try await world[1].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try !replica.identities(of: "Person").contains(made))
      if name == "boss" {
        #expect(try replica.reference(zone, name) == zone, "\(replica.name)")
      } else {
        #expect(try elements(replica, zone, name) == [zone], "\(replica.name)")
      }
    }
  }

  @Test(
    "What holds itself does so again when the zone's object dies before the zone heard of it",
    arguments: ["friends", "friendOf", "ahead", "boss"])
  func undone(name: String) async throws {
    let world = try await world()
    let (zone, made) = try await pair(world)
    try world[1].save { context in
      let object = try #require(try context.object(withIdentity: made))
      if name == "boss" {
        try object.setValue(object, forKey: name)
      } else {
        try object.setValue([object], forKey: name)
      }
    }
    try await world[1].pull()
    #expect(try !world[1].identities(of: "Person").contains(made))
    try world[0].delete(zone)
    try await world[0].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try !replica.exists(zone))
      if name == "boss" {
        #expect(try replica.reference(made, name) == made, "\(replica.name)")
      } else {
        #expect(try elements(replica, made, name) == [made], "\(replica.name)")
      }
    }
  }
}
