import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A zone that lost what it had is offered everything anew, with the times of the edits.
struct GenerationTests {
  private func move(_ world: World, _ order: [Int], to zone: MemoryZone) async throws {
    for replica in world.replicas {
      await replica.engine.close()
      try SyncEngine.enroll(
        store: replica.store, server: MemoryZone.url, zone: zone.name,
        info: try await zone.zoneInfo())
    }
    for index in order + order {
      let engine = try await world[index].engine(through: zone)
      _ = try await engine.sync()
      await engine.close()
    }
  }

  private func newZone(_ world: World) -> MemoryZone {
    MemoryZone(name: world.zone.name, clock: world.clock)
  }

  @Test(
    "A later edit stands, whichever replica is the first to offer its values", arguments: [0, 1])
  func laterEdit(first: Int) async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("first"), "note": .string("n")])
    try await world.settle()
    // Edited on one replica, then something else on the other.
    try world[1].set(id, ["title": .string("edited")])
    try world[0].set(id, ["price": .decimal(3)])
    try await move(world, [first, 1 - first], to: newZone(world))
    for replica in world.replicas {
      #expect(try replica.value(id, "title") == .string("edited"))
      #expect(try replica.value(id, "price") == .decimal(3))
      #expect(try replica.value(id, "note") == .string("n"))
    }
    #expect(try world[0].export == world[1].export)
  }

  @Test("A value that came by a pull is as old as its edit, not as the pull", arguments: [0, 1, 2])
  func pulled(first: Int) async throws {
    let world = try await World(3)
    let id = try world[0].insert("Item", ["title": .string("first")])
    try await world.settle()
    try world[0].set(id, ["title": .string("second")])
    try await world[0].sync()
    // The zone is lost before this one reaches it; the others pull the second one, and edit more.
    try world[0].set(id, ["title": .string("third")])
    try world[1].insert("Item")
    try await world[1].sync()
    try world[1].set(id, ["tag": .string("t")])
    try world[2].insert("Item")
    try await world[2].sync()
    try await move(world, [first, (first + 1) % 3, (first + 2) % 3], to: newZone(world))
    for replica in world.replicas {
      #expect(try replica.value(id, "title") == .string("third"), "\(replica.name)")
      #expect(try replica.export == world[0].export)
    }
  }

  @Test("A property that was set to null later than another replica's value stays null")
  func cleared() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("first")])
    try world[0].set(id, ["price": .decimal(1)])
    try await world.settle()
    try world[0].set(id, ["price": .decimal(2)])
    try world[1].insert("Item")
    try world[1].set(id, ["price": .null])
    try await move(world, [0, 1], to: newZone(world))
    for replica in world.replicas { #expect(try replica.value(id, "price") == .null) }
  }

  @Test("Whoever had pulled what, the last edit of each property stands", arguments: UInt64(1)...25)
  func lastEditStands(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let world = try await World(3)
    let items = try (0..<4).map { try world[0].insert("Item", ["title": .string("\($0)")]) }
    try await world.settle()
    var expected: [UUID: [String: PropertyValue]] = [:]
    for step in 0..<50 {
      let replica = world[Int.random(in: 0..<3, using: &generator)]
      if generator.chance(35) {
        try await replica.sync()
        continue
      }
      let id = items[Int.random(in: 0..<4, using: &generator)]
      let name = ["title", "weight", "code"][Int.random(in: 0..<3, using: &generator)]
      let value: PropertyValue =
        switch name {
        case "title": .string("edit \(step)")
        case "weight": generator.chance(30) ? .null : .double(Double(step))
        default: .uuid(UUID())
        }
      try replica.set(id, [name: value])
      expected[id, default: [:]][name] = value
    }
    try await move(world, [0, 1, 2].shuffled(using: &generator), to: newZone(world))
    for replica in world.replicas {
      for (id, values) in expected {
        for (name, value) in values {
          #expect(try replica.value(id, name) == value, "seed \(seed): \(replica.name) \(name)")
        }
      }
      #expect(try replica.export == world[0].export)
    }
  }

  @Test("What history has forgotten is offered all the same")
  func forgotten() async throws {
    let world = try await World(2)
    let shelf = try world[0].insert("Shelf", ["name": .string("s")])
    let rows = try (0..<4).map { try world[0].insert("Row", ["name": .string("\($0)")]) }
    try world[0].arrange(shelf, rows)
    try await world.settle()
    for replica in world.replicas {
      try replica.store.deleteHistory(before: replica.store.currentHistoryToken())
    }
    try world[1].set(rows[1], ["name": .string("edited")])
    try await move(world, [0, 1], to: newZone(world))
    for replica in world.replicas {
      #expect(try replica.value(rows[1], "name") == .string("edited"))
      #expect(try replica.rows(of: shelf) == rows)
      #expect(try replica.status.pending.objects == 0)
    }
  }
}
