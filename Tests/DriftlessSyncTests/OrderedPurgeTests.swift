import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// The order of a set with deleted objects is the same for who joins by a snapshot as for who read the log.
struct OrderedPurgeTests {
  private func world(_ count: Int) async throws -> World {
    try await World(count) { Self.model() }
  }

  private static func model() -> ManagedObjectModel {
    let model = Playlists.model()
    model.entitiesByName["Song"]?.deletePolicy = .editWins
    return model
  }

  /// The songs of a list by their numbers.
  private func places(_ list: UUID, of all: [UUID], _ replica: TestReplica) throws -> [Int] {
    try replica.songs(of: list).compactMap { all.firstIndex(of: $0) }
  }

  /// The second replica puts songs into a list, of which the first one has not heard when it deletes some of them: they stay in
  /// the zone's sequence. The third one edited those, and nobody has heard of that.
  private func deleteUnheard(
    _ deleted: [UUID], of songs: [UUID], _ list: UUID, _ world: World
  ) async throws {
    try world[1].setSongs(of: list, to: songs)
    try await world[1].sync()
    for song in deleted {
      try world[2].set(song, ["name": .string("kept")])
      try world[0].delete(song)
    }
    try await world[0].sync()
  }

  /// Who joins by the snapshot of a purged log, and who joins by the log.
  private func newcomers(_ world: World) async throws -> [TestReplica] {
    let way = try PurgedZone(world.zone)
    try way.purge()
    let joined = try await TestReplica(
      "joined", zone: world.zone, clock: world.clock, model: Self.model(), transport: way)
    try await joined.sync()
    #expect(way.fetched > 0, "it joins by the snapshot")
    let reader = try await TestReplica(
      "reader", zone: world.zone, clock: world.clock, model: Self.model())
    try await reader.sync()
    #expect(try joined.export == reader.export)
    return [joined, reader]
  }

  @Test("A song that comes back is where it was, also for who joined while it was deleted")
  func comesBack() async throws {
    var world = try await world(3)
    let list = try world[0].insert("Playlist")
    let all = try (0..<4).map { try world[0].insert("Song", ["name": .string("\($0)")]) }
    try await world.settle()
    try await deleteUnheard([all[1]], of: all, list, world)
    world.replicas += try await newcomers(world)
    #expect(try places(list, of: all, world[3]) == [0, 2, 3])
    try await world[2].sync()
    try await world.settle()
    for replica in world.replicas { #expect(try places(list, of: all, replica) == [0, 1, 2, 3]) }
  }

  @Test("A song that comes back into a set that was ordered anew meanwhile stands first everywhere")
  func comesBackIntoAnother() async throws {
    var world = try await world(3)
    let list = try world[0].insert("Playlist")
    let all = try (0..<5).map { try world[0].insert("Song", ["name": .string("\($0)")]) }
    try await world.settle()
    try await deleteUnheard([all[3], all[1]], of: all, list, world)
    try world[0].setSongs(of: list, to: [all[4], all[0], all[2]])
    try await world[0].sync()
    world.replicas += try await newcomers(world)
    try await world[2].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try places(list, of: all, replica) == [1, 3, 4, 0, 2])
    }
  }

  @Test("Of a set that is pending the deleted songs keep their places in the zone's sequence")
  func pending() async throws {
    var world = try await world(3)
    let list = try world[0].insert("Playlist")
    let all = try (0..<5).map { try world[0].insert("Song", ["name": .string("\($0)")]) }
    try await world.settle()
    try await deleteUnheard([all[1]], of: Array(all[..<4]), list, world)
    // It knew nothing of the delete when it put the set into another order.
    try world[1].setSongs(of: list, to: [all[4], all[3], all[2], all[1], all[0]])
    try await world[1].sync()
    world.replicas += try await newcomers(world)
    #expect(try places(list, of: all, world[3]) == [4, 3, 2, 0])
    try await world[2].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try places(list, of: all, replica) == [1, 4, 3, 2, 0])
    }
  }

  @Test("A song that its delete took out of a set is where it was once an edit brings it back")
  func takenOut() async throws {
    var world = try await world(3)
    let list = try world[0].insert("Playlist")
    let all = try (0..<4).map { try world[0].insert("Song", ["name": .string("\($0)")]) }
    try world[0].setSongs(of: list, to: all)
    try await world.settle()
    try world[2].set(all[1], ["name": .string("kept")])
    try world[0].delete(all[1])
    try await world[0].sync()
    world.replicas += try await newcomers(world)
    try await world[2].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.exists(all[1]))
      #expect(try places(list, of: all, replica) == [0, 1, 2, 3])
    }
  }

  @Test("Whatever was ordered, deleted and brought back, all have one order", arguments: 1...30)
  func random(seed: UInt64) async throws {
    var numbers = SeededGenerator(seed: seed)
    var world = try await world(3)
    let list = try world[0].insert("Playlist")
    var all = try (0..<6).map { try world[0].insert("Song", ["name": .string("\($0)")]) }
    try world[0].setSongs(of: list, to: Array(all[..<4]))
    try await world.settle()
    func step() async throws {
      let replica = world.replicas[Int(numbers.next() % UInt64(world.replicas.count))]
      let living = try all.filter { try replica.exists($0) }
      switch numbers.next() % 8 {
      case 0, 1:
        try replica.setSongs(
          of: list, to: living.shuffled(using: &numbers).dropLast(living.count > 3 ? 1 : 0))
      case 2:
        if let song = living.randomElement(using: &numbers) { try replica.delete(song) }
      case 3, 4:
        guard let song = living.randomElement(using: &numbers) else { return }
        try replica.set(song, ["name": .string("\(numbers.next() % 100)")])
      case 5:
        all.append(try replica.insert("Song", ["name": .string("new")]))
      default: try await replica.sync()
      }
    }
    for _ in 0..<30 { try await step() }
    world.replicas += try await newcomers(world)
    for _ in 0..<30 { try await step() }
    try await world.settle()
    world.replicas += try await newcomers(world)
    try await world.settle()
    let order = try world[0].songs(of: list)
    for replica in world.replicas { #expect(try replica.songs(of: list) == order) }
  }
}
