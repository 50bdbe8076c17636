import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Orders of many-to-many relationships where the zone began anew, or its server was put back: what somebody moved stands, or
/// the journal names it.
struct OfferedOrderTests {
  private let world: World
  private let list: UUID
  private let songs: [UUID]

  init() async throws {
    var world = try await World(0)
    for index in 0..<3 {
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, model: Playlists.model()))
    }
    list = try world[0].insert("Playlist")
    songs = try (0..<5).map { try world[0].insert("Song", ["name": .string("\($0)")]) }
    self.world = world
    try set([0, 1, 2], 0)
    try await world.settle()
  }

  /// Puts songs into the list, at a replica.
  private func set(_ order: [Int], _ number: Int) throws {
    try world[number].save { context in
      let object = try #require(try context.object(withIdentity: list))
      let members = try order.map { try #require(try context.object(withIdentity: songs[$0])) }
      try object.setValue(members, forKey: "songs")
    }
  }

  private func order(_ replica: TestReplica) throws -> [Int] {
    try replica.store.read { transaction in
      guard let key = try transaction.key(of: list),
        let relationship = replica.store.schema.entity(numbered: key.entity)?
          .relationshipsByName["songs"]
      else { return [] }
      return try transaction.toManyKeys(of: key, relationship)
        .compactMap { songs.firstIndex(of: try transaction.identity(of: $0)) }
    }
  }

  private func expect(_ order: [Int], _ location: SourceLocation = #_sourceLocation) async throws {
    try await world.settle(location)
    for replica in world.replicas {
      #expect(try self.order(replica) == order, "\(replica.name)", sourceLocation: location)
    }
  }

  /// Puts back what the journal of a replica names last.
  private func undo(_ number: Int) throws {
    let told = try #require(
      try world[number].conflicts.last { $0.property == "songs" && $0.decision == nil })
    try SyncEngine.undo(conflict: told.number, of: world[number].store)
  }

  // MARK: A zone that began anew

  @Test("A move that was never sent is in the journal, where somebody else moved elements later")
  func unsentMove() async throws {
    try set([2, 1, 0], 1)
    world.zone.renew()
    try await world[0].sync()
    try set([1, 0, 2], 0)
    try await world[0].sync()
    try await expect([1, 0, 2])
    try undo(1)
    try await expect([2, 1, 0])
  }

  @Test("A move that was never sent stands, where somebody else only put something in later")
  func unsentMoveBesideAddition() async throws {
    try set([2, 1, 0], 1)
    world.zone.renew()
    try await world[0].sync()
    try set([0, 3, 1, 2], 0)
    try await world[0].sync()
    try await expect([2, 1, 0, 3])
  }

  @Test(
    "A move that the zone had stands, where who had not heard of it only put something in later")
  func offeredMoveBesideAddition() async throws {
    try set([2, 1, 0], 1)
    try await world[1].sync()
    world.zone.renew()
    try await world[0].sync()
    try set([0, 3, 1, 2], 0)
    try await world[0].sync()
    try await expect([2, 1, 0, 3])
  }

  @Test("A move in the new zone stands over one that comes with a later offer")
  func moveInTheNewZone() async throws {
    try set([0, 1, 2, 3], 1)
    try await world[1].sync()
    world.zone.renew()
    try await world[0].sync()
    try set([2, 1, 0], 0)
    try await world[0].sync()
    try await expect([2, 3, 1, 0])
  }

  // MARK: A server that was put back

  /// Puts the server back to a log, and another replica has changed the list there before the others come.
  private func putBack(_ log: ZoneLog, _ order: [Int]) async throws {
    world.zone.putBack(log)
    try await world[0].sync()
    try set(order, 0)
    try await world[0].sync()
  }

  @Test("A move that the server lost stands, where somebody else only put something in later")
  func lostMoveBesideAddition() async throws {
    let log = world.zone.log
    try set([2, 1, 0], 1)
    try await world[1].sync()
    try await putBack(log, [0, 3, 1, 2])
    try await expect([2, 1, 0, 3])
  }

  @Test(
    "A move that the server lost, or that was made on that, is in the journal, where somebody else moved elements later",
    arguments: [false, true])
  func lostMove(isUnsent: Bool) async throws {
    let log = world.zone.log
    try set(isUnsent ? [0, 1, 2, 3] : [2, 1, 0, 3], 1)
    try await world[1].sync()
    if isUnsent { try set([2, 1, 0, 3], 1) }
    try await putBack(log, [1, 0, 2])
    try await expect([1, 0, 3, 2])
    try undo(1)
    try await expect([2, 1, 0, 3])
  }

  @Test("What a lost move did not put in does not come back where somebody else took it out")
  func takenOutBesideLostMove() async throws {
    let log = world.zone.log
    // Taken out earlier, and sent later.
    try set([0, 2], 2)
    try set([2, 1, 0], 1)
    try await world[1].sync()
    world.zone.putBack(log)
    try await world[2].sync()
    try await expect([2, 0])
  }
}
