import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DriftlessSync

/// What a server, or a proxy before it, costs that lets all through but large values: a few attempts, and nothing is lost by it.
@Suite("Large values that stall")
struct StalledValueTests {
  private typealias Photo = (id: UUID, bytes: Data, digest: Data)

  /// Photos of a replica, in the order of their digests, that a second one has heard of, or fetches with its first sync.
  private static func photos(
    _ count: UInt64, isFirstUse: Bool = true
  ) async throws -> (shop: ValueShop, photos: [Photo]) {
    let shop = try await ValueShop(2, firstUse: isFirstUse ? [1] : [])
    let photos = try (1...count).map { seed -> Photo in
      let bytes = ValueShop.bytes(2000, seed)
      let id = try shop[0].insert("Item", ["title": .string("\(seed)"), "blob": .data(bytes)])
      return (id, bytes, try #require(LargeValue(of: bytes)?.digest))
    }
    try await shop[0].sync()
    if isFirstUse { try await shop[1].sync() }
    return (shop, photos.sorted { $0.digest.lexicographicallyPrecedes($1.digest) })
  }

  private static func expectAll(
    _ photos: [Photo], in replica: TestReplica, _ location: SourceLocation = #_sourceLocation
  ) throws {
    for photo in photos {
      #expect(
        try replica.value(photo.id, "blob") == .data(photo.bytes), sourceLocation: location)
    }
    #expect(try SyncEngine.wantedFailure(of: replica.store) == nil, sourceLocation: location)
    #expect(try SyncEngine.check(replica.store).isSound, sourceLocation: location)
  }

  private static let all: @Sendable (Data) -> Bool = { _ in true }

  @Test(
    "A sync asks a few times, says why, and one attempt finds out whether the way is there again")
  func wanted() async throws {
    let (shop, photos) = try await Self.photos(20)
    let (store, way) = (shop[1].store, shop.ways[1])
    try SyncEngine.wantValues(of: store)
    way.set(.init(stalled: (Self.all, .init())))
    let own = try shop[1].insert("Item", ["title": .string("own")])
    try await shop[1].sync()
    #expect(way.stalled.count == SyncTuning.valueFailuresInARowMax)
    #expect(try SyncEngine.wantedValues(of: store) == 20)
    #expect(try SyncEngine.wantedFailure(of: store)?.code == "timed-out")
    #expect(try SyncEngine.awaitedValues(of: store).allSatisfy { $0.reason == nil })
    #expect(try shop[1].status.valuesInZone == 20 && shop[1].status.parked == 0)
    try await shop[0].sync()
    #expect(try shop[0].exists(own))
    for number in 1...3 {
      try await shop[1].sync()
      #expect(way.stalled.count == SyncTuning.valueFailuresInARowMax + number)
    }
    #expect(Set(way.stalled).count == 5, "another one each time")
    way.set(.init())
    try await shop[1].sync()
    try Self.expectAll(photos, in: shop[1])
  }

  @Test("A page comes all the same, and what it names with the syncs after it")
  func pulled() async throws {
    let (shop, photos) = try await Self.photos(20, isFirstUse: false)
    let way = shop.ways[1]
    way.set(.init(stalled: (Self.all, .init())))
    try await shop[1].sync()
    #expect(way.stalled.count == SyncTuning.valueFailuresInARowMax)
    for (photo, title) in zip(photos, try photos.map { try shop[0].value($0.id, "title") }) {
      #expect(try shop[1].value(photo.id, "title") == title)
    }
    #expect(try SyncEngine.awaitedValues(of: shop[1].store).allSatisfy { $0.reason == nil })
    #expect(try shop[1].status.valuesInZone == 20 && shop[1].status.parked == 0)
    #expect(try SyncEngine.wantedFailure(of: shop[1].store)?.code == "timed-out")
    try await shop[1].sync()
    #expect(way.stalled.count == SyncTuning.valueFailuresInARowMax + 1)
    way.set(.init())
    try await shop[1].sync()
    try Self.expectAll(photos, in: shop[1])
  }

  @Test(
    "One at which the way breaks, and at others not, holds up none, and is asked for again after a while, or once somebody asks",
    arguments: [true, false])
  func alone(isFirstUse: Bool) async throws {
    let (shop, photos) = try await Self.photos(6, isFirstUse: isFirstUse)
    let (store, way) = (shop[1].store, shop.ways[1])
    let digest = photos[0].digest
    if isFirstUse { try SyncEngine.wantValues(of: store) }
    way.set(.init(stalled: ({ $0 == digest }, .init())))
    try await shop[1].sync()
    for photo in photos.dropFirst() {
      #expect(try shop[1].value(photo.id, "blob") == .data(photo.bytes))
    }
    #expect(way.stalled.count == SyncTuning.valueAttemptsMax)
    #expect(try SyncEngine.wantedFailure(of: store)?.code == "timed-out")
    let since = try SyncEngine.wantedFailure(of: store)?.since
    shop.clock.advance()
    try await shop[1].sync()
    #expect(way.stalled.count == SyncTuning.valueAttemptsMax, "not with each sync")
    #expect(try SyncEngine.wantedFailure(of: store)?.since == since, "it is the same still")
    #expect(try SyncEngine.awaitedValues(of: store).map(\.reason) == [nil])
    way.set(.init())
    try SyncEngine.wantValues(of: store)
    try await shop[1].sync()
    try Self.expectAll(photos, in: shop[1])
  }

  @Test("Many at which the way breaks, among others, cost a sync no more than some attempts")
  func some() async throws {
    let (shop, photos) = try await Self.photos(60)
    let (store, way) = (shop[1].store, shop.ways[1])
    let meant = Set(photos.enumerated().filter { $0.offset % 2 == 0 }.map(\.element.digest))
    try SyncEngine.wantValues(of: store)
    way.set(.init(stalled: ({ meant.contains($0) }, .init())))
    try await shop[1].sync()
    #expect(way.stalled.count == SyncTuning.valueFailuresMax)
    for _ in 0..<30 where try SyncEngine.awaitedValues(of: store).count > meant.count {
      let before = way.stalled.count
      try await shop[1].sync()
      #expect(way.stalled.count <= before + SyncTuning.valueFailuresMax)
    }
    #expect(try SyncEngine.awaitedValues(of: store).count == meant.count)
    #expect(try SyncEngine.wantedValues(of: store) == meant.count)
  }

  @Test("A server that asks for patience is asked no more until then")
  func patience() async throws {
    let (shop, _) = try await Self.photos(4)
    let (store, way) = (shop[1].store, shop.ways[1])
    try SyncEngine.wantValues(of: store)
    way.set(.init(stalled: (Self.all, .init(name: "busy", retryAfterSeconds: 600))))
    try await shop[1].sync()
    try await shop[1].sync()
    #expect(way.stalled.count == 1)
    #expect(try SyncEngine.wantedFailure(of: store)?.code == "busy")
    #expect(try SyncEngine.wantedValues(of: store) == 4)
  }

  @Test("A download of many ends soon, says why, and all is wanted still")
  func downloaded() async throws {
    let (shop, photos) = try await Self.photos(70)
    let way = shop.ways[1]
    way.set(.init(stalled: (Self.all, .init())))
    let error = await #expect(throws: SyncError.self) { try await shop[1].engine.downloadAll() }
    #expect(error?.code == .valueUnreachable)
    #expect(way.stalled.count == SyncTuning.valueFailuresInARowMax)
    #expect(try SyncEngine.wantedValues(of: shop[1].store) == 70)
    way.set(.init())
    try await shop[1].sync()
    try Self.expectAll(photos, in: shop[1])
  }

  @Test("A value of which a few bytes come at a time is taken for none")
  func crumbs() async throws {
    let shop = try await ValueShop(1)
    let photo = ValueShop.bytes(50_000)
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    try await shop[0].sync()
    let crumbs = CrumblingZone(shop.zone)
    var options = SyncOptions()
    options.largeValueBytesMin = 1000
    let small = try await TestReplica(
      "small", zone: shop.zone, clock: shop.clock, transport: crumbs, options: options)
    try await small.sync()
    #expect(crumbs.questions == SyncTuning.damagedAttemptsMax)
    #expect(try SyncEngine.parked(of: small.store).map(\.code) == ["missing-value"])
    #expect(try small.kept(id, "blob")?.isInZone == true)
  }

  @Test(
    "The pause of a value at which the way breaks alone grows, to an hour, and ends when it comes")
  func pauses() throws {
    let value = try #require(LargeValue(of: ValueShop.bytes(2000)))
    let second = try #require(LargeValue(of: ValueShop.bytes(2000, 2)))
    var memory = ValueMemory()
    let now = ContinuousClock.now
    func mayAsk(after seconds: Int) -> Bool {
      memory.mayAsk(for: value, at: now + .seconds(seconds))
    }
    memory.noteBroken(value, ValueWay.Stall(), at: now)
    #expect(mayAsk(after: 1) && !memory.isBefore(value, second) && memory.broken(value) != nil)
    for seconds in [60, 120, 240, 480, 960, 1920, 3600, 3600] {
      memory.noteBroken(value, ValueWay.Stall(), at: now)
      memory.noteBrokenAlone(value, ValueWay.Stall(), at: now)
      #expect(!mayAsk(after: seconds - 1) && mayAsk(after: seconds + 1), "\(seconds)")
    }
    memory.noteCame(value)
    #expect(mayAsk(after: 0) && memory.broken(value) == nil)
  }

  @Test("A piece that goes back too slowly has twice the time when it goes again, to a bound")
  func slowPieces() throws {
    let value = try #require(LargeValue(of: ValueShop.bytes(2000)))
    let second = try #require(LargeValue(of: ValueShop.bytes(2000, 2)))
    var memory = ValueMemory()
    for seconds in [30, 60, 120, 240, 376, 376] {
      #expect(memory.pieceSeconds(for: value) == seconds)
      memory.noteSlowToSend(value)
      #expect(!memory.mayLook(for: value) && memory.mayLook(for: second))
    }
    #expect(memory.pieceSeconds(for: second) == 30)
    memory.forgetLacking()
    #expect(memory.pieceSeconds(for: value) == 30)
  }
}

/// A way to a zone that gives a byte of a large value at a time.
private final class CrumblingZone: ForwardingTransport {
  let next: any SyncTransport
  private let asked = Mutex(0)
  var questions: Int { asked.withLock { $0 } }

  init(_ next: any SyncTransport) { self.next = next }

  func value(_ digest: Data, of generation: UUID, range: Range<Int>) async throws -> Data {
    asked.withLock { $0 += 1 }
    return try await next.value(digest, of: generation, range: range.prefix(1))
  }
}
