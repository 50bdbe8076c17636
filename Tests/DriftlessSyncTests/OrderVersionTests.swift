import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Lists whose order comes and goes with versions of the model, on hosts that are migrated at different times.
struct OrderVersionTests {
  private func model(ordered isOrdered: Bool, isPair: Bool) -> ManagedObjectModel {
    let list = EntityDescription("Playlist")
    list.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "songs", to: "Song", inverse: isPair ? "lists" : "list", toMany: true,
        isOrdered: isOrdered),
    ]
    let song = EntityDescription("Song")
    song.properties = [
      AttributeDescription("name", .string),
      isPair
        ? RelationshipDescription("lists", to: "Playlist", inverse: "songs", toMany: true)
        : RelationshipDescription("list", to: "Playlist", inverse: "songs"),
    ]
    return ManagedObjectModel(entities: [list, song])
  }

  private func arrange(_ list: UUID, _ songs: [UUID], _ replica: TestReplica) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: list))
      let songs = try songs.map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(songs, forKey: "songs")
    }
  }

  private func put(_ song: UUID, into list: UUID, _ replica: TestReplica) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: list))
      let song = try #require(try context.object(withIdentity: song))
      let songs = object["songs"] as? Set<ManagedObject> ?? []
      try object.setValue(songs.union([song]), forKey: "songs")
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

  /// Three replicas with a list of five songs in an order that is not that of their rows.
  private func fleet(ordered: Bool, isPair: Bool) async throws -> (Fleet, UUID, [UUID]) {
    let fleet = try await Fleet(3, model(ordered: ordered, isPair: isPair))
    let list = try fleet[0].insert("Playlist")
    let all = try (0..<5).map { try fleet[0].insert("Song", ["name": .string("\($0)")]) }
    let songs = [3, 0, 4, 1].map { all[$0] }
    if ordered {
      try arrange(list, songs, fleet[0])
    } else {
      for song in songs { try put(song, into: list, fleet[0]) }
    }
    try await fleet.sync(0, 1, 2)
    return (fleet, list, all)
  }

  @Test(
    "What is moved between a migration to a list and the next sync stays where it was put",
    arguments: [false, true], [false, true])
  func movedBefore(isPair: Bool, isSecond: Bool) async throws {
    var (fleet, list, _) = try await fleet(ordered: false, isPair: isPair)
    for number in 0..<3 {
      try await fleet.migrate(number, to: model(ordered: true, isPair: isPair))
    }
    // The first one that syncs with the order may be another than who moved.
    if isSecond { try await fleet.sync(1) }
    var wanted = try songs(list, fleet[0])
    wanted.insert(wanted.removeLast(), at: 0)
    try arrange(list, wanted, fleet[0])
    try await fleet.sync(0, 1, 2)
    try await fleet.joinBothWays(model(ordered: true, isPair: isPair))
    try await fleet.world.settle()
    for replica in fleet.world.replicas {
      let order = try songs(list, replica)
      #expect(order == wanted, "\(replica.name)")
    }
  }
}
