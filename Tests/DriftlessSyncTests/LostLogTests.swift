import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A server that was put back, and replicas that know different parts of what it lost.
struct LostLogTests {
  private func setLabels(
    _ item: UUID, _ labels: [UUID], stock: Int64? = nil, _ replica: TestReplica
  )
    throws
  {
    replica.clock.advance()
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: item))
      let members = try labels.map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(Set(members), forKey: "labels")
      if let stock { try object.setValue(stock, forKey: "stock") }
    }
  }

  private func labels(_ item: UUID, _ replica: TestReplica) throws -> Set<UUID> {
    try replica.store.read { transaction in
      guard let key = try transaction.key(of: item),
        let relationship = replica.store.schema.entity(numbered: key.entity)?
          .relationshipsByName["labels"]
      else { return [] }
      return Set(
        try transaction.toManyKeys(of: key, relationship).map { try transaction.identity(of: $0) })
    }
  }

  /// An item with a stock of 10 and two labels, a copy of the zone's log, and what came after it: a stock of 25, one label.
  private func scene(_ count: Int) async throws -> (
    world: World, item: UUID, labels: [UUID], copy: ZoneLog
  ) {
    let world = try await World(count)
    let marks = try (0..<2).map { try world[0].insert("Label", ["name": .string("\($0)")]) }
    let item = try world[0].insert("Item", ["title": .string("x"), "stock": .integer(10)])
    try setLabels(item, marks, world[0])
    try await world.syncAll()
    let copy = world.zone.log
    try setLabels(item, [marks[1]], stock: 25, world[0])
    try await world[0].sync()
    return (world, item, marks, copy)
  }

  /// A replica that took the zone's snapshot, and nothing of its log.
  private func newcomer(_ world: World) async throws -> TestReplica {
    let folded = try FoldedZone(world.zone)
    try folded.fold()
    let joined = try await TestReplica(
      "joined", zone: world.zone, clock: world.clock, transport: folded)
    try await joined.sync()
    #expect(folded.pulled == 0)
    return joined
  }

  @Test("Who joined by a snapshot gives a server that was put back its totals and sets again")
  func joined() async throws {
    var (world, item, marks, copy) = try await scene(1)
    let joined = try await newcomer(world)
    world.zone.putBack(copy)
    // Who wrote it is gone for good; a new one counts on what the server has.
    let third = try await TestReplica("third", zone: world.zone, clock: world.clock)
    try await third.sync()
    try third.set(item, ["stock": .integer(13)])
    try await third.sync()
    world.replicas = [joined, third]
    try await joined.sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(item, "stock") == .integer(28))
      #expect(try labels(item, replica) == [marks[1]])
    }
  }

  @Test("An earlier total that is read again is no later one, also where nobody wrote since")
  func joinedAlone() async throws {
    var (world, item, marks, copy) = try await scene(1)
    let joined = try await newcomer(world)
    world.zone.putBack(copy)
    try await joined.sync()
    world.replicas.append(joined)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(item, "stock") == .integer(25))
      #expect(try labels(item, replica) == [marks[1]])
    }
  }

  @Test(
    "A set that was changed by one who knew a change is that one's, whoever comes back first",
    arguments: [[0, 1], [1, 0]])
  func known(order: [Int]) async throws {
    let (world, item, marks, copy) = try await scene(2)
    try await world[1].sync()
    // Knows that the first one was taken out, and puts it in again.
    try setLabels(item, [marks[0]], world[1])
    try await world[1].sync()
    world.zone.putBack(copy)
    let third = try await TestReplica("third", zone: world.zone, clock: world.clock)
    try await third.sync()
    try third.insert("Item", ["title": .string("other")])
    try await third.sync()
    for index in order { try await world[index].sync() }
    var all = world
    all.replicas.append(third)
    try await all.settle()
    for replica in all.replicas { #expect(try labels(item, replica) == [marks[0]]) }
  }

  @Test("Of two totals without the entries between them the journal has both")
  func journaled() async throws {
    let (world, item, _, copy) = try await scene(1)
    let joined = try await newcomer(world)
    world.zone.putBack(copy)
    // Counted before the other heard of the log last, and sent after the server was put back.
    let third = try await TestReplica("third", zone: world.zone, clock: ManualClock())
    try await third.sync()
    try third.set(item, ["stock": .integer(13)])
    try await third.sync()
    try await joined.sync()
    #expect(try joined.conflicts.contains { $0.property == "stock" })
  }
}
