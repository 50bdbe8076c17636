import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What ends a conflict that waits for a person: whatever way a person sets the property, and whenever.
struct DecidingHandTests {
  /// A conflict that waits at the second replica.
  private func world() async throws -> (
    world: World, waiting: TestReplica, way: HookedTransport, id: UUID, conflict: Int64
  ) {
    let world = try await World(1)
    let way = HookedTransport(world.zone)
    let waiting = try await TestReplica(
      "waiting", zone: world.zone, clock: world.clock, transport: way)
    let id = try world[0].insert("Item", ["held": .string("base"), "title": .string("t")])
    try await world[0].sync()
    try await waiting.sync()
    try world[0].set(id, ["held": .string("theirs")])
    try waiting.set(id, ["held": .string("mine")])
    try await world[0].sync()
    try await waiting.sync()
    let conflict = try #require(try waiting.conflicts.first(where: \.isWaiting)?.number)
    return (world, waiting, way, id, conflict)
  }

  private func expectDecided(_ conflict: Int64, _ value: String, _ replica: TestReplica) throws {
    let entry = try #require(try replica.conflicts.first { $0.number == conflict })
    #expect(!entry.isWaiting)
    #expect(entry.kept == "\"\(value)\"")
  }

  @Test("What is set while a push is under way ends it, though that push takes it along")
  func betweenSteps() async throws {
    let (world, waiting, way, id, conflict) = try await world()
    try waiting.set(id, ["title": .string("an edit to send")])
    let other = try #require(world.replicas.first)
    var isFirst = true
    way.rewritten = { frame in
      guard isFirst else { return frame }
      isFirst = false
      // Somebody saves, and the server finds the push to be stale: it is put together anew.
      try waiting.set(id, ["held": .string("by hand")])
      throw ProtocolError(.stale, "Somebody was faster.", suggestion: "Pull.")
    }
    try await waiting.sync()
    way.rewritten = nil
    try await waiting.sync()
    #expect(!isFirst)
    try await other.sync()
    #expect(try other.value(id, "held") == .string("by hand"))
    try expectDecided(conflict, "by hand", waiting)
  }

  @Test("What is set, and meets another edit before it is sent, ends the conflict of before")
  func metAnother() async throws {
    let (world, waiting, _, id, conflict) = try await world()
    try waiting.set(id, ["held": .string("by hand")])
    try world[0].set(id, ["held": .string("theirs again")])
    try await world[0].sync()
    try await waiting.sync()
    try expectDecided(conflict, "by hand", waiting)
    // The new one waits.
    let entries = try waiting.conflicts.filter(\.isWaiting)
    #expect(entries.map(\.local) == ["\"by hand\""])
  }

  enum Hand: CaseIterable { case child, batch, undo, rows }

  @Test("Each way to set a property is a decision", arguments: Hand.allCases)
  func hands(_ hand: Hand) async throws {
    let (world, waiting, _, id, conflict) = try await world()
    waiting.clock.advance()
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: waiting.store))
    var value = "by hand"
    switch hand {
    case .child:
      let child = ManagedObjectContext(parent: context)
      let object = try #require(try child.object(withIdentity: id))
      object["held"] = value
      try child.save()
      try context.save()
    case .batch:
      var request = BatchUpdateRequest(entityName: "Item")
      request.propertiesToUpdate = ["held": value]
      try context.execute(request)
    case .undo:
      // What was taken back is set as well: it is what a person wants.
      context.undoManager = UndoManager()
      let object = try #require(try context.object(withIdentity: id))
      object["held"] = "a slip"
      context.processPendingChanges()
      try context.save()
      context.undo()
      context.processPendingChanges()
      try context.save()
      value = "theirs"
    case .rows:
      try waiting.set(id, ["held": .string(value)])
    }
    try await waiting.sync()
    try expectDecided(conflict, value, waiting)
    try await world[0].sync()
    #expect(try world[0].value(id, "held") == .string(value))
  }

  @Test("What other replicas and imports of the zone say is no decision")
  func noHand() async throws {
    let (world, waiting, _, id, conflict) = try await world()
    try world[0].set(id, ["held": .string("later"), "title": .string("u")])
    try await world[0].sync()
    try waiting.set(id, ["title": .string("of another property")])
    for _ in 0..<2 { try await waiting.sync() }
    #expect(try waiting.conflicts.first { $0.number == conflict }?.isWaiting == true)
  }
}
