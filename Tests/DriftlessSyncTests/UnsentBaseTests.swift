import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A store that forgets its zone with edits that were not sent, or whose answer was lost, and is edited again before it has
/// read the zone: what it showed in between was never the zone's.
@Suite("Edits before and after a store forgets its zone")
struct UnsentBaseTests {
  struct Case: CustomTestStringConvertible {
    var isAnew: Bool
    /// Whether a push of the first edit reached the zone.
    var isSent: Bool
    /// Whether the second edit comes while the store is in no zone.
    var isBetween = false
    var testDescription: String {
      "\(isAnew ? "anew" : "unenrolled"), \(isSent ? "sent" : "unsent")"
        + (isBetween ? ", edited between" : "")
    }
    static let all = [
      Case(isAnew: true, isSent: false), Case(isAnew: true, isSent: true),
      Case(isAnew: false, isSent: false), Case(isAnew: false, isSent: true),
      Case(isAnew: false, isSent: false, isBetween: true),
    ]
  }

  /// Two edits of an object, between which the store forgets its zone.
  private func edit(
    _ world: World, _ item: Case, _ first: () throws -> Void, _ second: () throws -> Void,
    then third: () throws -> Void = {}
  ) async throws {
    let replica = world[0]
    try first()
    if item.isSent {
      let engine = try await replica.engine(
        through: CutTransport(world.zone, after: 1, isAfter: true))
      await #expect(throws: (any Error).self) { try await engine.push() }
      await engine.close()
    }
    await replica.engine.close()
    if !item.isAnew { try SyncEngine.unenroll(store: replica.store, leavingUnsent: true) }
    if item.isBetween { try second() }
    try SyncEngine.enroll(
      store: replica.store, server: MemoryZone.url, zone: world.zone.name,
      info: try await world.zone.zoneInfo(), anew: item.isAnew)
    if !item.isBetween { try second() }
    try third()
    #expect(try SyncEngine.check(replica.store).findings == [])
    await replica.restart()
    try await world.settle()
  }

  private func set(_ replica: TestReplica, _ item: UUID, labels: [UUID]) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: item))
      try object.setValue(
        try labels.map { try #require(try context.object(withIdentity: $0)) }, forKey: "labels")
    }
  }

  @Test("Elements stay, and one that was taken out stays out", arguments: Case.all, [false, true])
  func elements(item: Case, isOwn: Bool) async throws {
    let world = try await World(2)
    let labels = try (0..<4).map { try world[1].insert("Label", ["name": .string("\($0)")]) }
    let id = try world[isOwn ? 0 : 1].insert("Item", ["title": .string("item")])
    try set(world[isOwn ? 0 : 1], id, labels: isOwn ? [] : [labels[3]])
    try await world.settle()
    try await edit(
      world, item, { try set(world[0], id, labels: [labels[0], labels[1], labels[3]]) },
      { try set(world[0], id, labels: [labels[0], labels[2], labels[1]]) },
      then: { try set(world[0], id, labels: [labels[0], labels[2]]) })
    for replica in world.replicas {
      #expect(try replica.elements(id, "labels") == [labels[0], labels[2]], "\(replica.name)")
    }
  }

  @Test("A text and a list keep what was added first", arguments: Case.all, [false, true])
  func values(item: Case, isOwn: Bool) async throws {
    let world = try await World(2)
    let id = try world[isOwn ? 0 : 1].insert(
      "Item", ["text": .string("one"), "words": .string("[\"a\"]"), "stock": .integer(10)])
    try await world.settle()
    try await edit(
      world, item,
      {
        try world[0].set(
          id,
          [
            "text": .string("one two"), "words": .string("[\"a\",\"b\"]"), "stock": .integer(13),
          ])
      },
      {
        try world[0].set(
          id,
          [
            "text": .string("one two three"), "words": .string("[\"a\",\"b\",\"c\"]"),
            "stock": .integer(15),
          ])
      })
    for replica in world.replicas {
      #expect(try replica.value(id, "text") == .string("one two three"), "\(replica.name)")
      #expect(try replica.value(id, "words") == .string("[\"a\",\"b\",\"c\"]"), "\(replica.name)")
      #expect(try replica.value(id, "stock") == .integer(15), "\(replica.name)")
    }
  }
}
