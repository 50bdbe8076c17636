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
    let photo = ValueShop.bytes(3 << 20 + 5000)
    let id = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(photo)])
    let (store, zone) = (shop[0].store, shop.zone)
    let heads = Mutex<[UInt64]>([])
    shop.ways[0].set(
      .init(beforePut: {
        let isFirst = heads.withLock { heads in
          heads.append(zone.head)
          return heads.count == 1
        }
        guard isFirst else { return }
        let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
        try context.insert(entityNamed: "Item").setValue("own", forKey: "title")
        try context.save()
      }))
    await shop[0].engine.takeTurns(ofSeconds: 0)
    let report = try await shop[0].engine.pushInTurns(allowingMassDelete: false)
    #expect(report.objects == 2)
    #expect(heads.withLock { $0 } == [0, 1, 1, 1])
    #expect(shop.ways[0].bytes.sent == photo.count)
    #expect(try shop[0].status.pending.isEmpty)
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .data(photo))
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
}
