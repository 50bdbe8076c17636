import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A push has one effect, whatever happens between the zone's commit and the replica's hearing of
/// it.
struct OutboxTests {
  private struct Crash: Error {}

  @Test("F17 A reply that is lost has no second effect: the same bytes get the same answer")
  func lostReply() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["stock": .integer(5)])
    let hook = HookedTransport(world.zone)
    hook.afterPush = { throw Crash() }
    var engine = try await world[0].engine(through: hook)
    await #expect(throws: Crash.self) { try await engine.push() }
    await engine.close()
    #expect(try world[0].status.lastError != nil)
    #expect(world.zone.head == 1)
    // The process died: another engine finds the bytes in the outbox.
    engine = try await world[0].engine(through: hook)
    _ = try await engine.push()
    await engine.close()
    #expect(world.zone.head == 1)
    #expect(hook.pushed.count == 2)
    #expect(hook.pushed[0] == hook.pushed[1])
    try await world.settle()
    #expect(try world[1].value(id, "stock") == .integer(5))
  }

  @Test("An outbox that names other objects than its frame is not settled; to enrol anew leads on")
  func otherObjects() async throws {
    let world = try await World(2)
    let store = world[0].store
    let ids = try (0..<2).map { try world[0].insert("Item", ["stock": .integer(Int64($0))]) }
    let hook = HookedTransport(world.zone)
    hook.afterPush = { throw Crash() }
    let engine = try await world[0].engine(through: hook)
    await #expect(throws: Crash.self) { try await engine.push() }
    // One run of two objects: its count becomes that of one.
    _ = try store.write(TransactionInfo()) {
      try $0.connection.execute(
        """
        PRAGMA ignore_check_constraints = ON;
        UPDATE ZDL_OUTBOX SET runs = CAST(substr(runs, 1, 16) || x'0100000000000000' AS BLOB);
        PRAGMA ignore_check_constraints = OFF
        """)
    }
    let error = await #expect(throws: SyncError.self) { try await engine.sync() }
    #expect(error?.code == .damagedState)
    await engine.close()
    let finding = try #require(try SyncEngine.check(store).findings.first)
    #expect(finding.message.contains("are not those of its frame"))
    let info = try await world.zone.zoneInfo()
    try SyncEngine.enroll(
      store: store, server: MemoryZone.url, zone: world.zone.name, info: info, anew: true)
    #expect(try SyncEngine.check(store).findings == [])
    let other = try await world[0].engine(through: world.zone)
    _ = try await other.sync()
    await other.close()
    try await world[1].sync()
    #expect(try world[1].identities(of: "Item").count == 2)
    for (number, id) in ids.enumerated() {
      #expect(try world[1].value(id, "stock") == .integer(Int64(number)))
    }
  }

  @Test("A push that asks the server nothing says nothing about it")
  func nothingAsked() async throws {
    let world = try await World(1)
    _ = try world[0].insert("Item", ["title": .string("a")])
    try await world.settle()
    let hook = HookedTransport(world.zone)
    hook.beforePull = { throw Crash() }
    let engine = try await world[0].engine(through: hook)
    await #expect(throws: Crash.self) { try await engine.sync() }
    let before = try world[0].status
    #expect(before.lastError != nil)
    _ = try await engine.push()
    #expect(try world[0].status.lastError == before.lastError)
    #expect(try world[0].status.lastSync == before.lastSync)
    hook.beforePull = nil
    _ = try await engine.sync()
    await engine.close()
    #expect(try world[0].status.lastError == nil)
  }

  @Test("F47 An edit between send and acknowledgement stays pending and is pushed next")
  func editInFlight() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("sent")])
    let hook = HookedTransport(world.zone)
    let engine = try await world[0].engine(through: hook)
    hook.afterPush = { [replica = world[0]] in
      try replica.set(id, ["title": .string("edited in flight")])
    }
    let report = try await engine.push()
    await engine.close()
    #expect(report.changeSets == 2)
    try await world.settle()
    #expect(try world[1].value(id, "title") == .string("edited in flight"))
  }

  @Test("A counter that counts on while its value is in flight counts from the value that was sent")
  func counterInFlight() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["stock": .integer(10)])
    try await world.settle()
    try world[0].set(id, ["stock": .integer(13)])
    let hook = HookedTransport(world.zone)
    let engine = try await world[0].engine(through: hook)
    hook.afterPush = { [replica = world[0]] in
      try replica.set(id, ["stock": .integer(15)])
      throw Crash()
    }
    await #expect(throws: Crash.self) { try await engine.push() }
    await engine.close()
    try world[1].set(id, ["stock": .integer(9)])
    try await world[1].sync()
    try await world.settle()
    // 10, +3 in flight, +2 meanwhile, -1 on the other replica.
    #expect(try world[0].value(id, "stock") == .integer(14))
  }

  /// Sends an edit and a delete one after the other, and edits again in between.
  private func edit(
    _ replica: TestReplica, _ edit: () throws -> Void,
    beforeTheDelete again: @escaping () throws -> Void
  ) async throws {
    let shelf = try replica.insert("Shelf")
    try await replica.sync()
    try edit()
    try replica.delete(shelf)
    let hook = HookedTransport(replica.zone)
    var options = SyncOptions()
    options.pushObjectsMax = 1
    let engine = try await replica.engine(through: hook, options: options)
    hook.afterPush = {
      // The first answer was taken in when the second change set goes.
      hook.afterPush = {
        try again()
        throw Crash()
      }
    }
    await #expect(throws: Crash.self) { try await engine.push() }
    await engine.close()
    #expect(hook.pushed.count == 2)
  }

  @Test("A set that was sent is changed again before a delete that waits behind it")
  func setBeforeDelete() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item")
    let labels = [try world[0].insert("Label"), try world[0].insert("Label")]
    try await world.settle()
    let replica = world[0]
    func relate(to labels: [UUID]) throws {
      try replica.save { context in
        let item = try #require(try context.object(withIdentity: id))
        let objects = try labels.map { try #require(try context.object(withIdentity: $0)) }
        try item.setValue(objects, forKey: "labels")
      }
    }
    try await edit(replica, { try relate(to: labels) }, beforeTheDelete: { try relate(to: []) })
    try await world.settle()
    let export = try world[1].export
    #expect(!export.contains("labels"), "\(export)")
  }

  @Test("A counter that was sent counts on before a delete that waits behind it")
  func counterBeforeDelete() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["stock": .integer(10)])
    try await world.settle()
    let replica = world[0]
    try await edit(
      replica, { try replica.set(id, ["stock": .integer(13)]) },
      beforeTheDelete: { try replica.set(id, ["stock": .integer(15)]) })
    try world[1].set(id, ["stock": .integer(9)])
    try await world[1].sync()
    try await world.settle()
    // 10, +3, +2, -1 on the other replica.
    #expect(try world[0].value(id, "stock") == .integer(14))
  }

  @Test("A delete between send and acknowledgement of the insert reaches the zone")
  func deleteInFlight() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a")])
    let hook = HookedTransport(world.zone)
    let engine = try await world[0].engine(through: hook)
    hook.afterPush = { [replica = world[0]] in try replica.delete(id) }
    _ = try await engine.push()
    await engine.close()
    try await world.settle()
    #expect(try !world[1].exists(id))
  }

  @Test("What was acknowledged above the cursor is walked past as a header")
  func acknowledgedAboveCursor() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a"), "note": .string("n")])
    try await world.settle()
    try world[1].set(id, ["note": .string("other")])
    try await world[1].sync()
    try world[0].set(id, ["title": .string("own")])
    try await world[0].push()
    #expect(try world[0].status.cursor < world.zone.head)
    let report = try await world[0].pull()
    #expect(report.changeSets == 1)
    #expect(report.ownChangeSets == 1)
    #expect(report.conflicts == 0)
    try await world.settle()
    #expect(try world[1].value(id, "title") == .string("own"))
  }

  @Test("Two replicas that make an object of one identity make one object of both")
  func sameIdentity() async throws {
    let world = try await World(3)
    let identity = UUID()
    try world[0].insert(
      "Item", ["title": .string("first"), "note": .string("only here"), "high": .integer(4)],
      identity: identity)
    try world[1].insert(
      "Item", ["title": .string("second"), "tag": .string("only there"), "high": .integer(7)],
      identity: identity)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(identity, "title") == .string("second"))
      #expect(try replica.value(identity, "note") == .string("only here"))
      #expect(try replica.value(identity, "tag") == .string("only there"))
      #expect(try replica.value(identity, "high") == .integer(7))
    }
  }

  @Test("Two replicas that import equal objects of one identity cause no conflict and no update")
  func equalImport() async throws {
    let world = try await World(2)
    let identity = UUID()
    for replica in world.replicas {
      try replica.insert(
        "Item", ["title": .string("same"), "stock": .integer(3)], identity: identity)
    }
    try await world.settle()
    #expect(world.zone.head == 1)
    for replica in world.replicas { #expect(try replica.conflicts.isEmpty) }
  }

  @Test("F50 Acknowledged, everything is settled: nothing pending, and a sync sends nothing")
  func quiet() async throws {
    let world = try await World(2)
    for index in 0..<20 { try world[0].insert("Item", ["high": .integer(Int64(index))]) }
    try await world.settle()
    let before = world.zone.traffic
    let report = try await world[0].sync()
    #expect(report.push.changeSets == 0)
    #expect(report.pull.changeSets == 0)
    #expect(world.zone.traffic.pushes == before.pushes)
  }

  @Test("A large history goes in pushes of bounded size, and comes in pages of bounded size")
  func bounded() async throws {
    var options = SyncOptions()
    options.pushObjectsMax = 7
    options.pullBytesMax = 600
    let world = try await World(2, options: options)
    var previous: UUID?
    for index in 0..<60 {
      var values: [String: PropertyValue] = ["high": .integer(Int64(index))]
      if index % 10 == 0 { previous = try world[0].insert("Shelf") }
      if let previous, let key = try world[0].store.read({ try $0.key(of: previous) }) {
        values["shelf"] = .reference(key)
      }
      try world[0].insert("Item", values)
    }
    let report = try await world[0].push()
    #expect(report.changeSets > 5)
    #expect(report.objects == 66)
    let before = world.zone.traffic.pulls
    try await world[1].pull()
    #expect(world.zone.traffic.pulls - before > 2)
    try await world.settle()
  }

  @Test("An engine of another process is refused, with the name of the process that has the store")
  func otherProcess() async throws {
    let world = try await World(1)
    try await world[0].sync()
    #expect(try world[0].status.syncing)
    await world[0].engine.close()
    #expect(try !world[0].status.syncing)
    // A lock that is not this process's queue's is as good as another process's.
    let lock = try world[0].store.acquireSyncLock()
    let error = await #expect(throws: StoreError.self) { try await world[0].sync() }
    #expect(error?.code == .syncLocked)
    #expect(error?.message.contains("\(ProcessInfo.processInfo.processIdentifier)") == true)
    withExtendedLifetime(lock) {}
  }

  @Test("A store that is not enrolled says so, and what to do")
  func notEnrolled() async throws {
    let zone = MemoryZone()
    let replica = try await TestReplica(
      "alone", zone: zone, clock: ManualClock(), enrolled: false)
    let error = await #expect(throws: SyncError.self) { try await replica.sync() }
    #expect(error?.code == .notEnrolled)
    #expect(error?.suggestion.contains("enroll") == true)
    #expect(try !replica.status.isEnrolled)
  }

  @Test("What a store held before it enrolled is offered to the zone")
  func enrollsWithData() async throws {
    let world = try await World(1)
    let replica = try await TestReplica(
      "late", zone: world.zone, clock: world.clock, enrolled: false)
    let id = try replica.insert("Item", ["title": .string("from before")])
    let number = try replica.store.read { try $0.maximumTransactionNumber() }
    #expect(number == 1)
    try replica.insert("Item")
    try replica.store.deleteHistory(before: replica.store.currentHistoryToken())
    try await replica.enroll()
    #expect(try replica.status.pending.objects == 2)
    try await replica.sync()
    try await world[0].sync()
    #expect(try world[0].value(id, "title") == .string("from before"))
    #expect(try world[0].export == replica.export)
  }

  @Test("F55 History that is not acknowledged outlives a purge")
  func historyIsKept() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a")])
    try await world.settle()
    try world[0].set(id, ["title": .string("b")])
    try world[0].store.deleteHistory(before: world[0].store.currentHistoryToken())
    try world[0].insert("Item")
    try world[0].store.deleteHistory(before: world[0].store.currentHistoryToken())
    #expect(try world[0].status.pending.objects == 2)
    try await world.settle()
    #expect(try world[1].value(id, "title") == .string("b"))
  }

  @Test("A zone that was replaced gets everything again from replicas that enroll anew")
  func newGeneration() async throws {
    let world = try await World(2)
    let shelf = try world[0].insert("Shelf", ["name": .string("a")])
    let key = try #require(try world[0].store.read { try $0.key(of: shelf) })
    try world[0].insert("Item", ["title": .string("x"), "shelf": .reference(key)])
    try await world.settle()
    try world[1].set(shelf, ["name": .string("edited offline")])
    let before = try world[1].export
    let zone = MemoryZone(name: world.zone.name, clock: world.clock)
    for replica in world.replicas {
      let engine = try await replica.engine(through: zone)
      let error = await #expect(throws: (any Error).self) { try await engine.sync() }
      #expect("\(try #require(error))".contains("other-zone"))
      await engine.close()
      try SyncEngine.enroll(
        store: replica.store, server: MemoryZone.url, zone: zone.name,
        info: try await zone.zoneInfo())
    }
    for _ in 0..<2 {
      for replica in world.replicas {
        let engine = try await replica.engine(through: zone)
        _ = try await engine.sync()
        await engine.close()
      }
    }
    #expect(try world[0].export == world[1].export)
    #expect(try world[1].export == before)
  }
}
