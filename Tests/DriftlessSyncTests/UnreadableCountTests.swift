import Driftless
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// What is added to a value that cannot be read would go over the zone's: it is refused.
struct UnreadableCountTests {
  private func world() async throws -> (world: World, item: UUID) {
    let world = try await World(2)
    let item = try world[0].insert(
      "Item", ["stock": .integer(40), "title": .string("a"), "words": .string("x")])
    try await world.settle()
    return (world, item)
  }

  /// As another program would write it.
  private func spoil(_ replica: TestReplica, _ change: String) throws {
    let raw = try SQLiteConnection(path: #require(replica.store.url).path, mode: .readWrite)
    defer { raw.close() }
    try raw.execute("UPDATE ZITEM SET \(change)")
  }

  @Test(
    "An edit by counter or union of a column that cannot be read is refused, and the zone's value stays",
    arguments: [
      ("ZSTOCK = 'abc'", "stock", PropertyValue.integer(1), PropertyValue.integer(40)),
      ("ZSTOCK = x'ff00'", "stock", .integer(1), .integer(40)),
      ("ZWORDS = x'ff00'", "words", .string("y"), .string("x")),
    ])
  func refused(
    damage: String, property: String, value: PropertyValue, held: PropertyValue
  ) async throws {
    let (world, item) = try await world()
    try spoil(world[0], damage)
    let refusal = #expect(throws: StoreError.self) { try world[0].set(item, [property: value]) }
    #expect(refusal?.code == .valueNotHeld)
    #expect(refusal?.message.contains("Item.\(property)") == true, "\(refusal?.message ?? "")")
    #expect(refusal?.suggestion.contains("verify --repair") == true)
    // The others go on.
    try world[0].set(item, ["title": .string("b")])
    try await world.syncAll()
    #expect(try world[1].value(item, property) == held)
    #expect(try world[1].value(item, "title") == .string("b"))
    _ = try await world[0].engine.repair()
    #expect(try world[0].value(item, property) == held)
    try await world.settle()
  }

  @Test("Null, and then a value, sets it anew; an object that the zone has not is set at once")
  func anew() async throws {
    let (world, item) = try await world()
    try spoil(world[0], "ZSTOCK = 'abc'")
    try world[0].set(item, ["stock": .null])
    try world[0].set(item, ["stock": .integer(5)])
    try await world.settle()
    #expect(try world[1].value(item, "stock") == .integer(5))
    let fresh = try world[0].insert("Item", ["stock": .integer(3)])
    let key = try world[0].store.read { try $0.key(of: fresh) }
    try spoil(world[0], "ZSTOCK = 'abc' WHERE Z_PK = \(try #require(key).key)")
    try world[0].set(fresh, ["stock": .integer(4)])
    try await world.settle()
    #expect(try world[1].value(fresh, "stock") == .integer(4))
  }
}
