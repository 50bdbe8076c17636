import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A zone that an operator replaced on purpose: what replicas hold of before stays with them, in a file and in the journal,
/// and never comes back by itself.
struct ReplacedZoneTests {
  /// Two replicas that share an object; then the zone is replaced, and the first one begins it anew.
  private func world() async throws -> (world: World, old: UUID) {
    let world = try await World(2)
    let old = try world[0].insert("Item", ["title": .string("old"), "stock": .integer(1)])
    try await world.settle()
    return (world, old)
  }

  /// The second replica sleeps through a replacement and a renewal, and takes what the first one made in between.
  private func bringsNothingBack(_ world: World, _ old: UUID) async throws -> UUID {
    world.zone.renew(intent: .replace)
    try await world[0].sync()
    let new = try world[0].insert("Item", ["title": .string("new")])
    try await world[0].sync()
    world.zone.renew(intent: .offer)
    try await world[0].sync()
    #expect(try await world[1].sync().reconciliations.map(\.kind) == [.taken])
    try await world.settle()
    for replica in world.replicas { #expect(try replica.identities(of: "Item") == [new]) }
    #expect(try !world[0].exists(old))
    return new
  }

  @Test("S2 A replica that slept through a replacement and a renewal after it brings nothing back")
  func sleptThrough() async throws {
    let (world, old) = try await world()
    let new = try await bringsNothingBack(world, old)
    // From now on it knows: what it holds is wanted again.
    world.clock.advance(milliseconds: 90_000_000)
    world.zone.renew(intent: .offer)
    #expect(try await world[1].sync().reconciliations.map(\.kind) == [.offered])
    try await world.settle()
    #expect(try world[0].identities(of: "Item") == [new])
  }

  @Test(
    "S2 A store of a program that kept no replacements learns them at its next sync, and brings nothing back after it"
  )
  func enrolledByProgramOfBefore() async throws {
    let (world, old) = try await world()
    try world[1].write { try $0.setSetting("sync.replacements", nil) }
    try await world[1].sync()
    _ = try await bringsNothingBack(world, old)
  }

  @Test("A store that cannot take the zone's state leaves no export behind, and one when it can")
  func failedTaking() async throws {
    let (world, _) = try await world()
    try world[1].write {
      try $0.connection.execute(
        "CREATE TRIGGER full BEFORE DELETE ON ZITEM BEGIN SELECT RAISE(ABORT, 'no room'); END")
    }
    world.zone.renew(intent: .replace)
    for _ in 0..<3 {
      world.clock.advance(milliseconds: 2000)
      await #expect(throws: (any Error).self) { try await world[1].sync() }
      #expect(try exports(of: world[1]).isEmpty)
    }
    try world[1].write { try $0.connection.execute("DROP TRIGGER full") }
    let done = try #require(try await world[1].sync().reconciliations.first)
    let named = URL(fileURLWithPath: try #require(done.export)).lastPathComponent
    #expect(try exports(of: world[1]) == [named])
  }

  private func exports(of replica: TestReplica) throws -> [String] {
    let folder = try #require(replica.store.url).deletingLastPathComponent()
    return try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.contains(".before-") }
  }

  @Test("S2 A server put back to before a replacement is offered what came after it")
  func putBackBefore() async throws {
    let (world, _) = try await world()
    let backup = world.zone.log
    world.zone.renew(intent: .replace)
    for replica in world.replicas { try await replica.sync() }
    let new = try world[0].insert("Item", ["title": .string("new")])
    try await world.settle()
    world.zone.putBack(backup)
    world.zone.renew(intent: .offer)
    #expect(try await world[0].sync().reconciliations.map(\.kind) == [.offered])
    try await world.settle()
    for replica in world.replicas { #expect(try replica.exists(new)) }
  }

  @Test("S2 To enroll again, for a new token, brings nothing back into a zone that was replaced")
  func enrolledAgain() async throws {
    let (world, old) = try await world()
    world.zone.renew(intent: .replace)
    let fresh = try await TestReplica("fresh", zone: world.zone, clock: world.clock)
    let only = try fresh.insert("Item", ["title": .string("the only one")])
    try await fresh.sync()
    await world[1].engine.close()
    try SyncEngine.enroll(
      store: world[1].store, server: MemoryZone.url, zone: world.zone.name,
      info: try await world.zone.zoneInfo())
    // Nothing is pending, and no entry of the zone is known that is not here.
    #expect(try world[1].status.zoneWasReplaced && !world[1].status.isCurrent)
    await world[1].restart()
    let done = try #require(try await world[1].sync().reconciliations.first)
    #expect(done.kind == .taken)
    #expect(try !world[1].status.zoneWasReplaced && world[1].status.isCurrent)
    #expect(try String(contentsOfFile: #require(done.export), encoding: .utf8).contains("\"old\""))
    try await fresh.sync()
    #expect(try fresh.identities(of: "Item") == [only])
    #expect(try !world[1].exists(old))
  }

  @Test(
    "S2 What was pending in a store that takes the zone's state is in the journal, and comes back by it"
  )
  func journaled() async throws {
    let (world, old) = try await world()
    try world[1].set(old, ["stock": .integer(7)])
    let new = try world[1].insert("Item", ["title": .string("made offline"), "stock": .integer(3)])
    world.zone.renew(intent: .replace)
    try await world[1].sync()
    let entries = try SyncEngine.conflicts(of: world[1].store)
    let edit = try #require(entries.first { $0.object == old && $0.property == "stock" })
    #expect(edit.local == "7")
    #expect(edit.outcome == .remote)
    let insert = try #require(entries.first { $0.object == new })
    #expect(insert.explanation.contains(".before-"))
    #expect(entries.count == 2)
    try SyncEngine.undo(conflict: insert.number, of: world[1].store)
    try SyncEngine.undo(conflict: edit.number, of: world[1].store)
    try await world.settle()
    #expect(try world[0].value(new, "title") == .string("made offline"))
    #expect(try world[0].value(old, "stock") == .integer(7))
    #expect(try world[0].value(old, "title") == .string("old"))
  }

  @Test("S2 What waits since the server refuses it is in the journal, also when others were sent")
  func journaledFromQuarantine() async throws {
    var (world, old) = try await world()
    let picky = PickyTransport(world.zone, .init(word: "poison"))
    let replica = try await TestReplica(
      "picky", zone: world.zone, clock: world.clock, transport: picky)
    world.replicas.append(replica)
    try await replica.sync()
    let other = try replica.insert("Item", ["title": .string("other")])
    try await replica.sync()
    // An edit that is refused, one that refers to what is refused, and one that is sent.
    try replica.set(old, ["title": .string("poison")])
    let shelf = try replica.insert("Shelf", ["name": .string("poison")])
    try replica.save { context in
      try #require(try context.object(withIdentity: other)).setValue(
        try context.object(withIdentity: shelf), forKey: "shelf")
    }
    try replica.insert("Item", ["title": .string("sent")])
    try await replica.sync()
    #expect(try replica.status.quarantined == 2)
    world.zone.renew(intent: .replace)
    try await replica.sync()
    let entries = try replica.conflicts
    let edit = try #require(entries.first { $0.object == old && $0.property == "title" })
    #expect(edit.local == "\"poison\"")
    #expect(entries.contains { $0.object == shelf && $0.property == nil })
    #expect(entries.contains { $0.object == other && $0.property == "shelf" })
    #expect(entries.count == 3)
  }

  @Test("S2 What was only offered is not told as an edit that the zone never had")
  func offeredAlone() async throws {
    let (world, old) = try await world()
    try world[1].set(old, ["stock": .integer(5)])
    try await world[1].sync()
    world.clock.advance(milliseconds: 90_000_000)
    world.zone.renew(intent: .offer)
    try await world[1].pull()
    try world[1].set(old, ["note": .string("edited since")])
    #expect(try world[1].status.pending.objects > 0)
    world.zone.renew(intent: .replace)
    try await world[1].sync()
    #expect(try world[1].conflicts.map(\.property) == ["note"])
  }

  @Test("S2 A set that was edited alone comes back by the journal, with its object")
  func journaledSet() async throws {
    let (world, old) = try await world()
    let label = try world[1].insert("Label", ["name": .string("label")])
    try world[1].save { context in
      try #require(try context.object(withIdentity: old)).setValue(
        [try #require(try context.object(withIdentity: label))], forKey: "labels")
    }
    world.zone.renew(intent: .replace)
    try await world[1].sync()
    let entries = try world[1].conflicts
    let insert = try #require(entries.first { $0.object == label })
    let edit = try #require(entries.first { $0.object == old })
    #expect(edit.property == "labels")
    try SyncEngine.undo(conflict: insert.number, of: world[1].store)
    try SyncEngine.undo(conflict: edit.number, of: world[1].store)
    try await world.settle()
    #expect(try world[0].value(old, "title") == .string("old"))
    #expect(try world[0].labels(of: old) == [label])
  }
}
