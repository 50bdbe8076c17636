import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// A store leaves its zone.
struct UnenrollTests {
  @Test("It keeps its objects, its history and its journal, and nothing of its zone")
  func leaves() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a"), "stock": .integer(1)])
    try await world.settle()
    try world[1].set(id, ["title": .string("theirs")])
    try world[0].set(id, ["title": .string("mine")])
    try await world.settle()
    let before = try world[0].export
    let journal = try world[0].conflicts.count + world[1].conflicts.count
    #expect(journal > 0)
    await world[0].engine.close()
    let store = world[0].store
    try SyncEngine.unenroll(store: store)
    #expect(try world[0].export == before)
    #expect(try world[0].conflicts.count + world[1].conflicts.count == journal)
    #expect(try !world[0].status.isEnrolled)
    #expect(try store.historyReaders().isEmpty, "the history may be purged")
    #expect(try SyncEngine.check(store).findings.isEmpty)
    for table in ["REPLICA", "OUTBOX", "OMITTED", "PENDING", "CHAIN", "FRAME", "BASE", "GRAVE"] {
      let rows = try store.read { try $0.connection.scalar("SELECT COUNT(*) FROM ZDL_\(table)") }
      #expect(rows == .integer(0), "ZDL_\(table)")
    }
    // What is deleted in a store that does not sync keeps no row.
    try world[0].delete(id)
    let graves = try store.read { try $0.connection.scalar("SELECT COUNT(*) FROM ZDL_GRAVE") }
    #expect(graves == .integer(0))
    #expect(throws: SyncError.self) { try SyncEngine.unenroll(store: store) }
  }

  @Test("Edits that were not sent keep it there, unless they are meant to be left")
  func unsent() async throws {
    let world = try await World(2)
    let ids = try (0..<3).map { try world[0].insert("Item", ["title": .string("\($0)")]) }
    try await world.settle()
    try world[0].set(ids[0], ["title": .string("unsent")])
    try world[0].delete(ids[1])
    await world[0].engine.close()
    let store = world[0].store
    let error = #expect(throws: SyncError.self) { try SyncEngine.unenroll(store: store) }
    #expect(error?.code == .unsentEdits)
    #expect(error?.message.contains("2 objects") == true)
    #expect(try world[0].status.pending.objects == 2)
    try SyncEngine.unenroll(store: store, leavingUnsent: true)
    #expect(try world[0].value(ids[0], "title") == .string("unsent"))
    // Edited there meanwhile.
    try world[1].set(ids[2], ["title": .string("theirs")])
    try await world[1].sync()
    try await world[0].enroll()
    await world[0].restart()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(ids[0], "title") == .string("unsent"))
      #expect(try !replica.exists(ids[1]))
      #expect(try replica.value(ids[2], "title") == .string("theirs"))
    }
  }

  @Test(
    "What the server refuses for good, and deletes that wait, are named in place of another sync")
  func unsentForGood() async throws {
    var world = try await World(1)
    let picky = PickyTransport(world.zone, .init(bytesMax: 4_000))
    let replica = try await TestReplica(
      "picky", zone: world.zone, clock: world.clock, transport: picky)
    world.replicas.append(replica)
    var numbers = SeededNumbers(seed: 7)
    let noise = String(
      (0..<9_000).map { _ in Character(UnicodeScalar(UInt8.random(in: 33...126, using: &numbers))) }
    )
    let id = try replica.insert("Item", ["title": .string(noise)])
    try await replica.sync()
    #expect(try replica.status.quarantined == 1)
    await replica.engine.close()
    let large = #expect(throws: SyncError.self) { try SyncEngine.unenroll(store: replica.store) }
    #expect(large?.suggestion.contains("syncctl quarantine list") == true, "\(large as Any)")
    #expect(large?.suggestion.contains("syncctl sync") == false, "\(large as Any)")
    #expect(large?.suggestion.contains("--leave-unsent") == true, "\(large as Any)")
    try replica.delete(id)
    let ids = try (0..<60).map { try replica.insert("Item", ["title": .string("\($0)")]) }
    try await replica.sync()
    for id in ids { try replica.delete(id) }
    _ = try? await replica.sync()
    await replica.engine.close()
    let many = #expect(throws: SyncError.self) { try SyncEngine.unenroll(store: replica.store) }
    #expect(many?.suggestion.contains("--allow-mass-delete") == true, "\(many as Any)")
    #expect(many?.suggestion.contains("--leave-unsent") == true, "\(many as Any)")
  }

  @Test("It goes to another zone with all that it holds, and counts once there")
  func anotherZone() async throws {
    let world = try await World(1)
    let id = try world[0].insert("Item", ["title": .string("a"), "stock": .integer(5)])
    try await world.settle()
    try world[0].set(id, ["stock": .integer(7)])
    try await world.settle()
    await world[0].engine.close()
    try SyncEngine.unenroll(store: world[0].store)
    let other = try await World(1)
    let file = try #require(world[0].store.url)
    let moved = try await TestReplica("moved", zone: other.zone, clock: other.clock, file: file)
    try await moved.sync()
    try await other[0].sync()
    try await moved.sync()
    #expect(try other[0].value(id, "stock") == .integer(7))
    #expect(try other[0].export == moved.export)
    #expect(try moved.status.pending.objects == 0)
    #expect(try SyncEngine.check(moved.store).findings.isEmpty)
  }

  /// How a store leaves its zone, or forgets what it knew of it.
  enum Way: CaseIterable { case unenrolled, rekeyed, anew }

  private func leave(_ replica: TestReplica, _ way: Way) async throws {
    await replica.engine.close()
    switch way {
    case .unenrolled: try SyncEngine.unenroll(store: replica.store)
    case .rekeyed: _ = try SyncEngine.rekey(store: replica.store)
    case .anew:
      try SyncEngine.enroll(
        store: replica.store, server: MemoryZone.url, zone: replica.zone.name,
        info: try await replica.zone.zoneInfo(), anew: true)
    }
  }

  private func sizes(_ type: AttributeType) -> ManagedObjectModel {
    let thing = EntityDescription("Thing")
    thing.properties = [AttributeDescription("size", type), AttributeDescription("note", .string)]
    return ManagedObjectModel(entities: [thing])
  }

  @Test("What stands in for a value of its zone goes on doing so", arguments: Way.allCases)
  func parkedValue(_ way: Way) async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let directory = try TemporaryDirectory()
    let wide = try await TestReplica(
      "wide", zone: zone, clock: clock, model: sizes(.integer64))
    let narrow = try await TestReplica(
      "narrow", zone: zone, clock: clock, model: sizes(.integer16),
      file: directory.file("narrow.sqlite"))
    let id = try wide.insert("Thing", ["size": .integer(100_000)])
    try await wide.sync()
    try await narrow.sync()
    try await leave(narrow, way)
    narrow.store.close()
    // Of the zone that it comes to nobody else knows the value.
    let other = way == .anew ? zone : MemoryZone(clock: clock)
    if way == .anew { zone.renew(intent: .offer) }
    let moved = try await TestReplica(
      "moved", zone: other, clock: clock, model: sizes(.integer16), enrolled: way != .anew,
      file: directory.file("narrow.sqlite"))
    #expect(try SyncEngine.parked(of: moved.store).map(\.property) == ["size"])
    try moved.set(id, ["note": .string("moved")])
    try await moved.sync()
    let another = try await TestReplica(
      "another", zone: other, clock: clock, model: sizes(.integer64))
    try await another.sync()
    #expect(try another.value(id, "size") == .integer(100_000))
    #expect(try another.value(id, "note") == .string("moved"))
    #expect(try SyncEngine.check(moved.store).findings.isEmpty)
  }

  @Test("While an engine works on it, it stays")
  func locked() async throws {
    let world = try await World(1)
    try world[0].insert("Item", ["title": .string("a")])
    try await world.settle()
    let error = #expect(throws: StoreError.self) {
      try SyncEngine.unenroll(store: world[0].store)
    }
    #expect(error?.code == .syncLocked)
    #expect(try world[0].status.isEnrolled)
  }
}

/// A store that went to another zone under its zone's name, and comes back to the first.
struct TwoZonesTests {
  /// Both stores go to another zone under their zone's name, one after the other, and are in step there.
  private func move(_ world: World, first: Int) async throws -> [TestReplica] {
    let other = MemoryZone(name: world.zone.name, clock: world.clock)
    var moved: [TestReplica] = []
    for number in [first, 1 - first] {
      await world[number].engine.close()
      let replica = try await TestReplica(
        "r\(number)", zone: other, clock: world.clock, file: world[number].store.url)
      try await replica.sync()
      moved.append(replica)
    }
    for _ in 0..<2 { for replica in moved { try await replica.sync() } }
    return moved
  }

  @Test("What one of the two zones does not take over is in the journal: a count, and a delete")
  func thereAndBack() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("old"), "stock": .integer(1)])
    let gone = try world[0].insert("Item", ["title": .string("gone")])
    try await world.settle()
    let other = MemoryZone(name: world.zone.name, clock: world.clock)
    try world[0].set(id, ["title": .string("new"), "stock": .integer(7)])
    try world[0].delete(gone)
    let store = world[0].store
    await world[0].engine.close()
    try SyncEngine.enroll(
      store: store, server: MemoryZone.url, zone: other.name, info: try await other.zoneInfo())
    let engine = SyncEngine(store: store, transport: other)
    _ = try await engine.sync()
    await engine.close()
    try await world[0].enroll()
    await world[0].restart()
    try await world.settle()
    #expect(try world[1].value(id, "title") == .string("new"))
    let told = try world.replicas.flatMap { try $0.conflicts }
    // The first zone's total stands, and its object is there again: both are told.
    #expect(try world[0].value(id, "stock") == .integer(1))
    #expect(told.contains { $0.object == id && $0.property == "stock" && $0.local == "7" })
    #expect(try world[0].exists(gone))
    #expect(told.contains { $0.object == gone && $0.property == nil })
  }

  @Test(
    "What was deleted from a zone that is no more is not deleted from the one that came after it",
    arguments: [0, 1])
  func deletedBefore(first: Int) async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a")])
    try await world.settle()
    try world[0].delete(id)
    let moved = try await move(world, first: first)
    for replica in moved {
      #expect(try replica.exists(id), "\(replica.name)")
      #expect(try replica.status.pending.objects == 0)
      #expect(try SyncEngine.check(replica.store).findings == [])
    }
    let told = try moved.flatMap { try $0.conflicts }
    #expect(told.contains { $0.object == id && $0.property == nil })
  }

  @Test(
    "What was deleted, and a zone was told that is no more, is told when another replica brings it back",
    arguments: [0, 1])
  func deletedAndTold(first: Int) async throws {
    let world = try await World(2)
    let ids = try ["a", "b"].map { try world[0].insert("Item", ["title": .string($0)]) }
    let kept = try world[0].insert("Item", ["title": .string("deleted there as well")])
    try await world.settle()
    for id in ids + [kept] { try world[0].delete(id) }
    try await world[0].sync()
    try world[1].delete(kept)
    try world[1].set(ids[1], ["title": .string("later")])
    let moved = try await move(world, first: first)
    for replica in moved {
      #expect(try ids.allSatisfy { try replica.exists($0) }, "\(replica.name)")
      #expect(try !replica.exists(kept))
      #expect(try SyncEngine.check(replica.store).findings == [])
    }
    let deleter = try #require(moved.first { $0.name == "r0" })
    #expect(try Set(deleter.conflicts.map(\.object)) == Set(ids))
    #expect(try deleter.conflicts.allSatisfy { $0.property == nil })
    // Once.
    try await deleter.sync()
    #expect(try deleter.conflicts.count == 2)
  }

  /// When something is deleted in a store that is in no zone in between.
  enum Moment: CaseIterable { case told, unsent, between }

  /// One store leaves its zone, and both are enrolled with another one.
  @Test(
    "What a store deleted before it came to another zone is not deleted there, and in the journal",
    arguments: Moment.allCases, [false, true])
  func unenrolledBetween(moment: Moment, isOwn: Bool) async throws {
    let world = try await World(2)
    let id = try world[isOwn ? 0 : 1].insert("Item", ["title": .string("a")])
    try await world.settle()
    if moment != .between { try world[0].delete(id) }
    if moment == .told { try await world[0].sync() }
    await world[0].engine.close()
    try SyncEngine.unenroll(store: world[0].store, leavingUnsent: true)
    if moment == .between { try world[0].delete(id) }
    let moved = try await move(world, first: 0)
    for replica in moved {
      #expect(try replica.exists(id), "\(replica.name)")
      #expect(try replica.status.pending.objects == 0)
      #expect(try SyncEngine.check(replica.store).findings == [])
    }
    let told = try #require(moved.first).conflicts
    #expect(told.map(\.object) == [id])
    #expect(told.allSatisfy { $0.property == nil })
  }

  @Test(
    "A store that left the second of two zones and comes back to it deletes nothing there that it deleted in the first",
    arguments: [false, true])
  func unenrolledFromTheSecond(isOwn: Bool) async throws {
    let world = try await World(2)
    let id = try world[isOwn ? 0 : 1].insert("Item", ["title": .string("a")])
    try await world.settle()
    try world[0].delete(id)
    try await world[0].sync()
    // The other store has not heard of it, and brings the object to the second zone.
    let moved = try await move(world, first: 0)
    let store = moved[0].store
    #expect(try moved[0].exists(id))
    try moved[1].delete(id)
    for _ in 0..<2 { for replica in moved { try await replica.sync() } }
    _ = try moved[1].insertOrRemake("Item", ["title": .string("again")], identity: id)
    try await moved[1].sync()
    await moved[0].engine.close()
    try SyncEngine.unenroll(store: store)
    try await moved[0].enroll()
    await moved[0].restart()
    for _ in 0..<2 { for replica in moved { try await replica.sync() } }
    for replica in moved {
      #expect(try replica.value(id, "title") == .string("again"), "\(replica.name)")
      #expect(try SyncEngine.check(replica.store).findings == [])
    }
  }

  @Test(
    "A delete of what was sent, and not answered when the store went elsewhere, is in the journal")
  func deletedUnanswered() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let network = HookedTransport(zone)
    let replica = try await TestReplica("r", zone: zone, clock: clock, transport: network)
    network.afterPush = { throw ProtocolError(.busy, "The answer was lost", suggestion: "") }
    let id = try replica.insert("Item", ["title": .string("a")])
    await #expect(throws: (any Error).self) { try await replica.sync() }
    #expect(zone.head == 1)
    try replica.delete(id)
    let other = MemoryZone(name: zone.name, clock: clock)
    await replica.engine.close()
    try SyncEngine.enroll(
      store: replica.store, server: MemoryZone.url, zone: zone.name,
      info: try await other.zoneInfo())
    try await replica.enroll()
    await replica.restart()
    try await replica.sync()
    #expect(try replica.conflicts.contains { $0.object == id && $0.property == nil })
  }
}
