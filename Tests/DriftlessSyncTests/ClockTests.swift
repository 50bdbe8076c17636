import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation
import Testing

@testable import DriftlessSync

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

  @Test("What a server calls ahead of its clock whatever is done waits, and is sent later")
  func alwaysAhead() async throws {
    let transport = HookedTransport(zone)
    let replica = try await TestReplica("r", zone: zone, clock: clock, transport: transport)
    let id = try replica.insert("Item", ["title": .string("a")])
    transport.rewritten = { _ in
      throw ProtocolError(.clockAhead, "A time is ahead", suggestion: "Set the clock.")
    }
    let error = await #expect(throws: ProtocolError.self) { try await replica.sync() }
    #expect(error?.code == .clockAhead)
    #expect(transport.pushed.count == SyncTuning.clockRefusalsMax)
    transport.rewritten = nil
    try await replica.sync()
    let other = try await TestReplica("other", zone: zone, clock: clock)
    try await other.sync()
    #expect(try other.exists(id))
  }

  @Test("What waited under a clock that was ahead is sent once it may, though that is right again")
  func keptAhead() async throws {
    let transport = HookedTransport(zone)
    let replica = try await TestReplica("r", zone: zone, clock: clock, transport: transport)
    let sent = try replica.insert("Item", ["title": .string("sent")])
    try await replica.sync()
    // Another edit is acknowledged while these wait: they keep their times.
    try save(replica, sent, "again")
    clock.advance(milliseconds: 3 * 86_400_000)
    let kept = try (0..<3).map { try replica.insert("Item", ["title": .string("kept \($0)")]) }
    transport.rewritten = { frame in
      let texts = try ChangeSetDecoder().decode(frame).columns
      let isKept = texts.contains {
        guard case .strings(let rows) = $0.values else { return false }
        return (0..<rows.count).contains { rows.string(at: $0).hasPrefix("kept") }
      }
      if isKept { throw ProtocolError(.malformed, "Not now", suggestion: "Later.") }
      return frame
    }
    try await replica.sync()
    #expect(try SyncEngine.quarantine(of: replica.store).count == kept.count)
    clock.set(milliseconds: clock.milliseconds - 3 * 86_400_000)
    transport.rewritten = { [clock] frame in
      let limit = clock.milliseconds + 86_400_000
      for transaction in try ChangeSetDecoder().decodeIndex(frame).index.transactions
      where transaction.hybridTime >> 16 > limit {
        throw ProtocolError(.clockAhead, "A time is ahead", suggestion: "Set the clock.")
      }
      return frame
    }
    try SyncEngine.retryQuarantined(of: replica.store)
    let later = try replica.insert("Item", ["title": .string("later")])
    try await replica.sync()
    let other = try await TestReplica("other", zone: zone, clock: clock)
    try await other.sync()
    for id in kept + [sent, later] { #expect(try other.exists(id)) }
    #expect(try replica.export == other.export)
    #expect(try replica.status.pending.objects == 0)
  }

  @Test("F29 A slow upload and a slow answer move no clock that is right: the later edit stands")
  func slowAnswers() async throws {
    let zone = MemoryZone(clock: clock)
    let transport = HookedTransport(zone)
    let slow = try await TestReplica("slow", zone: zone, clock: clock, transport: transport)
    let other = try await TestReplica("other", zone: zone, clock: clock)
    transport.rewritten = { [clock] frame in
      clock.advance(milliseconds: 13_000)
      return frame
    }
    let id = try slow.insert("Item", ["title": .string("first")])
    try await slow.sync()
    #expect(try slow.store.clockOffsetMilliseconds == 0)
    transport.rewritten = nil
    transport.afterPull = { [clock] in clock.advance(milliseconds: 26_000) }
    try await slow.sync()
    #expect(try slow.store.clockOffsetMilliseconds == 0)
    transport.afterPull = nil
    try await other.sync()
    try save(slow, id, "earlier")
    clock.advance(milliseconds: 3_000)
    try save(other, id, "later")
    for replica in [slow, other, slow] { try await replica.sync() }
    #expect(try slow.value(id, "title") == .string("later"))
    #expect(try other.value(id, "title") == .string("later"))
  }

  @Test(
    "What was stamped by a clock that was ahead is told before it is sent, and when it was moved")
  func corrected() async throws {
    let host = ManualClock()
    let replica = try await TestReplica("fast", zone: zone, clock: host)
    try await replica.sync()
    #expect(try SyncEngine.clock(of: replica.store).correction == nil)
    // An hour ahead for two saves, and right again before it syncs.
    host.advance(milliseconds: 3_600_000)
    for _ in 0..<2 { try replica.insert("Item") }
    host.set(milliseconds: host.milliseconds - 3_600_000)
    let before = try SyncEngine.clock(of: replica.store)
    #expect(before.offset == 0 && before.ahead == 2)
    #expect((3_590_000...3_610_000).contains(before.lead), "\(before)")
    try await replica.sync()
    let after = try SyncEngine.clock(of: replica.store)
    #expect(after.ahead == 0 && after.correction?.moved == 2, "\(after)")
    #expect((3_590_000...3_610_000).contains(after.correction?.lead ?? 0), "\(after)")
    // Wrong while it syncs, and set right.
    host.set(milliseconds: host.milliseconds - 7_200_000)
    for _ in 0..<2 {
      try replica.insert("Item")
      try await replica.sync()
    }
    let wrong = try SyncEngine.clock(of: replica.store)
    // Each save here takes its second.
    let hours: ClosedRange<Int64> = 7_100_000...7_200_000
    #expect(hours.contains(wrong.offset), "\(wrong)")
    host.advance(milliseconds: 7_200_000)
    for _ in 0..<2 {
      try replica.insert("Item")
      try await replica.sync()
    }
    let right = try SyncEngine.clock(of: replica.store)
    #expect(right.offset.magnitude < 60_000, "\(right)")
    #expect(hours.contains(right.correction?.before ?? 0), "\(right)")
    #expect(try SyncEngine.check(replica.store).isSound)
  }

  @Test("A reading of the zone's clock is as good as its answer was fast")
  func readings() throws {
    func reading(_ zone: UInt64, _ asked: Double, _ answered: Double) throws -> ClockReading {
      try #require(
        ClockReading(
          zone: zone, asked: Date(timeIntervalSince1970: asked),
          answered: Date(timeIntervalSince1970: answered)))
    }
    let fast = try reading(105_050, 100, 100.1)
    let slow = try reading(120_000, 100, 120)
    #expect(fast.offset(expected: 0) == 5_000)
    #expect(slow.offset(expected: 0) == 0 && slow.offset(expected: 20_000) == 20_000)
    #expect(slow.offset(expected: -1) == 10_000 && slow.offset(expected: 3_600_000) == 10_000)
    // The faster of two counts, and of two that contradict each other the later one.
    #expect(slow.after(fast) == fast && fast.after(slow) == fast)
    let set = try reading(3_720_000, 100, 120)
    #expect(set.after(fast) == set)
    // Set back while the answer was on its way.
    #expect(try reading(100_000, 100, 90).bounds == 0...10_000)
    #expect(ClockReading(zone: .max, asked: Date(), answered: Date()) == nil)
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

  @Test("A reference that a delete cut comes back with its object, also where its time was moved")
  func cutUnderAFastClock() async throws {
    let fast = try await TestReplica("fast", zone: zone, clock: clock)
    let deleter = try await TestReplica("deleter", zone: zone, clock: clock)
    let editor = try await TestReplica("editor", zone: zone, clock: clock)
    let shelf = try fast.insert("Shelf", ["name": .string("a")])
    let item = try fast.insert("Item", ["title": .string("t")])
    for replica in [fast, deleter, editor] { try await replica.sync() }
    let ahead = HybridTime(rawValue: (clock.milliseconds + 9 * 86_400_000) << 16)
    _ = try fast.store.write(TransactionInfo(author: "fast", hybridTime: ahead)) { transaction in
      let key = try #require(try transaction.key(of: item))
      var values = try #require(try transaction.row(key)).values
      let slot = try #require(
        fast.store.model.entitiesByName["Item"]?.layout.index(named: "shelf"))
      values[slot] = .reference(try #require(try transaction.key(of: shelf)))
      try transaction.update(key, PropertyMask([slot]), values: values, expectedVersion: nil)
    }
    try editor.set(shelf, ["name": .string("edited")])
    try deleter.delete(shelf)
    try await deleter.sync()
    try await fast.sync()
    #expect(try fast.reference(item, "shelf") == nil)
    #expect(try fast.status.pending.objects == 0)
    for replica in [editor, fast, deleter] { try await replica.sync() }
    for replica in [editor, fast, deleter] {
      #expect(try replica.exists(shelf))
      #expect(try replica.reference(item, "shelf") == shelf, "\(replica.name)")
    }
  }

  /// A replica whose host's clock is not the server's.
  private func replica(_ name: String, _ host: ManualClock) async throws -> TestReplica {
    let replica = try await TestReplica(name, zone: zone, clock: host)
    replica.store.setClock({ host.date }, sinceBoot: { Int64(host.milliseconds) })
    try await replica.sync()
    return replica
  }

  @Test("F31 An edit under a server's clock that was set back stands against an earlier one")
  func serverSetBack() async throws {
    let host = ManualClock()
    let one = try await replica("one", host)
    let id = try one.insert("Item", ["title": .string("first")])
    try await one.sync()
    let other = try await replica("other", host)
    func pass(_ milliseconds: UInt64) {
      for clock in [clock, host] { clock.advance(milliseconds: milliseconds) }
    }
    pass(3_600_000)
    try save(one, id, "before")
    pass(3_600_000)
    let right = clock.milliseconds
    clock.set(milliseconds: right - 365 * 86_400_000)
    try await other.sync()
    try save(other, id, "after")
    try await other.sync()
    clock.set(milliseconds: right)
    for replica in [one, other, one] { try await replica.sync() }
    #expect(try one.value(id, "title") == .string("after"))
    #expect(try other.value(id, "title") == .string("after"))
  }

  @Test("A server that was ahead and is right again is believed, and a refusal always is")
  func serverAheadAndRight() async throws {
    let host = ManualClock()
    let hour: UInt64 = 3_600_000
    clock.advance(milliseconds: 10 * hour)
    let one = try await replica("one", host)
    #expect(try one.store.clockOffsetMilliseconds == Int64(10 * hour))
    clock.set(milliseconds: host.milliseconds + 1000)
    try await one.sync()
    #expect(try one.store.clockOffsetMilliseconds == 1000)
    // A year back, and the zone has nothing that tells: what is refused moves to the server's clock.
    clock.set(milliseconds: host.milliseconds - 365 * 24 * hour)
    try await one.sync()
    #expect(try one.store.clockOffsetMilliseconds == 1000)
    let id = try one.insert("Item", ["title": .string("refused first")])
    try await one.sync()
    #expect(try one.store.clockOffsetMilliseconds < 0)
    let other = try await TestReplica("other", zone: zone, clock: host)
    try await other.sync()
    #expect(try other.value(id, "title") == .string("refused first"))
  }

  @Test("What is saved comes after all that was pulled, also where the host's clock is ahead")
  func afterWhatWasPulled() async throws {
    let host = ManualClock(milliseconds: clock.milliseconds + 3_600_000)
    let late = try await TestReplica("late", zone: zone, clock: clock)
    let fast = try await replica("fast", host)
    clock.advance(milliseconds: 100_000)
    let id = try late.insert("Item", ["title": .string("pulled")])
    try await late.sync()
    // The host's clock stood still meanwhile: by it the zone is a minute behind.
    try await fast.sync()
    let pulled = try late.store.read { try $0.hybridTime(of: $0.maximumTransactionNumber()) }
    try save(fast, id, "after")
    let saved = try fast.store.read { try $0.hybridTime(of: $0.maximumTransactionNumber()) }
    #expect(saved > pulled)
  }

  /// An edit that goes by the store's own clock.
  private func save(_ replica: TestReplica, _ id: UUID, _ title: String) throws {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: replica.store))
    let item = try #require(try context.object(withIdentity: id))
    try item.setValue(title, forKey: "title")
    try context.save()
  }
}
