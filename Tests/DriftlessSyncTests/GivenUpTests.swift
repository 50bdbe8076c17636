import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What waits to be sent and nobody wants any more: it is given up for the zone's state, and kept aside.
@Suite struct GivenUpTests {
  private func item(_ title: String) -> [String: PropertyValue] { ["title": .string(title)] }

  @Test(
    "An insert, an edit and a delete that were not sent are given up, kept, and can be put back")
  func givenUp() async throws {
    let world = try await World(2)
    let edited = try world[0].insert("Item", item("the zone's"))
    let deleted = try world[0].insert("Item", item("deleted here"))
    try await world.syncAll()
    let made = try world[1].insert("Item", item("made here"))
    try world[1].set(edited, item("edited here"))
    try world[1].delete(deleted)
    let report = try await world[1].engine.giveUpUnsent()
    let done = try #require(report.reconciliations.first)
    #expect(report.reconciliations.count == 1 && done.kind == .taken && done.cause == .asked)
    let kept = try String(contentsOfFile: try #require(done.export), encoding: .utf8)
    #expect(kept.contains("made here") && kept.contains("edited here"))
    #expect(try world[1].status.pending.objects == 0)
    #expect(try world[1].export == world[0].export)
    let told = try world[1].conflicts
    #expect(Set(told.map(\.object)) == [edited, deleted, made])
    let entry = try #require(
      try world[1].conflicts.first { $0.object == edited })
    try SyncEngine.undo(conflict: entry.number, of: world[1].store)
    try await world.settle()
    #expect(try world[0].value(edited, "title") == .string("edited here"))
    #expect(try !world[0].exists(made))
    #expect(try world[0].exists(deleted))
  }

  @Test("A count that was given up is added by who puts it back, beside what others count")
  func counted() async throws {
    let world = try await World(2)
    let item = try world[0].insert("Item", ["title": .string("a"), "stock": .integer(10)])
    try await world.syncAll()
    try world[1].set(item, ["stock": .integer(7)])
    try world[0].set(item, ["stock": .integer(9)])
    try await world[0].sync()
    _ = try await world[1].engine.giveUpUnsent()
    #expect(try world[1].value(item, "stock") == .integer(9))
    let entry = try #require(world[1].conflicts.first)
    #expect(entry.local == "7" && entry.base == "10")
    try SyncEngine.undo(conflict: entry.number, of: world[1].store)
    try await world.settle()
    for replica in 0...1 { #expect(try world[replica].value(item, "stock") == .integer(6)) }
  }

  @Test("A push that no answer came to, and that arrives after it was given up, is the zone's")
  func unanswered() async throws {
    let world = try await World(1)
    let zone = world.zone
    let transport = HookedTransport(zone)
    let replica = try await TestReplica(
      "other", zone: zone, clock: world.clock, transport: transport)
    let made = try replica.insert("Item", item("on its way"))
    var frames: [Data] = []
    transport.rewritten = { frame in
      frames.append(frame)
      throw URLError(.timedOut)
    }
    await #expect(throws: (any Error).self) { try await replica.sync() }
    _ = try await replica.engine.giveUpUnsent()
    #expect(try !replica.exists(made))
    transport.rewritten = nil
    _ = try await zone.push(try #require(frames.first))
    try await replica.sync()
    #expect(try replica.exists(made))
    try await world[0].sync()
    #expect(try replica.export == world[0].export)
    let later = try replica.insert("Item", item("after it"))
    try await replica.sync()
    try await world[0].sync()
    #expect(try world[0].exists(later))
  }

  @Test("Without a server nothing is given up; cut after it, the next sync goes on")
  func cut() async throws {
    let world = try await World(1)
    try world[0].insert("Item", item("the zone's"))
    try await world[0].sync()
    let transport = HookedTransport(world.zone)
    let replica = try await TestReplica(
      "other", zone: world.zone, clock: world.clock, transport: transport)
    try await replica.sync()
    try replica.insert("Item", item("not sent"))
    let before = try replica.export
    transport.beforeZoneInfo = { throw URLError(.cannotConnectToHost) }
    await #expect(throws: (any Error).self) { try await replica.engine.giveUpUnsent() }
    transport.beforeZoneInfo = nil
    #expect(try replica.export == before)
    #expect(try replica.status.pending.objects == 1)
    #expect(try replica.status.reconciled == nil)
    transport.beforePull = { throw URLError(.networkConnectionLost) }
    await #expect(throws: (any Error).self) { try await replica.engine.giveUpUnsent() }
    #expect(try replica.status.reconciled?.cause == .asked)
    transport.beforePull = nil
    try await replica.sync()
    #expect(try replica.export == world[0].export)
  }

  @Test("After a mass delete that was given up nothing waits for a word about it")
  func massDelete() async throws {
    var options = SyncOptions()
    options.massDelete.floor = 8
    let world = try await World(2, options: options)
    let items = try (0..<40).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    try await world.settle()
    for id in items.prefix(30) { try world[0].delete(id) }
    let error = await #expect(throws: SyncError.self) { try await world[0].sync() }
    #expect(error?.code == .massDelete)
    _ = try await world[0].engine.giveUpUnsent()
    #expect(try world[0].status.lastError == nil && world[0].status.failure == nil)
    #expect(try world[0].identities(of: "Item").count == 40)
    try await world.settle()
  }

  @Test("A manual property that a person gave up waits for nobody, and can be put back")
  func manual() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["held": .string("a")])
    try await world.settle()
    try world[1].set(id, ["held": .string("b")])
    _ = try await world[1].engine.giveUpUnsent()
    #expect(try world[1].status.waiting == 0)
    let entry = try #require(try world[1].conflicts.first)
    #expect(!entry.isWaiting && entry.property == "held")
    try SyncEngine.undo(conflict: entry.number, of: world[1].store)
    try await world.settle()
    #expect(try world[0].value(id, "held") == .string("b"))
  }

  @Test("A delete that was given up says that it was one, and is put back as a delete, once")
  func deleteAgain() async throws {
    let world = try await World(2)
    let shelf = try world[0].insert("Shelf", ["name": .string("s")])
    try await world.settle()
    try world[1].delete(shelf)
    _ = try await world[1].engine.giveUpUnsent()
    #expect(try world[1].exists(shelf))
    let entry = try #require(try world[1].conflicts.first { $0.object == shelf })
    #expect(entry.explanation.hasPrefix("It was deleted here."), "\(entry.explanation)")
    let undone = try SyncEngine.undo(
      conflict: entry.number, of: world[1].store, author: "person")
    #expect(undone.decision == .local)
    #expect(try !world[1].exists(shelf))
    #expect(try world[1].status.pending.objects == 1)
    #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: entry.number, of: world[1].store)
    }
    try await world.settle()
    #expect(try !world[0].exists(shelf))
  }
}
