import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Sets that are changed while what was sent of them is not answered.
struct SentSetTests {
  private struct Crash: Error {}

  private func relate(_ replica: TestReplica, _ item: UUID, to labels: [UUID]) throws {
    try replica.save { context in
      let item = try #require(try context.object(withIdentity: item))
      let labels = try labels.map { try #require(try context.object(withIdentity: $0)) }
      try item.setValue(Set(labels), forKey: "labels")
    }
  }

  /// Sends what is pending, and does not hear the answer.
  private func push(_ replica: TestReplica, _ zone: MemoryZone) async throws {
    let hook = HookedTransport(zone)
    hook.afterPush = { throw Crash() }
    let engine = try await replica.engine(through: hook)
    await #expect(throws: Crash.self) { try await engine.push() }
    await engine.close()
    await replica.restart()
  }

  @Test(
    "What another replica takes out stays out, though the maker adds to the set before it hears of it"
  )
  func takenOut() async throws {
    let world = try await World(2)
    let labels = try (0..<3).map { try world[0].insert("Label", ["name": .string("\($0)")]) }
    try await world.settle()
    var item = UUID()
    try world[0].save { context in
      let object = try context.insert(entityNamed: "Item")
      let labels = try labels.prefix(2).map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(Set(labels), forKey: "labels")
      item = try object.identity
    }
    try await push(world[0], world.zone)
    try relate(world[0], item, to: labels)
    try await world[1].sync()
    try relate(world[1], item, to: [labels[1]])
    try await world[1].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.elements(item, "labels") == Set(labels.suffix(2)))
    }
  }

  @Test(
    "A count that was sent and not answered counts once in a zone that began anew, whatever sets changed since"
  )
  func counted() async throws {
    let world = try await World(2)
    let labels = try (0..<2).map { try world[0].insert("Label", ["name": .string("\($0)")]) }
    let item = try world[0].insert("Item", ["stock": .integer(10)])
    try await world.settle()
    try world[0].set(item, ["stock": .integer(15)])
    try await push(world[0], world.zone)
    try await world[1].sync()
    try relate(world[0], item, to: [labels[0]])
    try relate(world[0], item, to: labels)
    world.zone.renew()
    try await world[0].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(item, "stock") == .integer(15))
      #expect(try replica.elements(item, "labels") == Set(labels))
    }
  }
}
