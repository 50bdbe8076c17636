import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// The order of many-to-many relationships.
struct OrderedPairTests {
  private func world() async throws -> (World, UUID, [UUID]) {
    let world = try await World(3) { Playlists.model() }
    let list = try world[0].insert("Playlist")
    let songs = try (0..<5).map { try world[0].insert("Song", ["name": .string("\($0)")]) }
    try set(list, Array(songs.prefix(3)), world[0])
    try await world.settle()
    return (world, list, songs)
  }

  /// Each edit has a time of its own.
  private func set(_ list: UUID, _ songs: [UUID], _ replica: TestReplica) throws {
    replica.clock.advance()
    replica.store.setClock { [clock = replica.clock] in clock.date }
    try replica.setSongs(of: list, to: songs)
  }

  @Test("S10 The order of a many-to-many relationship is the same on every replica")
  func moved() async throws {
    let (world, list, all) = try await world()
    let order = [all[2], all[0], all[1]]
    try set(list, order, world[0])
    try await world.settle()
    for replica in world.replicas { #expect(try replica.songs(of: list) == order) }
    let longer = [all[4], all[2], all[3], all[1]]
    try set(list, longer, world[1])
    try await world.settle()
    for replica in world.replicas { #expect(try replica.songs(of: list) == longer) }
  }

  @Test("S10 Moved here and added to there, a many-to-many relationship has one order")
  func bothSides() async throws {
    let (world, list, all) = try await world()
    try set(list, [all[2], all[1], all[0]], world[0])
    try set(list, [all[0], all[3], all[1], all[2]], world[1])
    try set(list, [all[1], all[0], all[2], all[4]], world[2])
    try await world.settle()
    let order = try world[0].songs(of: list)
    #expect(Set(order) == Set(all))
    for replica in world.replicas { #expect(try replica.songs(of: list) == order) }
  }

  @Test(
    "An order stands on every replica, also where the log of before a renewal was put back",
    arguments: [[3, 0, 1, 2], [2, 1, 0], [0, 2, 4, 1]])
  func renewedAndPutBack(order: [Int]) async throws {
    let (world, list, all) = try await world()
    let backup = world.zone.log
    world.zone.renew()
    for replica in world.replicas[..<2] { try await replica.sync() }
    world.zone.putBack(backup)
    for replica in world.replicas[..<2] {
      try SyncEngine.allowReconciliation(of: replica.store)
    }
    try await world[0].sync()
    let wanted = order.map { all[$0] }
    try set(list, wanted, world[0])
    try await world[0].sync()
    try await world[1].sync()
    try await world.settle()
    for replica in world.replicas { #expect(try replica.songs(of: list) == wanted) }
  }

  @Test("Of two orders that were made apart the earlier one is in the journal", arguments: [0, 1])
  func lost(first: Int) async throws {
    let (world, list, all) = try await world()
    let orders = [[all[2], all[1], all[0]], [all[1], all[0], all[2]]]
    for (order, replica) in zip(orders, world.replicas) { try set(list, order, replica) }
    try await world[first].sync()
    try await world[1 - first].sync()
    try await world.settle()
    for replica in world.replicas { #expect(try replica.songs(of: list) == orders[1]) }
    #expect(try world[first].conflicts.isEmpty)
    let told = try #require(world[1 - first].conflicts.first)
    #expect(told.property == "songs")
    #expect(told.outcome == (first == 0 ? .local : .remote))
    try SyncEngine.undo(conflict: told.number, of: world[1 - first].store)
    try await world.settle()
    for replica in world.replicas { #expect(try replica.songs(of: list) == orders[0]) }
  }

  @Test(
    "What is moved on one side and added on the other is both, whichever comes first or is later",
    arguments: [0, 1], [0, 1])
  func movedAndAdded(first: Int, mover: Int) async throws {
    let (world, list, all) = try await world()
    let moved = [all[2], all[1], all[0]]
    let added = [all[0], all[3], all[1], all[2]]
    for (place, replica) in world.replicas[..<2].enumerated() {
      try set(list, place == mover ? moved : added, replica)
    }
    try await world[first].sync()
    try await world[1 - first].sync()
    try await world.settle()
    let order = [all[2], all[1], all[0], all[3]]
    for replica in world.replicas {
      #expect(try replica.songs(of: list) == order)
      #expect(try replica.conflicts.isEmpty)
    }
  }
}
