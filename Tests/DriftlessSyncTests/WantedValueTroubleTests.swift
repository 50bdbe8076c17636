import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation
import TestSupport
import Testing

@testable import DriftlessSync

/// One value that does not come holds up no other, no push and no page, and is told with its reason.
@Suite("Large values that do not come")
struct WantedValueTroubleTests {
  /// Photos of a replica, in the order of their digests: a second one has their names, or fetches them.
  private static func photos(
    _ count: UInt64, isFirstUse: Bool = true
  ) async throws -> (shop: ValueShop, photos: [(id: UUID, bytes: Data, digest: Data)]) {
    let shop = try await ValueShop(2, firstUse: isFirstUse ? [1] : [])
    let photos = try (1...count).map { seed -> (id: UUID, bytes: Data, digest: Data) in
      let bytes = ValueShop.bytes(5000, seed)
      let id = try shop[0].insert("Item", ["blob": .data(bytes)])
      return (id, bytes, try #require(LargeValue(of: bytes)?.digest))
    }
    try await shop[0].sync()
    return (shop, photos.sorted { $0.digest.lexicographicallyPrecedes($1.digest) })
  }

  @Test(
    "One that the server does not give holds up none behind it, and is asked for again when somebody asks",
    arguments: [ProtocolError.Code.malformed, .tooLarge])
  func refused(code: ProtocolError.Code) async throws {
    let (shop, photos) = try await Self.photos(4)
    try await shop[1].sync()
    try SyncEngine.wantValues(of: shop[1].store)
    shop.ways[1].set(.init(refusals: [photos[0].digest: code]))
    try await shop[1].sync()
    for photo in photos.dropFirst() {
      #expect(try shop[1].value(photo.id, "blob") == .data(photo.bytes))
    }
    #expect(try SyncEngine.awaitedValues(of: shop[1].store).map(\.reason) == ["refused"])
    #expect(try SyncEngine.wantedFailure(of: shop[1].store)?.code == code.rawValue)
    #expect(try SyncEngine.wantedValues(of: shop[1].store) == 1)
    // It is not asked for with each sync, and its reason stays.
    let questions = shop.ways[1].questions
    try await shop[1].sync()
    #expect(shop.ways[1].questions == questions)
    #expect(try SyncEngine.wantedFailure(of: shop[1].store)?.code == code.rawValue)
    shop.ways[1].set(.init())
    try SyncEngine.wantValues(of: shop[1].store)
    try await shop[1].sync()
    #expect(try shop[1].value(photos[0].id, "blob") == .data(photos[0].bytes))
    #expect(try SyncEngine.wantedFailure(of: shop[1].store) == nil)
    #expect(try SyncEngine.awaitedValues(of: shop[1].store).isEmpty)
  }

  @Test("A download of several goes on behind one that does not come, and says so at its end")
  func downloaded() async throws {
    let (shop, photos) = try await Self.photos(4)
    try await shop[1].sync()
    shop.ways[1].set(.init(refusals: [photos[1].digest: .malformed]))
    let error = await #expect(throws: ProtocolError.self) {
      try await shop[1].engine.downloadAll()
    }
    #expect(error?.code == .malformed)
    for (number, photo) in photos.enumerated() where number != 1 {
      #expect(try shop[1].value(photo.id, "blob") == .data(photo.bytes))
    }
  }

  @Test("A store is not in step while what somebody asked for does not come, and hears of news")
  func loop() async throws {
    let (shop, photos) = try await Self.photos(1)
    try await shop[1].sync()
    try SyncEngine.wantValues(of: shop[1].store)
    shop.ways[1].set(.init(refusals: [photos[0].digest: .malformed]))
    for await state in shop[1].engine.run() {
      switch state {
      case .inStep:
        Issue.record("it is in step")
      case .refused(let pause):
        #expect(pause.failure.code == "malformed" && pause.attempts == 1)
      default: continue
      }
      break
    }
    var schedule = SyncSchedule(delays: .init(retryFirst: 1, retryMax: 60, idle: 900, poll: 50))
    _ = schedule.handle(.started)
    for seconds in [1.0, 2, 4, 8, 16, 32, 60, 60] {
      let actions = schedule.handle(.succeededInPart(waitsForRoom: false), jitter: 1)
      #expect(actions == [.listen, .wake(after: seconds)])
      #expect(schedule.handle(.news) == [.deafen, .startSync])
    }
    #expect(schedule.handle(.succeeded) == [.listen, .wake(after: 900)])
    #expect(schedule.failedAttempts == 0)
  }

  @Test(
    "One that does not come with a page is set aside alone: the page goes on, and so does a push")
  func pulled() async throws {
    let (shop, photos) = try await Self.photos(3, isFirstUse: false)
    shop.ways[1].set(.init(refusals: [photos[0].digest: .malformed]))
    let own = try shop[1].insert("Item", ["title": .string("own")])
    try await shop[1].sync()
    try await shop[0].sync()
    #expect(try shop[0].exists(own))
    for photo in photos.dropFirst() {
      #expect(try shop[1].value(photo.id, "blob") == .data(photo.bytes))
    }
    let parked = try SyncEngine.parked(of: shop[1].store)
    #expect(parked.map(\.code) == ["missing-value"])
    #expect(parked.first?.reason.contains("does not give") == true)
    shop.ways[1].set(.init())
    #expect(try SyncEngine.retryParked(of: shop[1].store) == 1)
    try await shop[1].sync()
    #expect(try shop[1].value(photos[0].id, "blob") == .data(photos[0].bytes))
    // Where the way to the zone is not there, a pull ends as ever.
    try shop[0].set(photos[0].id, ["blob": .data(ValueShop.bytes(5000, 9))])
    try await shop[0].sync()
    shop.ways[1].set(.init(passing: 0))
    await #expect(throws: ValueWay.Cut.self) { try await shop[1].sync() }
  }

  @Test("A cancelled download takes nothing back that somebody else has asked for meanwhile")
  func cancelled() async throws {
    let (shop, _) = try await Self.photos(2)
    try await shop[1].sync()
    let store = shop[1].store
    shop.ways[1].set(.init(beforeValue: { throw CancellationError() }))
    await #expect(throws: CancellationError.self) { try await shop[1].engine.downloadAll() }
    #expect(try SyncEngine.wantedValues(of: store) == 0)
    shop.ways[1].set(
      .init(beforeValue: {
        try SyncEngine.wantValues(of: store)
        throw CancellationError()
      }))
    await #expect(throws: CancellationError.self) { try await shop[1].engine.downloadAll() }
    #expect(try SyncEngine.wantedValues(of: store) == 2)
  }

  @Test("What the disk has no room for is in the zone, waits for no person, and is tried again")
  func withoutRoom() async throws {
    let shop = try await ValueShop(1)
    let disk = FullDisk()
    var options = disk.options
    options.largeValueBytesMin = 1000
    let way = ValueWay(shop.zone)
    let small = try await TestReplica(
      "small", zone: shop.zone, clock: shop.clock, transport: way, options: options)
    let photo = ValueShop.bytes(50_000)
    let value = try #require(LargeValue(of: photo))
    let ids = try (0..<20).map { _ in try shop[0].insert("Item", ["blob": .data(photo)]) }
    try await shop[0].sync()
    shop.zone.changeValues { $0.lose(value.digest) }
    try await small.sync()
    #expect(try small.status.parked == 20)
    // Enough for some of the objects.
    disk.leave(400_000)
    try await shop[0].sync()
    try await small.sync()
    #expect(way.bytes.received == 0, "all of it does not fit")
    let status = try small.status
    #expect(status.parked == 0 && status.valuesInZone == 20 && status.valuesWithoutRoom == 1)
    #expect(try SyncEngine.parked(of: small.store).isEmpty)
    disk.leave(.max)
    #expect(try SyncEngine.retryParked(of: small.store) == 1)
    try await small.sync()
    for id in ids { #expect(try small.value(id, "blob") == .data(photo)) }
    #expect(try small.status.valuesInZone == 0 && small.status.valuesWithoutRoom == 0)
    #expect(way.bytes.received == photo.count)
  }

  @Test(
    "Values that were set here anew are not in the zone, also where not all that waits is counted")
  func countedByRows() async throws {
    let (shop, photos) = try await Self.photos(2)
    try await shop[1].sync()
    for number in 0..<5 { try shop[1].insert("Item", ["title": .string("\(number)")]) }
    try shop[1].set(photos[0].id, ["blob": .data(ValueShop.bytes(100))])
    for changesMax in [0, 2, 100] {
      #expect(
        try SyncEngine.status(of: shop[1].store, changesMax: changesMax).valuesInZone == 1,
        "\(changesMax)")
    }
  }
}
