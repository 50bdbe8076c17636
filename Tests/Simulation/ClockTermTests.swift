import Driftless
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import Testing

/// What is kept for a term, under clocks that are wrong for one sync.
struct ClockTermTests {
  private static let year: Int64 = 365 * 86_400_000

  private func entries(_ host: Host) throws -> SQLiteValue? {
    try host.store.read { try $0.connection.scalar("SELECT count(*) FROM ZDL_FRAME") }
  }

  @Test(
    "A delete that the zone never heard of is remembered whatever a clock says once",
    arguments: [-30, 0, 1, 10])
  func deletes(years: Int64) async throws {
    let stage = try await Stage(.memory, hosts: 1)
    try stage.insert(0, "Item", ["title": .string("one")])
    try await stage.sync(0)
    let item = try stage.insert(0, "Item", ["title": .string("made and deleted")])
    let clone = try stage.clone(0)
    try stage.delete(0, item)
    try await stage.sync(0)
    stage.hosts[0].skew.withLock { $0 = years * Self.year }
    try await stage.sync(0)
    stage.hosts[0].skew.withLock { $0 = 0 }
    try await stage.sync(0)
    try await stage.sync(clone)
    try await stage.settle()
    #expect(stage.hosts[0].image.things[item] == nil)
    #expect(try !SyncEngine.conflicts(of: stage.hosts[0].store).isEmpty, "and the journal says so")
  }

  @Test("Who came back to a server under a clock that was ahead comes back again once it is right")
  func cameBack() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    try stage.insert(0, "Item", ["title": .string("one")])
    try await stage.settle()
    try stage.server.backup()
    let lost = try stage.insert(0, "Item", ["title": .string("lost")])
    try await stage.sync(0)
    try await stage.partLogs()
    stage.hosts[0].skew.withLock { $0 = 10 * Self.year }
    try await stage.sync(0)
    stage.hosts[0].skew.withLock { $0 = 0 }
    #expect(try stage.hosts[0].status.reconciled?.kind == .offered)
    try await stage.settle()
    stage.clock.advance(milliseconds: 3 * 86_400_000)
    try await stage.partLogs()
    try await stage.sync(0)
    try await stage.settle()
    #expect(stage.value(1, lost, "title") == "\"lost\"")
  }

  @Test(
    "Entries that are kept for a server outlive a clock that is wrong once, and are handed over",
    arguments: [-60, 1, 10])
  func entriesStay(years: Int64) async throws {
    let stage = try await Stage(.memory, hosts: 2)
    try stage.insert(0, "Item", ["title": .string("one")])
    try await stage.settle()
    try stage.server.backup()
    let lost = try stage.insert(0, "Item", ["title": .string("lost")])
    try await stage.sync(0)
    let before = try entries(stage.hosts[0])
    stage.hosts[0].skew.withLock { $0 = years * Self.year }
    try await stage.sync(0)
    #expect(try entries(stage.hosts[0]) == before)
    stage.hosts[0].skew.withLock { $0 = 0 }
    try await stage.sync(0)
    #expect(try entries(stage.hosts[0]) == before)
    try stage.server.restore(0)
    try await stage.sync(0)
    #expect(try stage.hosts[0].status.reconciled?.kind == .refilled)
    try await stage.settle()
    #expect(stage.value(1, lost, "title") == "\"lost\"")
  }
}
