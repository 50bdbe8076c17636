import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DriftlessSync

/// What goes on while a large value is sent in many turns.
@Suite("Turns of pushes", .timeLimit(.minutes(5)))
struct PushTurnTests {
  @Test("A push beside a loop sends all, and what is saved meanwhile goes between the pieces")
  func push() async throws {
    let shop = try await ValueShop(2)
    let sent = try shop.sendPhotoInPieces()
    await shop[0].engine.takeTurns(ofSeconds: 0)
    let report = try await shop[0].engine.pushInTurns(allowingMassDelete: false)
    #expect(report.objects == 2)
    #expect(sent.heads == [0, 1, 1, 1])
    #expect(shop.ways[0].bytes.sent == sent.photo.count)
    #expect(try shop[0].status.pending.isEmpty)
    try await shop[1].sync()
    #expect(try shop[1].value(sent.id, "blob") == .data(sent.photo))
  }

  @Test("A push alone sends all that waits, with its large values")
  func alone() async throws {
    let shop = try await ValueShop(2)
    let photo = ValueShop.bytes(3 << 20 + 5000)
    let id = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(photo)])
    await shop[0].engine.takeTurns(ofSeconds: 0)
    _ = try await shop[0].engine.push()
    #expect(try shop[0].status.pending.isEmpty)
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .data(photo))
  }

  @Test("A pull beside a loop brings all, in turns")
  func pull() async throws {
    let shop = try await ValueShop(2)
    let photos = (1...3).map { ValueShop.bytes(12_000, $0) }
    for photo in photos { try shop[0].insert("Item", ["blob": .data(photo)]) }
    try await shop[0].sync()
    await shop[1].engine.takeTurns(ofSeconds: 0)
    let report = try await shop[1].engine.pullInTurns(allowingMassDelete: false)
    #expect(report.inserted == 3)
    #expect(try shop[1].export == shop[0].export)
    #expect(shop.ways[1].bytes.received == photos.count * 12_000, "no byte came twice")
  }

  @Test("What was stale for good is tried again between the pieces of a large value")
  func triedAgain() async throws {
    let shop = try await ValueShop(1)
    let picky = PickyTransport(shop.ways[0], .init(word: "poison", saysStale: true))
    var options = SyncOptions()
    options.largeValueBytesMin = 1000
    let replica = try await TestReplica(
      "picky", zone: shop.zone, clock: shop.clock, transport: picky, options: options)
    for index in 0..<30 {
      try replica.insert("Item", ["title": .string(index == 17 ? "poison" : "\(index)")])
    }
    try await replica.sync()
    let entry = try #require(try SyncEngine.quarantine(of: replica.store).first)
    #expect(entry.code == "conflicting")
    picky.set(.init())
    shop.clock.advance(milliseconds: 4_000_000)
    let photo = ValueShop.bytes(3 << 20 + 5000)
    let id = try replica.insert("Item", ["blob": .data(photo)])
    await replica.engine.takeTurns(ofSeconds: 0)
    let turn = try await replica.engine.syncOnce(false, inTurn: true)
    #expect(turn.hasMore)
    #expect(try replica.status.quarantined == 0)
    try await shop[0].sync()
    #expect(try shop[0].value(entry.object, "title") == .string("poison"))
    #expect(try !shop[0].exists(id))
    _ = try await replica.engine.syncInTurns(allowingMassDelete: false)
    #expect(shop.ways[0].bytes.sent == photo.count, "no byte went twice")
    try await shop[0].sync()
    #expect(try shop[0].value(id, "blob") == .data(photo))
  }

  @Test(
    "Who syncs or pulls by itself hears of deletes that wait, also where more values are left than one sync takes",
    arguments: [true, false])
  func waitingBesideValues(isOwn: Bool) async throws {
    let shop = try await ValueShop(1)
    var options = SyncOptions()
    options.massDelete.floor = 8
    options.largeValueBytesMin = 1000
    let replica = try await TestReplica(
      "careful", zone: shop.zone, clock: shop.clock, transport: shop.ways[0], options: options)
    let items = try (0..<40).map { try replica.insert("Item", ["title": .string("\($0)")]) }
    let photo = ValueShop.bytes(2 << 20)
    try replica.insert("Item", ["blob": .data(photo)])
    try await replica.sync()
    try await shop[0].sync()
    let deleting = isOwn ? replica : shop[0]
    for item in items.prefix(30) { try deleting.delete(item) }
    // So few are nothing to the other one: it gives no word on them.
    if !isOwn { try await shop[0].sync() }
    // The zone gets it back, a piece a sync.
    shop.zone.changeValues { $0.lose(LargeValue(of: photo)?.digest ?? Data()) }
    await replica.engine.mend(bytesMax: 1)
    let before = shop.ways[0].bytes.sent
    let error = await #expect(throws: SyncError.self) {
      if isOwn { _ = try await replica.engine.sync() } else { _ = try await replica.engine.pull() }
    }
    #expect(error?.code == .massDelete)
    #expect(shop.ways[0].bytes.sent - before == 1 << 20, "one of two pieces went")
  }
}
