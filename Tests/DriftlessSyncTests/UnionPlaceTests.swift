import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// The place in an ordered relationship of an object that another one became one with, and that one's, should it live on.
struct UnionPlaceTests {
  private func model() -> ManagedObjectModel {
    let group = EntityDescription("Group")
    group.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "members", to: "Person", inverse: "group", toMany: true, isOrdered: true),
    ]
    let person = EntityDescription("Person")
    person.properties = [
      AttributeDescription("email", .string),
      RelationshipDescription("group", to: "Group", inverse: "members"),
    ]
    person.uniquenessConstraints = [["email"]]
    return ManagedObjectModel(entities: [group, person])
  }

  private func members(_ group: UUID, _ replica: TestReplica) throws -> [UUID] {
    try replica.store.read { transaction in
      guard let key = try transaction.key(of: group),
        let relationship = replica.store.schema.entity(numbered: key.entity)?
          .relationshipsByName["members"]
      else { return [] }
      return try transaction.toManyKeys(of: key, relationship).map(transaction.identity)
    }
  }

  private func insert(_ email: String, into group: UUID, _ replica: TestReplica) throws -> UUID {
    try replica.save { context in
      let person = try context.insert(entityNamed: "Person")
      try person.setValue(email, forKey: "email")
      let list = try #require(try context.object(withIdentity: group))
      try person.setValue(list, forKey: "group")
    }
    return try #require(try replica.identities(of: "Person").last)
  }

  @Test(
    "An object that was united, and lives on at a replica that comes later, has a place of its own",
    arguments: [false, true])
  func livesOn(hasNext: Bool) async throws {
    var world = try await World(0)
    for index in 0..<3 {
      world.replicas.append(
        try await TestReplica("r\(index)", zone: world.zone, clock: world.clock, model: model()))
    }
    let group = try world[2].insert("Group", ["name": .string("g")])
    try await world.settle()
    let backup = world.zone.log
    let own = try insert("e", into: group, world[0])
    let next = hasNext ? try insert("next", into: group, world[0]) : nil
    for place in [0, 1] { try await world[place].sync() }
    world.zone.putBack(backup)
    let other = try world[2].insert("Person", ["email": .string("e")])
    try await world[2].sync()
    try await world[0].sync()
    let united = try members(group, world[0])
    #expect(united.contains(other) && !united.contains(own))
    try world[1].set(own, ["email": .string("other")])
    try await world[1].sync()
    try await world.settle()
    let order = [own, other] + (next.map { [$0] } ?? [])
    for replica in world.replicas {
      #expect(try members(group, replica) == order, "\(replica.name)")
    }
  }
}
