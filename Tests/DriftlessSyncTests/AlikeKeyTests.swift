import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Objects with unique keys that two replicas made each for itself, with the same values.
struct AlikeKeyTests {
  private func world(
    _ count: Int, model: @autoclosure () -> ManagedObjectModel = staffModel()
  ) async throws -> World {
    var world = try await World(0)
    for index in 0..<count {
      world.replicas.append(
        try await TestReplica("r\(index)", zone: world.zone, clock: world.clock, model: model()))
    }
    return world
  }

  @Test("Objects with keys that two replicas made alike are one without a word")
  func alike() async throws {
    let world = try await world(3)
    for replica in world.replicas.prefix(2) {
      for name in ["a", "b"] {
        try replica.insert("Person", ["email": .string(name), "name": .string("same")])
      }
    }
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.identities(of: "Person").count == 2)
      #expect(try replica.conflicts == [])
    }
  }

  @Test("What was cleared after the making is told, where the object becomes one with another")
  func clearedAfterTheMaking() async throws {
    let world = try await world(2)
    var made: [UUID] = []
    for replica in world.replicas {
      made.append(
        try replica.insert("Person", ["email": .string("a"), "name": .string("same")]))
    }
    try world.replicas[1].set(made[1], ["name": .null])
    try await world.settle()
    for replica in world.replicas { #expect(try replica.identities(of: "Person").count == 1) }
    #expect(try world.replicas.contains { try !$0.conflicts.isEmpty })
  }

  @Test("Children with keys are compared when their parents are one", arguments: [false, true])
  func alikeBelowParents(parentsFirst: Bool) async throws {
    func model() -> ManagedObjectModel {
      let album = EntityDescription("Album")
      let track = EntityDescription("Track")
      album.properties = [
        AttributeDescription("name", .string),
        RelationshipDescription("tracks", to: "Track", inverse: "album", toMany: true),
      ]
      track.properties = [
        AttributeDescription("name", .string),
        RelationshipDescription("album", to: "Album", inverse: "tracks"),
      ]
      album.uniquenessConstraints = [["name"]]
      track.uniquenessConstraints = [["name"]]
      return ManagedObjectModel(entities: parentsFirst ? [album, track] : [track, album])
    }
    let world = try await world(2, model: model())
    for (index, replica) in world.replicas.enumerated() {
      try replica.save { context in
        // The keys of the two differ.
        let names = index == 0 ? ["x", "y", "z"] : ["z", "x", "y"]
        for name in names {
          let album = try context.insert(entityNamed: "Album")
          album["name"] = name
          let track = try context.insert(entityNamed: "Track")
          track["name"] = "of \(name)"
          try track.setValue(album, forKey: "album")
        }
      }
    }
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.identities(of: "Track").count == 3)
      #expect(try replica.identities(of: "Album").count == 3)
      #expect(try replica.conflicts == [])
    }
  }
}
