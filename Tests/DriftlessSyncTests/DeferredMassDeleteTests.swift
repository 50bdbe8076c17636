import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Deletes that come in several change sets count together, also those that wait for the head of the log.
struct DeferredMassDeleteTests {
  /// Two replicas with 40 items and 10 shelves.
  private func world() async throws -> (world: World, items: [UUID]) {
    var options = SyncOptions()
    options.massDelete.floor = 8
    let world = try await World(2, options: options)
    let items = try (0..<40).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    for _ in 0..<10 { try world[0].insert("Shelf") }
    try await world.settle()
    return (world, items)
  }

  @Test(
    "Deletes that wait for the head since they meet an edit count with those behind them",
    arguments: [0, 1, 2])
  func behindDeferred(way: Int) async throws {
    let (world, items) = try await world()
    let shelves = try world[0].identities(of: "Shelf")
    // An edit of one object of the first change set, or a reference to one, keeps all of it here until the head.
    if way == 1 { try world[1].set(items[3], ["title": .string("mine")]) }
    if way == 2 {
      try world[1].save { context in
        let shelf = try #require(try context.object(withIdentity: shelves[0]))
        try #require(try context.object(withIdentity: items[39])).setValue(shelf, forKey: "shelf")
      }
    }
    try world[0].save { context in
      for id in items.prefix(15) + shelves.prefix(1) {
        context.delete(try #require(try context.object(withIdentity: id)))
      }
    }
    try await world[0].push()
    for id in items[15..<28] { try world[0].delete(id) }
    try await world[0].push()
    let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
    #expect(error?.code == .massDelete)
    #expect(
      error?.message.contains("deletes 29 of ") == true
        && error?.message.contains("13 (13 Item) are set aside") == true
        && error?.message.contains("the 16 before, not too many yet, are applied already") == true,
      "\(error?.message ?? "")")
    #expect(try world[1].identities(of: "Item").filter { items[15..<28].contains($0) }.count == 13)
    _ = try await world[1].engine.sync(allowingMassDelete: true)
    try await world.settle()
    #expect(try world[1].identities(of: "Item").filter { items[15..<28].contains($0) } == [])
  }
}
