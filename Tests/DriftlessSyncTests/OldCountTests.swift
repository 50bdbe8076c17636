import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What adds up and is pending for longer than a purged zone remembers saves: whether it is in the zone's totals nobody can tell.
struct OldCountTests {
  private static let day: UInt64 = 86_400_000

  private struct Scene {
    let world: World
    let way: PurgedZone
    let item: UUID
  }

  /// A store that counted, was away for 200 days, and comes back to a zone whose log was purged.
  private func scene(countsLater: Bool = false) async throws -> Scene {
    var world = try await World(1)
    let way = try PurgedZone(world.zone)
    world.replicas.append(
      try await TestReplica("away", zone: world.zone, clock: world.clock, transport: way))
    let item = try world[0].insert(
      "Item", ["title": .string("nails"), "stock": .integer(10), "text": .string("One. Two.")])
    try await world.settle()
    try world[1].set(item, ["stock": .integer(12)])
    try world[1].set(item, ["text": .string("One. Two. Mine.")])
    world.clock.advance(milliseconds: 150 * Self.day)
    if countsLater { try world[1].set(item, ["stock": .integer(13)]) }
    world.clock.advance(milliseconds: 50 * Self.day)
    try world[0].set(item, ["stock": .integer(15), "text": .string("One! Two.")])
    try await world[0].sync()
    try way.purge()
    return Scene(world: world, way: way, item: item)
  }

  @Test("It waits for a person, and nothing is given up by itself")
  func waits() async throws {
    let scene = try await scene()
    let away = scene.world[1]
    let before = try away.export
    for _ in 0..<2 {
      let error = await #expect(throws: SyncError.self) { try await away.sync() }
      #expect(error?.code == .oldCounts)
      #expect(error?.message.contains("stock of Item") == true)
      #expect(error?.message.contains("text of Item") == true)
      #expect(error?.suggestion.contains("--old-counts count-again") == true)
      #expect(error?.suggestion.contains("--old-counts leave-out") == true)
      #expect(try away.export == before)
      #expect(try away.status.pending.objects == 1)
      #expect(try away.conflicts.isEmpty)
    }
    #expect(try away.status.failure?.kind == .waiting)
    #expect(scene.way.refused > 0)
  }

  @Test("Counted again, both counts are in the zone", arguments: [false, true])
  func countAgain(countsLater: Bool) async throws {
    let scene = try await scene(countsLater: countsLater)
    let world = scene.world
    try SyncEngine.decideOldCounts(.countAgain, of: world[1].store)
    try await world[1].sync()
    try await world[0].sync()
    for replica in world.replicas {
      #expect(try replica.value(scene.item, "stock") == .integer(countsLater ? 18 : 17))
      #expect(try replica.value(scene.item, "text") == .string("One! Two. Mine."))
    }
    let entries = try world[1].conflicts
    for property in ["stock", "text"] {
      #expect(
        entries.contains {
          $0.property == property && $0.explanation.contains("by a person's word")
        })
    }
    try await world.settle()
  }

  @Test("Left out, the zone's count stands with what was counted since", arguments: [false, true])
  func leaveOut(countsLater: Bool) async throws {
    let scene = try await scene(countsLater: countsLater)
    let world = scene.world
    try SyncEngine.decideOldCounts(.leaveOut, of: world[1].store)
    try await world[1].sync()
    try await world[0].sync()
    for replica in world.replicas {
      #expect(try replica.value(scene.item, "stock") == .integer(countsLater ? 16 : 15))
      #expect(try replica.value(scene.item, "text") == .string("One! Two."))
    }
    let entries = try world[1].conflicts.filter { $0.explanation.contains("by a person's word") }
    let stock = try #require(entries.first { $0.property == "stock" })
    #expect(stock.base == "10" && stock.local == "12")
    #expect(entries.first { $0.property == "text" }?.local?.contains("Mine") == true)
    #expect(entries.first { $0.property == "text" }?.base?.contains("One. Two.") == true)
    try await world.settle()
  }

  @Test(
    "What was left out and counts after all is added to what others counted",
    arguments: [false, true])
  func undo(countsLater: Bool) async throws {
    let scene = try await scene(countsLater: countsLater)
    let world = scene.world
    try SyncEngine.decideOldCounts(.leaveOut, of: world[1].store)
    try await world[1].sync()
    try world[0].set(scene.item, ["stock": .integer(100)])
    try await world[0].sync()
    try await world[1].sync()
    let before = try world[1].value(scene.item, "stock")
    #expect(before == .integer(countsLater ? 101 : 100))
    let stock = try #require(try world[1].conflicts.first { $0.property == "stock" })
    try SyncEngine.undo(conflict: stock.number, of: world[1].store)
    #expect(try world[1].value(scene.item, "stock") == .integer(countsLater ? 103 : 102))
    try await world.settle()
    #expect(try world[0].value(scene.item, "stock") == .integer(countsLater ? 103 : 102))
  }

  @Test("What was sent by a person's word is not undone, and nobody says that it was deleted")
  func undoCountAgain() async throws {
    let scene = try await scene()
    let world = scene.world
    try SyncEngine.decideOldCounts(.countAgain, of: world[1].store)
    try await world[1].sync()
    let stock = try #require(
      try world[1].conflicts.first {
        $0.property == "stock" && $0.explanation.contains("by a person's word")
      })
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: stock.number, of: world[1].store)
    }
    #expect(error?.code == .cannotUndo)
    #expect(error?.message.contains("deleted") == false)
  }

  @Test("Of a text that was left out what was written since stays")
  func laterText() async throws {
    var world = try await World(1)
    let way = try PurgedZone(world.zone)
    world.replicas.append(
      try await TestReplica("away", zone: world.zone, clock: world.clock, transport: way))
    let item = try world[0].insert(
      "Item", ["title": .string("nails"), "text": .string("One. Two.")])
    try await world.settle()
    try world[1].set(item, ["text": .string("One. Two. Mine.")])
    world.clock.advance(milliseconds: 150 * Self.day)
    try world[1].set(item, ["text": .string("One. Two. Mine. Later.")])
    world.clock.advance(milliseconds: 50 * Self.day)
    try world[0].set(item, ["text": .string("One! Two.")])
    try await world[0].sync()
    try way.purge()
    try SyncEngine.decideOldCounts(.leaveOut, of: world[1].store)
    try await world[1].sync()
    try await world[0].sync()
    for replica in world.replicas {
      #expect(try replica.value(item, "text") == .string("One! Two. Later."))
    }
    try await world.settle()
  }

  @Test("A word waits for what it was asked for, and goes with that", arguments: [false, true])
  func lifetime(isAsked: Bool) async throws {
    let scene = try await scene()
    let away = scene.world[1]
    if isAsked { await #expect(throws: SyncError.self) { try await away.sync() } }
    try SyncEngine.decideOldCounts(.countAgain, of: away.store)
    try await away.sync()
    #expect(try away.value(scene.item, "stock") == .integer(17))
    // What comes later is another question.
    try away.set(scene.item, ["stock": .integer(20)])
    scene.world.clock.advance(milliseconds: 200 * Self.day)
    try scene.world[0].set(scene.item, ["stock": .integer(30)])
    try await scene.world[0].sync()
    try scene.way.purge()
    let error = await #expect(throws: SyncError.self) { try await away.sync() }
    #expect(error?.code == .oldCounts)
  }

  @Test("A word is for what was asked, and not for what became old since")
  func bound() async throws {
    let scene = try await scene(countsLater: true)
    let away = scene.world[1]
    await #expect(throws: SyncError.self) { try await away.sync() }
    try SyncEngine.decideOldCounts(.leaveOut, of: away.store)
    // What was counted later is old by now too, and nobody was asked about that.
    scene.world.clock.advance(milliseconds: 100 * Self.day)
    try scene.world[0].set(scene.item, ["note": .string("later")])
    try await scene.world[0].sync()
    try scene.way.purge()
    let error = await #expect(throws: SyncError.self) { try await away.sync() }
    #expect(error?.code == .oldCounts)
    try SyncEngine.decideOldCounts(.leaveOut, of: away.store)
    try await away.sync()
    #expect(try away.value(scene.item, "stock") == .integer(15))
  }

  @Test("Where an older snapshot can tell nobody is asked")
  func olderSnapshot() async throws {
    var world = try await World(1)
    let way = try PurgedZone(world.zone)
    world.replicas.append(
      try await TestReplica("away", zone: world.zone, clock: world.clock, transport: way))
    let item = try world[0].insert("Item", ["title": .string("nails"), "stock": .integer(10)])
    try await world.settle()
    try world[0].set(item, ["stock": .integer(15)])
    try await world[0].sync()
    try world[1].set(item, ["stock": .integer(12)])
    world.clock.advance(milliseconds: 50 * Self.day)
    try world[0].set(item, ["note": .string("purged")])
    try await world[0].sync()
    try way.purge()
    world.clock.advance(milliseconds: 60 * Self.day)
    try world[0].set(item, ["note": .string("later")])
    try await world[0].sync()
    try way.fold()
    try await world[1].sync()
    #expect(try world[1].value(item, "stock") == .integer(17))
    #expect(try world[1].conflicts.allSatisfy { !$0.explanation.contains("person's word") })
    try await world.settle()
  }

  @Test("A word is for one sync")
  func once() async throws {
    let scene = try await scene()
    let away = scene.world[1]
    try SyncEngine.decideOldCounts(.countAgain, of: away.store)
    try await away.sync()
    try away.set(scene.item, ["stock": .integer(20)])
    scene.world.clock.advance(milliseconds: 200 * Self.day)
    try scene.world[0].set(scene.item, ["stock": .integer(30)])
    try await scene.world[0].sync()
    try scene.way.purge()
    let error = await #expect(throws: SyncError.self) { try await away.sync() }
    #expect(error?.code == .oldCounts)
  }
}
