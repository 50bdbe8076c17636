import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Teams of two to three players.
private func teamModel() -> ManagedObjectModel {
  let players = RelationshipDescription("players", to: "Player", inverse: "team", toMany: true)
  players.minCount = 2
  players.maxCount = 3
  let team = EntityDescription("Team")
  team.properties = [AttributeDescription("name", .string), players]
  let player = EntityDescription("Player")
  player.properties = [
    AttributeDescription("name", .string),
    RelationshipDescription("team", to: "Team", inverse: "players"),
  ]
  return ManagedObjectModel(entities: [team, player])
}

/// Bounds on how many objects a relationship holds, which each replica keeps and the merge breaks.
struct CountTests {
  private func world() async throws -> (world: World, team: UUID, players: [UUID]) {
    var world = try await World(0)
    for index in 0..<3 {
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, model: teamModel()))
    }
    let team = try world[0].insert("Team")
    let players = try (0..<5).map { try world[0].insert("Player", ["name": .string("\($0)")]) }
    return (world, team, players)
  }

  private func setPlayers(_ replica: TestReplica, _ team: UUID, _ players: [UUID]) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: team))
      let players = try players.map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(players, forKey: "players")
    }
  }

  private func players(_ replica: TestReplica, of team: UUID) throws -> Set<UUID> {
    Set(try replica.identities(of: "Player").filter { try replica.reference($0, "team") == team })
  }

  /// What two replicas make of a team; then what a third one may make of that, and may not.
  private func merge(
    _ before: Range<Int>, _ first: [Int], _ second: [Int], to merged: [Int],
    refused: [Int], taken: [Int], _ code: Int
  ) async throws {
    let (world, team, all) = try await world()
    try setPlayers(world[0], team, before.map { all[$0] })
    try await world.settle()
    try setPlayers(world[0], team, first.map { all[$0] })
    try setPlayers(world[1], team, second.map { all[$0] })
    try await world.settle()
    for replica in world.replicas {
      #expect(try players(replica, of: team) == Set(merged.map { all[$0] }))
      #expect(try replica.status.conflicts == 0, "both edits stand")
    }
    // What does not touch the relationship is saved as ever.
    try world[2].save { context in
      try #require(try context.object(withIdentity: team)).setValue("renamed", forKey: "name")
    }
    do {
      try setPlayers(world[2], team, refused.map { all[$0] })
      Issue.record("a save left the count outside of its bounds")
    } catch let error as ValidationFailure {
      #expect(error.items.map { ($0.error as? ValidationError)?.code } == [code])
    }
    try setPlayers(world[2], team, taken.map { all[$0] })
    try await world.settle()
    for replica in world.replicas {
      #expect(try players(replica, of: team) == Set(taken.map { all[$0] }))
    }
  }

  @Test(
    "F45 More objects than a relationship takes, by a merge, stay until a save brings them down")
  func tooMany() async throws {
    try await merge(
      0..<2, [0, 1, 2], [0, 1, 3], to: [0, 1, 2, 3], refused: [0, 1, 2, 4, 3], taken: [0, 1, 3],
      ValidationError.relationshipExceedsMaximumCount)
  }

  @Test("F45 Fewer objects than a relationship needs, by a merge, stay until a save brings them up")
  func tooFew() async throws {
    try await merge(
      0..<3, [0, 1], [0, 2], to: [0], refused: [4], taken: [0, 4],
      ValidationError.relationshipLacksMinimumCount)
  }
}
