import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Clocks that are wrong for a while.
struct ClockTests {
  private let clock = ManualClock()
  private let zone: MemoryZone

  init() {
    zone = MemoryZone(clock: clock, clockToleranceMilliseconds: 86_400_000)
  }

  @Test(
    "The first edits after enrolling have the zone's time, not that of a host whose clock is wrong")
  func enrolled() async throws {
    let host = ManualClock()
    let zone = MemoryZone(clock: clock)
    clock.advance(milliseconds: 86_400_000)
    let slow = try await TestReplica("slow", zone: zone, clock: host)
    #expect(try slow.store.clockOffsetMilliseconds == 86_400_000)
    let right = try await TestReplica("right", zone: zone, clock: clock)
    let id = try right.insert("Item", ["title": .string("first")], identity: UUID())
    try await right.sync()
    clock.advance(milliseconds: 2_000)
    host.advance(milliseconds: 2_000)
    // An import of the same object before the first sync.
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: slow.store))
    let item = try context.insert(entityNamed: "Item", identity: id)
    try item.setValue("second", forKey: "title")
    try context.save()
    try await slow.sync()
    #expect(try slow.value(id, "title") == .string("second"))
  }

  @Test("F30 S23 Edits under a clock that is days ahead are sent, and pulls never wait for them")
  func ahead() async throws {
    let replica = try await TestReplica("fast", zone: zone, clock: clock)
    let other = try await TestReplica("other", zone: zone, clock: clock)
    try await replica.sync()
    let day = UInt64(86_400_000)
    let id = try replica.insert("Item", ["title": .string("first")])
    _ = try replica.store.write(
      TransactionInfo(
        author: "fast", hybridTime: HybridTime(rawValue: (clock.milliseconds + 9 * day) << 16))
    ) { transaction in
      let key = try #require(try transaction.key(of: id))
      var values = try #require(try transaction.row(key)).values
      let slot = try #require(
        replica.store.model.entitiesByName["Item"]?.layout.index(named: "title"))
      values[slot] = .string("ahead")
      try transaction.update(key, PropertyMask([slot]), values: values, expectedVersion: nil)
    }
    try other.insert("Item", ["title": .string("news")])
    try await other.sync()
    let report = try await replica.sync()
    #expect(report.pull.inserted == 1)
    #expect(report.push.objects == 1)
    clock.advance()
    try await other.sync()
    #expect(try other.value(id, "title") == .string("ahead"))
    // The clock that was fast does not win over an edit that is later.
    clock.advance()
    try other.set(id, ["title": .string("later")])
    try await other.sync()
    try await replica.sync()
    #expect(try replica.value(id, "title") == .string("later"))
  }
}
