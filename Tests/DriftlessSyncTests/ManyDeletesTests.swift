import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Deletes of many objects that meet edits: each object is looked at once, however they hang together.
struct ManyDeletesTests {
  /// Parts of parts: with a part go those that it has.
  private static func parts() -> ManagedObjectModel {
    let part = EntityDescription("Part")
    part.deletePolicy = .editWins
    part.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "parts", to: "Part", inverse: "whole", toMany: true, deleteRule: .cascade),
      RelationshipDescription("whole", to: "Part", inverse: "parts"),
    ]
    return ManagedObjectModel(entities: [part])
  }

  /// Lists with songs in their order.
  private static func lists() -> ManagedObjectModel {
    let list = EntityDescription("Playlist")
    list.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("songs", to: "Song", inverse: "lists", toMany: true, isOrdered: true),
    ]
    let song = EntityDescription("Song")
    song.deletePolicy = .editWins
    song.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("lists", to: "Playlist", inverse: "songs", toMany: true),
    ]
    return ManagedObjectModel(entities: [list, song])
  }

  private static func world(_ model: ManagedObjectModel) async throws -> World {
    var options = SyncOptions()
    options.massDelete.floor = 1_000_000
    var world = try await World(0)
    for name in ["a", "b"] {
      world.replicas.append(
        try await TestReplica(
          name, zone: world.zone, clock: world.clock, model: model, options: options))
    }
    return world
  }

  /// Makes rows of an entity in one save.
  ///
  /// - Parameter values: of each, with the key of the one before it.
  private static func make(
    _ count: Int, _ entity: String, _ replica: TestReplica,
    _ values: (Int, ObjectKey?) -> [String: PropertyValue]
  ) throws -> [ObjectKey] {
    let description = try #require(replica.store.model.entitiesByName[entity])
    var keys: [ObjectKey] = []
    try replica.write { transaction in
      for key in try transaction.allocateKeys(description, count: count) {
        var row = [PropertyValue](repeating: .null, count: description.layout.slots.count)
        for (name, value) in values(keys.count, keys.last) {
          row[try #require(description.layout.index(named: name))] = value
        }
        try transaction.insert(description, key, values: row)
        keys.append(
          ObjectKey(entity: replica.store.schema.entityNumber(of: description), key: key))
      }
    }
    return keys
  }

  private static func delete(_ keys: some Sequence<ObjectKey>, _ replica: TestReplica) throws {
    try replica.write { transaction in
      for key in keys { try transaction.delete(key, expectedVersion: nil) }
    }
  }

  /// Deletes as a program does: nothing holds them any more.
  private static func deleteSongs(_ songs: [UUID], _ replica: TestReplica) throws {
    try replica.save { context in
      for song in songs { context.delete(try #require(try context.object(withIdentity: song))) }
    }
  }

  @Test("What may not go keeps what would take it along, and the journal says so")
  func tied() async throws {
    let world = try await Self.world(Self.parts())
    let whole = try world[0].insert("Part", ["name": .string("whole")])
    let part = try world[0].insert("Part", ["name": .string("part")])
    try await world.settle()
    try world[0].save { context in
      let object = try #require(try context.object(withIdentity: part))
      try object.setValue("edited", forKey: "name")
      try object.setValue(try context.object(withIdentity: whole), forKey: "whole")
    }
    try world[1].delete(part)
    try world[1].delete(whole)
    try await world[0].sync()
    try await world[1].sync()
    try await world.settle()
    for replica in world.replicas { #expect(try replica.reference(part, "whole") == whole) }
    let entry = try #require(try world[1].conflicts.first { $0.object == whole })
    #expect(
      entry.explanation
        == "Deleted here, while an object that would go with it may not: the object is back.")
  }

  private static func rename(_ identities: [UUID], _ replica: TestReplica) throws {
    try replica.save { context in
      for identity in identities {
        try #require(try context.object(withIdentity: identity)).setValue("edited", forKey: "name")
      }
    }
  }

  private static func identities(_ keys: [ObjectKey], _ replica: TestReplica) throws -> [UUID] {
    try replica.store.read { transaction in try keys.map { try transaction.identity(of: $0) } }
  }

  @Test("An edit brings back a chain of parts that went with each other, however long")
  func chain() async throws {
    let world = try await Self.world(Self.parts())
    let keys = try Self.make(20_000, "Part", world[0]) { _, last in
      last.map { ["whole": .reference($0)] } ?? [:]
    }
    try await world.syncAll()
    try Self.delete(keys, world[0])
    try Self.rename(Self.identities([keys[0]], world[0]), world[1])
    try await world[1].push()
    try await world[0].pull()
    #expect(try world[0].identities(of: "Part").count == keys.count)
  }

  @Test("A delete takes along a chain of new parts, however long")
  func takenChain() async throws {
    let model = Self.parts()
    model.entitiesByName["Part"]?.deletePolicy = .deleteWins
    let world = try await Self.world(model)
    let root = try Self.make(1, "Part", world[0]) { _, _ in [:] }
    let identity = try Self.identities(root, world[0])
    try await world.syncAll()
    let here = try world[1].store.read { try #require(try $0.key(of: identity[0])) }
    _ = try Self.make(20_000, "Part", world[1]) { _, last in
      ["whole": .reference(last ?? here)]
    }
    try Self.delete(root, world[0])
    try await world[0].push()
    try await world[1].pull()
    #expect(try world[1].identities(of: "Part").isEmpty)
  }

  @Test("What comes back is found by its owner once, and not by each owner")
  func members() async throws {
    try await expectLinear((60, 120)) { count in
      let world = try await Self.world(Self.parts())
      let wholes = try Self.make(count, "Part", world[0]) { _, _ in [:] }
      let parts = try Self.make(count, "Part", world[0]) { place, _ in
        ["whole": .reference(wholes[place])]
      }
      try await world.syncAll()
      try Self.delete(wholes + parts, world[0])
      try Self.rename(Self.identities(wholes, world[0]), world[1])
      try await world[1].push()
      let work = try await world[0].statementWork { try await world[0].pull() }
      #expect(try world[0].identities(of: "Part").count == 2 * count)
      try await world.settle()
      return work
    }
  }

  /// A list with songs, everywhere.
  private static func list(
    _ count: Int, _ world: World
  ) async throws -> (list: UUID, songs: [UUID]) {
    let keys = try make(count, "Song", world[0]) { place, _ in ["name": .string("\(place)")] }
    let songs = try identities(keys, world[0])
    let list = try world[0].insert("Playlist")
    try world[0].save { context in
      let all = try songs.map { try #require(try context.object(withIdentity: $0)) }
      try #require(try context.object(withIdentity: list)).setValue(all, forKey: "songs")
    }
    try await world.settle()
    return (list, songs)
  }

  private static func songs(_ list: UUID, _ replica: TestReplica) throws -> [UUID] {
    try replica.store.read { transaction in
      let key = try #require(try transaction.key(of: list))
      let relationship = try #require(
        replica.store.schema.entity(numbered: key.entity)?.relationshipsByName["songs"])
      return try transaction.toManyKeys(of: key, relationship).map(transaction.identity)
    }
  }

  @Test("Many elements leave a set in its order, which is read once")
  func cut() async throws {
    try await expectLinear((60, 120)) { count in
      let world = try await Self.world(Self.lists())
      let (list, songs) = try await Self.list(count, world)
      try Self.deleteSongs(stride(from: 0, to: count, by: 2).map { songs[$0] }, world[0])
      try await world[0].push()
      let work = try await world[1].statementWork { try await world[1].pull() }
      try await world.settle()
      let left = stride(from: 1, to: count, by: 2).map { songs[$0] }
      #expect(try Self.songs(list, world[1]) == left)
      return work
    }
  }

  @Test(
    "Many elements come back into a set to their places, which is written once: where they were deleted, and where an edit keeps them",
    arguments: [0, 1])
  func back(pulling: Int) async throws {
    try await expectLinear((60, 120)) { count in
      let world = try await Self.world(Self.lists())
      let (list, songs) = try await Self.list(count, world)
      let deleted = stride(from: 0, to: count, by: 2).map { songs[$0] }
      try Self.deleteSongs(deleted, world[0])
      try Self.rename(deleted, world[1])
      try await world[1 - pulling].push()
      let work = try await world[pulling].statementWork { try await world[pulling].pull() }
      #expect(try Self.songs(list, world[pulling]) == songs)
      try await world.settle()
      #expect(try Self.songs(list, world[1 - pulling]) == songs)
      return work
    }
  }
}
