import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A server whose log is not the one that a replica knew: put back to an older copy, begun anew, or
/// another one.
struct ReconcileTests {
  /// Three replicas on a zone with two entries, of which a backup is made. Then the first two go on;
  /// the third one is away.
  private struct Scene {
    let world: World
    let backup: ZoneLog
    let old: UUID
    let kept: UUID

    init(options: SyncOptions = SyncOptions()) async throws {
      world = try await World(3, options: options)
      old = try world[0].insert("Item", ["title": .string("old"), "stock": .integer(10)])
      try await world[0].sync()
      kept = try world[0].insert("Item", ["title": .string("kept")])
      try await world[0].sync()
      try await world.syncAll()
      backup = world.zone.log
    }
  }

  @Test(
    "F58 S2 A server put back to an older copy gets what it lost from the first replica that is back"
  )
  func refill() async throws {
    let scene = try await Scene()
    let world = scene.world
    let made = try world[0].insert("Item", ["title": .string("made later")])
    try world[0].set(scene.old, ["stock": .integer(15)])
    try await world[0].sync()
    try await world[1].sync()
    try world[1].delete(scene.kept)
    try world[1].set(scene.old, ["stock": .integer(16)])
    try await world[1].sync()
    try await world[0].sync()
    let before = (head: world.zone.head, chain: world.zone.log.chain, export: try world[0].export)
    world.zone.putBack(scene.backup)
    let pending = try world[0].insert("Item", ["title": .string("never acknowledged")])
    let report = try await world[0].sync()
    #expect(report.reconciliations.map(\.kind) == [.refilled])
    #expect(report.reconciliations.first?.place == scene.backup.head)
    #expect(world.zone.log.place(at: before.head)?.chain == before.chain, "byte for byte")
    #expect(try await world[1].sync().reconciliations.isEmpty, "the others are in step")
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(made, "title") == .string("made later"))
      #expect(try replica.value(scene.old, "stock") == .integer(16))
      #expect(try !replica.exists(scene.kept))
      #expect(try replica.exists(pending))
    }
    #expect(try world[0].status.reconciled?.kind == .refilled)
  }

  @Test(
    "F58 S2 A server put back, and pushed past by others: each object keeps what is its own",
    arguments: [0, 1])
  func offered(first: Int) async throws {
    let scene = try await Scene()
    let world = scene.world
    // The first two go on: a new object, an edit, a delete, and sets.
    let lost = try world[0].insert("Item", ["title": .string("invoice A")])
    try world[0].set(scene.old, ["title": .string("edited later")])
    try await world[0].sync()
    try await world[1].sync()
    try world[1].set(lost, ["note": .string("seen")])
    try world[1].delete(scene.kept)
    try await world[1].sync()
    try await world[0].sync()
    world.zone.putBack(scene.backup)
    // The third one fills the log beyond what was there, with objects under the same numbers.
    let others = try (0..<4).map { number in
      try world[2].insert("Item", ["title": .string("invoice B\(number)")])
    }
    for id in others {
      try world[2].set(id, ["price": .decimal(1)])
      try await world[2].sync()
    }
    #expect(world.zone.head > scene.backup.head)
    let report = try await world[first].sync()
    #expect(report.reconciliations.map(\.kind) == [.offered])
    #expect(report.reconciliations.first?.place == scene.backup.head)
    #expect(try await world[1 - first].sync().reconciliations.map(\.kind) == [.offered])
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(lost, "title") == .string("invoice A"))
      #expect(try replica.value(lost, "note") == .string("seen"))
      #expect(try replica.value(scene.old, "title") == .string("edited later"))
      #expect(try !replica.exists(scene.kept), "a delete that the server lost is made again")
      for (number, id) in others.enumerated() {
        #expect(try replica.value(id, "title") == .string("invoice B\(number)"))
      }
    }
  }

  @Test("F58 S2 What is lost above the cursor is found by the mark")
  func mark() async throws {
    let scene = try await Scene()
    let world = scene.world
    for number in 0..<2 {
      try world[1].insert("Item", ["title": .string("unseen \(number)")])
      try await world[1].sync()
    }
    let backup = world.zone.log
    // Acknowledged above the cursor: nothing that others pushed was of these objects.
    let own = try world[0].insert("Item", ["title": .string("own")])
    try await world[0].push()
    #expect(try world[0].status.cursor == scene.backup.head)
    world.zone.putBack(backup)
    try world[1].insert("Item", ["title": .string("fills the place")])
    try await world[1].sync()
    #expect(try world[0].status.pending.objects == 0, "the zone had acknowledged it")
    let report = try await world[0].sync()
    #expect(report.reconciliations.map(\.kind) == [.offered])
    try await world.settle()
    for replica in world.replicas { #expect(try replica.value(own, "title") == .string("own")) }
  }

  @Test("F58 S2 What was never acknowledged stays pending as it is: a count is added once")
  func pendingCount() async throws {
    let scene = try await Scene()
    let world = scene.world
    let lost = try world[0].insert("Item", ["title": .string("lost")])
    try await world[0].sync()
    try await world[1].sync()
    try world[1].set(scene.old, ["stock": .integer(13)])
    world.zone.putBack(scene.backup)
    try world[2].set(scene.old, ["stock": .integer(11)])
    try await world[2].sync()
    try await world[0].sync()
    try await world[1].sync()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(scene.old, "stock") == .integer(14))
      #expect(try replica.exists(lost))
    }
  }

  @Test("S2 Elements that were added and taken away above the common place are so again")
  func elements() async throws {
    let scene = try await Scene()
    let world = scene.world
    let labels = try (0..<3).map { number in
      try world[0].insert("Label", ["name": .string("\(number)")])
    }
    try world[0].label(scene.old, [labels[0], labels[1]])
    try await world[0].sync()
    try await world.syncAll()
    let backup = world.zone.log
    try world[0].label(scene.old, [labels[1], labels[2]])
    try await world[0].sync()
    world.zone.putBack(backup)
    try world[2].insert("Label", ["name": .string("fills the place")])
    try await world[2].sync()
    #expect(try await world[0].sync().reconciliations.map(\.kind) == [.offered])
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.labels(of: scene.old) == [labels[1], labels[2]])
    }
  }

  @Test("F58 S2 Without the entries everything is offered, and all are equal in the end")
  func withoutFrames() async throws {
    var options = SyncOptions()
    options.keptFrameBytesMax = 0
    let scene = try await Scene(options: options)
    let world = scene.world
    let lost = try world[0].insert("Item", ["title": .string("lost")])
    try await world.syncAll()
    try await world.syncAll()
    try world[1].set(lost, ["title": .string("pending")])
    world.zone.putBack(scene.backup)
    #expect(try await world[0].sync().reconciliations.map(\.kind) == [.offered])
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(lost, "title") == .string("pending"))
    }
  }

  @Test("F58 S2 A new generation after a loss is offered everything, without a person")
  func newGeneration() async throws {
    let scene = try await Scene()
    let world = scene.world
    let before = try world[0].export
    world.zone.renew(intent: .offer)
    #expect(try await world[0].sync().reconciliations.map(\.kind) == [.offered])
    try await world.settle()
    #expect(try world[2].export == before)
  }

  @Test("F59 S2 A zone that was replaced on purpose does not come back: an export is kept aside")
  func replaced() async throws {
    let scene = try await Scene()
    let world = scene.world
    let before = try world[1].export
    world.zone.renew(intent: .replace)
    let fresh = try await TestReplica("fresh", zone: world.zone, clock: world.clock)
    let only = try fresh.insert("Item", ["title": .string("the only one")])
    try await fresh.sync()
    let done = try #require(try await world[1].sync().reconciliations.first)
    #expect(done.kind == .taken)
    #expect(done.cause == .replaced)
    let export = try #require(done.export)
    let upserts = before.replacing(#""op":"insert""#, with: #""op":"upsert""#)
    #expect(try String(contentsOfFile: export, encoding: .utf8) == upserts)
    try await world.settle()
    #expect(try world[0].identities(of: "Item") == [only])
    #expect(try world[1].export == fresh.export)
    #expect(world.zone.head == 1)
  }

  @Test("A store that is enrolled anew while it comes back goes back to no place of the other log")
  func enrolledMeanwhile() async throws {
    let scene = try await Scene()
    let (world, zone) = (scene.world, scene.world.zone)
    let lost = try world[0].insert("Item", ["title": .string("lost")])
    try await world[0].sync()
    zone.putBack(scene.backup)
    try world[2].insert("Item", ["title": .string("in its place")])
    try await world[2].sync()
    let hooked = HookedTransport(zone)
    hooked.afterCommonPlace = {
      zone.renew()
      try await world[0].enroll()
    }
    let engine = try await world[0].engine(through: hooked)
    let error = await #expect(throws: SyncError.self) { try await engine.sync() }
    #expect(error?.code == .superseded)
    hooked.afterCommonPlace = nil
    await engine.close()
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(lost, "title") == .string("lost"))
    }
  }

  @Test("A store that is enrolled with another zone while it pulls takes nothing of the former one")
  func enrolledWhilePulling() async throws {
    let scene = try await Scene()
    let (replica, zone) = (scene.world[0], scene.world.zone)
    try scene.world[1].insert("Item", ["title": .string("of the former zone")])
    try await scene.world[1].sync()
    let other = MemoryZone(name: zone.name, clock: scene.world.clock)
    let hooked = HookedTransport(zone)
    hooked.afterPull = {
      try SyncEngine.enroll(
        store: replica.store, server: MemoryZone.url, zone: other.name,
        info: try await other.zoneInfo())
    }
    let before = try replica.export
    let engine = try await replica.engine(through: hooked)
    let error = await #expect(throws: SyncError.self) { try await engine.sync() }
    #expect(error?.code == .superseded)
    await engine.close()
    #expect(try replica.export == before)
    #expect(try replica.status.cursor == 0)
  }

  @Test("F59 S2 Another zone under the name gets nothing: a person decides")
  func otherZone() async throws {
    let scene = try await Scene()
    let replica = scene.world[0]
    try replica.insert("Item", ["title": .string("the shop's")])
    let staging = MemoryZone(name: scene.world.zone.name, clock: scene.world.clock)
    let engine = try await replica.engine(through: staging)
    let error = await #expect(throws: SyncError.self) { try await engine.sync() }
    #expect(error?.code == .otherZone)
    #expect(staging.head == 0)
    await engine.close()
    // Back at the right one, nothing has happened.
    try await scene.world.settle()
  }

  @Test(
    "S2 Who may only read keeps an export of what it held, and goes with the server that was put back"
  )
  func readOnly() async throws {
    let scene = try await Scene()
    var world = scene.world
    let reader = try await TestReplica(
      "reader", zone: world.zone, clock: world.clock, transport: ReadingTransport(next: world.zone))
    try await reader.sync()
    let lost = try world[0].insert("Item", ["title": .string("lost")])
    try await world[0].sync()
    try await reader.sync()
    #expect(try reader.exists(lost))
    let own = try reader.insert("Item", ["title": .string("which no server took")])
    world.zone.putBack(scene.backup)
    try world[2].insert("Item", ["title": .string("fills the place")])
    try await world[2].sync()
    let error = await #expect(throws: ProtocolError.self) { try await reader.sync() }
    #expect(error?.code == .forbidden)
    #expect(try reader.exists(lost))
    try SyncEngine.allowReconciliation(of: reader.store)
    let report = try await reader.sync()
    #expect(report.reconciliations.map(\.kind) == [.taken])
    #expect(report.reconciliations.first?.cause == .mayOnlyRead, "nobody replaced the zone")
    let export = try #require(report.reconciliations.first?.export)
    #expect(try String(contentsOfFile: export, encoding: .utf8).contains("\"lost\""))
    #expect(try !reader.exists(lost))
    #expect(try reader.status.pending.objects == 0)
    #expect(try SyncEngine.conflicts(of: reader.store).map(\.object) == [own])
    // Back with who may write, it comes to the reader as well.
    world.replicas.append(reader)
    try await world.settle()
    #expect(try reader.exists(lost))
  }

  @Test("S2 Told to ask, it waits for a person, and offers when it is allowed")
  func asks() async throws {
    var options = SyncOptions()
    options.onDiverged = .ask
    let scene = try await Scene(options: options)
    let world = scene.world
    let lost = try world[0].insert("Item", ["title": .string("lost")])
    try await world[0].sync()
    world.zone.putBack(scene.backup)
    try world[2].insert("Item", ["title": .string("fills the place")])
    try await world[2].sync()
    let error = await #expect(throws: SyncError.self) { try await world[0].sync() }
    #expect(error?.code == .diverged)
    try SyncEngine.allowReconciliation(of: world[0].store)
    #expect(try await world[0].sync().reconciliations.map(\.kind) == [.offered])
    try await world.settle()
    #expect(try world[2].exists(lost))
  }

  @Test(
    "S2 Told to ask, it hands over nothing of what the server lost, and one word is for one sync")
  func asksBeforeRefill() async throws {
    let scene = try await Scene()
    let world = scene.world
    try SyncEngine.setOnDiverged(.ask, of: world[0].store)
    let lost = try world[0].insert("Item", ["title": .string("lost")])
    try await world[0].sync()
    for _ in 0..<2 {
      world.zone.putBack(scene.backup)
      for _ in 0..<2 {
        let error = await #expect(throws: SyncError.self) { try await world[0].sync() }
        #expect(error?.code == .diverged)
        #expect(world.zone.head == scene.backup.head, "nothing goes")
      }
      #expect(try world[0].status.failure?.kind == .waiting)
      try SyncEngine.allowReconciliation(of: world[0].store)
      #expect(try await world[0].sync().reconciliations.map(\.kind) == [.refilled])
      #expect(world.zone.head > scene.backup.head)
      #expect(try world[0].status.failure == nil)
    }
    try await world.settle()
    #expect(try world[2].exists(lost))
  }

  @Test("S2 Twice within a day it says so and waits: two servers may answer at one address")
  func twice() async throws {
    let scene = try await Scene()
    let world = scene.world
    for round in 0..<2 {
      let backup = world.zone.log
      let lost = try world[0].insert("Item", ["title": .string("lost \(round)")])
      try await world[0].sync()
      world.zone.putBack(backup)
      try world[2].insert("Item", ["title": .string("fills the place \(round)")])
      try await world[2].sync()
      if round == 1 {
        let error = await #expect(throws: SyncError.self) { try await world[0].sync() }
        #expect(error?.code == .divergedAgain)
        try SyncEngine.allowReconciliation(of: world[0].store)
      }
      try await world[0].sync()
      try await world[2].sync()
      #expect(try world[2].exists(lost))
    }
  }
}

/// The zone, for a token that may only read.
private struct ReadingTransport: ForwardingTransport {
  let next: any SyncTransport

  func zoneInfo() async throws -> ZoneInfo {
    var info = try await next.zoneInfo()
    info.mayWrite = false
    return info
  }

  func push(_ frame: Data) async throws -> PushReply { throw refusal }
  func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply { throw refusal }

  private var refusal: ProtocolError {
    ProtocolError(.forbidden, "The token allows only read", suggestion: "Ask for another.")
  }
}
