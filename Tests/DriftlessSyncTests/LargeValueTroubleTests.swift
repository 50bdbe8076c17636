import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Large values where a server takes none, has no room, or has lost some, and lines that break: nothing else waits for them.
@Suite("Large values in trouble")
struct LargeValueTroubleTests {
  private typealias Shop = ValueShop

  private static func bytes(_ count: Int, _ seed: UInt64 = 1) -> Data {
    Shop.bytes(count, seed)
  }

  /// Where an edit brings a deleted object back.
  private static func keeping(_ model: ManagedObjectModel = shopModel()) -> ManagedObjectModel {
    model.entitiesByName["Item"]?.userInfo = [DeletePolicy.userInfoKey: "editWins"]
    return model
  }

  @Test("A server that takes none is not asked with each push")
  func takesNone() async throws {
    let shop = try await Shop()
    shop.zone.changeValues { $0.bytesMax = nil }
    try shop[0].insert("Item", ["blob": .data(Self.bytes(5000))])
    try await shop[0].sync()
    let infos = shop.ways[0].infos
    for seed in 2...4 as ClosedRange<UInt64> {
      try shop[0].insert("Item", ["blob": .data(Self.bytes(5000, seed))])
      try await shop[0].sync()
    }
    #expect(shop.ways[0].infos == infos)
  }

  @Test(
    "Where nobody says whether it takes large values, they go within change sets",
    arguments: [ProtocolError.Code.forbidden, .noZone])
  func untold(code: ProtocolError.Code) async throws {
    let shop = try await Shop()
    shop.ways[0].set(.init(infoRefusal: code))
    let photo = Self.bytes(5000)
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    try await shop[0].sync()
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .data(photo))
    #expect(shop.zone.traffic.valueBytes == 0)
  }

  @Test("What fails when a lost value is brought back holds up no push")
  func mendedLast() async throws {
    let shop = try await Shop()
    let photo = Self.bytes(5000)
    try shop[0].insert("Item", ["blob": .data(photo)])
    try await shop[0].sync()
    let digest = try #require(LargeValue(of: photo)?.digest)
    shop.zone.changeValues { $0.lose(digest) }
    shop.ways[0].set(.init(putRefusal: .busy))
    let news = try shop[0].insert("Item", ["title": .string("news")])
    try await shop[0].sync()
    try await shop[1].sync()
    #expect(try shop[1].exists(news))
    shop.ways[0].set(.init())
    try await shop[0].sync()
    #expect(shop.zone.log.values.digests.contains(digest), "it goes with the next sync")
  }

  @Test("A sealed value goes on where its line broke, and is not sealed anew")
  func sealedResumed() async throws {
    let shop = try await Shop(model: sealedShop(), keys: KeyRing())
    let photo = Self.bytes(3 << 20)
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    for _ in 0..<2 {
      shop.ways[0].set(.init(passing: 1))
      await #expect(throws: ValueWay.Cut.self) { try await shop[0].sync() }
      await shop[0].restart()
    }
    shop.ways[0].set(.init())
    try await shop[0].sync()
    #expect(shop.ways[0].bytes.sent == shop.zone.log.values.bytes, "no piece went twice")
    #expect(shop.zone.log.values.count == 1)
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .data(photo))
  }

  @Test("A stale push sends no value")
  func stale() async throws {
    let shop = try await Shop()
    let id = try shop[0].insert("Item", ["title": .string("a")])
    try await shop.syncAll()
    try shop[0].set(id, ["blob": .data(Self.bytes(5000, 1))])
    try shop[1].set(id, ["blob": .data(Self.bytes(5000, 2))])
    try await shop[1].sync()
    try await shop[0].push()
    #expect(try shop[0].value(id, "blob") == .data(Self.bytes(5000, 2)))
    #expect(shop.ways[0].bytes.sent == 0)
  }

  @Test("Where the server has no room for a value, what has none goes")
  func noRoom() async throws {
    let shop = try await Shop()
    shop.ways[0].set(.init(putRefusal: .diskFull))
    let photo = Self.bytes(5000)
    let large = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(photo)])
    let small = try shop[0].insert("Item", ["title": .string("b")])
    let error = await #expect(throws: ProtocolError.self) { try await shop[0].sync() }
    #expect(error?.code == .diskFull)
    try await shop[1].sync()
    #expect(try shop[1].exists(small) && !shop[1].exists(large))
    #expect(try shop[0].status.pending.objects == 1)
    shop.ways[0].set(.init())
    try await shop.syncAll()
    #expect(try shop[1].value(large, "blob") == .data(photo))
  }

  @Test(
    "An object that is brought back keeps the value that its replica lacks",
    arguments: [false, true])
  func revived(isSealed: Bool) async throws {
    let shop = try await Shop(
      model: Self.keeping(isSealed ? sealedShop() : shopModel()), keys: isSealed ? KeyRing() : nil)
    let photo = Self.bytes(5000)
    let id = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(photo)])
    try await shop[0].sync()
    shop.ways[1].set(.init(flipped: .max))
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .null)
    try shop[0].delete(id)
    try shop[1].set(id, ["title": .string("kept")])
    try await shop[0].sync()
    try await shop[1].sync()
    try await shop[0].sync()
    #expect(try shop[0].value(id, "title") == .string("kept"))
    #expect(try shop[0].value(id, "blob") == .data(photo))
    #expect(try SyncEngine.parked(of: shop[1].store).map(\.code) == ["missing-value"])
  }

  @Test("An object that is brought back waits where nobody has its value, and the rest goes")
  func revivedWithout() async throws {
    let shop = try await Shop(model: Self.keeping())
    let photo = Self.bytes(5000)
    let value = try #require(LargeValue(of: photo))
    let id = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(photo)])
    try await shop[0].sync()
    shop.zone.changeValues { $0.lose(value.digest) }
    try await shop[1].sync()
    try shop[0].delete(id)
    try shop[1].set(id, ["title": .string("kept")])
    let other = try shop[1].insert("Item", ["title": .string("other")])
    try await shop[0].push()
    try await shop[1].sync()
    let held = try SyncEngine.quarantine(of: shop[1].store)
    #expect(held.map(\.code) == ["conflicting"])
    #expect(held.first?.reason.contains(value.name) == true)
    try await shop[0].sync()
    #expect(try shop[0].exists(other) && !shop[0].exists(id))
    let piece = ValuePiece(
      value: value, replica: UUID(), generation: shop.zone.log.generation, first: 0, bytes: photo)
    shop.zone.changeValues { _ = try? $0.put(piece) }
    try SyncEngine.retryQuarantined(of: shop[1].store)
    try await shop.syncAll()
    for replica in shop.replicas { #expect(try replica.value(id, "blob") == .data(photo)) }
  }

  @Test("A value that was missing is opened as it was sealed, whatever the model here says")
  func kind() async throws {
    let shop = try await Shop(models: [sealedShop(), sealedShop(false)], keys: KeyRing())
    let photo = Self.bytes(5000)
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    try await shop[0].sync()
    shop.ways[1].set(.init(flipped: .max))
    try await shop[1].sync()
    #expect(try SyncEngine.parked(of: shop[1].store).map(\.code) == ["missing-value"])
    shop.ways[1].set(.init())
    try SyncEngine.retryParked(of: shop[1].store)
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .data(photo))
  }

  @Test("A save goes as a whole, however many large values it has")
  func oneSave() async throws {
    let shop = try await Shop(pushValueBytesMax: 60_000)
    try shop[0].save { context in
      for seed in 1...4 as ClosedRange<UInt64> {
        let item = try context.insert(entityNamed: "Item")
        try item.setValue(Self.bytes(50_000, seed), forKey: "blob")
      }
    }
    let report = try await shop[0].sync()
    #expect(report.push.changeSets == 1 && report.push.objects == 4)
    #expect(shop.zone.log.values.count == 4)
  }

  @Test("A limit that was raised is heard of, and the reason says what to do")
  func raised() async throws {
    let shop = try await Shop()
    shop.zone.changeValues { $0.bytesMax = 4000 }
    let id = try shop[0].insert("Item", ["blob": .data(Self.bytes(5000))])
    try await shop[0].sync()
    let held = try SyncEngine.quarantine(of: shop[0].store)
    #expect(held.map(\.code) == ["too-large"])
    #expect(held.first?.suggestion.contains("syncctl quarantine retry") == true)
    shop.zone.changeValues { $0.bytesMax = 6000 }
    try SyncEngine.retryQuarantined(of: shop[0].store)
    try await shop[0].sync()
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .data(Self.bytes(5000)))
    #expect(shop.zone.traffic.valueBytes > 0)
  }

  @Test("A missing value under an edit that waits is not fetched with each pull")
  func edited() async throws {
    let shop = try await Shop()
    let id = try shop[0].insert("Item", ["blob": .data(Self.bytes(5000))])
    try await shop[0].sync()
    shop.ways[1].set(.init(flipped: .max))
    try await shop[1].pull()
    await shop[1].restart()
    shop.ways[1].set(.init())
    try shop[1].set(id, ["blob": .data(Self.bytes(100))])
    let received = shop.ways[1].bytes.received
    for _ in 0..<3 { try await shop[1].pull() }
    #expect(shop.ways[1].bytes.received == received)
  }
}
