import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// The order of many-to-many relationships.
struct OrderedPairTests {
  static func model() -> ManagedObjectModel {
    let list = EntityDescription("Playlist")
    list.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("songs", to: "Song", inverse: "lists", toMany: true, isOrdered: true),
    ]
    let song = EntityDescription("Song")
    song.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("lists", to: "Playlist", inverse: "songs", toMany: true),
    ]
    return ManagedObjectModel(entities: [list, song])
  }

  private func world() async throws -> (World, UUID, [UUID]) {
    var world = try await World(0)
    for index in 0..<3 {
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, model: Self.model()))
    }
    let list = try world[0].insert("Playlist")
    let songs = try (0..<5).map { try world[0].insert("Song", ["name": .string("\($0)")]) }
    try set(list, Array(songs.prefix(3)), world[0])
    try await world.settle()
    return (world, list, songs)
  }

  private func set(_ list: UUID, _ songs: [UUID], _ replica: TestReplica) throws {
    replica.clock.advance()
    replica.store.setClock { [clock = replica.clock] in clock.date }
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: list))
      let songs = try songs.map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(songs, forKey: "songs")
    }
  }

  private func songs(_ list: UUID, _ replica: TestReplica) throws -> [UUID] {
    try replica.store.read { transaction in
      guard let key = try transaction.key(of: list),
        let relationship = replica.store.schema.entity(numbered: key.entity)?
          .relationshipsByName["songs"]
      else { return [] }
      return try transaction.toManyKeys(of: key, relationship).map(transaction.identity)
    }
  }

  @Test("S10 The order of a many-to-many relationship is the same on every replica")
  func moved() async throws {
    let (world, list, all) = try await world()
    let order = [all[2], all[0], all[1]]
    try set(list, order, world[0])
    try await world.settle()
    for replica in world.replicas { #expect(try songs(list, replica) == order) }
    let longer = [all[4], all[2], all[3], all[1]]
    try set(list, longer, world[1])
    try await world.settle()
    for replica in world.replicas { #expect(try songs(list, replica) == longer) }
  }

  @Test("S10 Moved here and added to there, a many-to-many relationship has one order")
  func bothSides() async throws {
    let (world, list, all) = try await world()
    try set(list, [all[2], all[1], all[0]], world[0])
    try set(list, [all[0], all[3], all[1], all[2]], world[1])
    try set(list, [all[1], all[0], all[2], all[4]], world[2])
    try await world.settle()
    let order = try songs(list, world[0])
    #expect(Set(order) == Set(all))
    for replica in world.replicas { #expect(try songs(list, replica) == order) }
  }
}
