import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessTesting
import Foundation
import TestSupport
import Testing

@testable import DriftlessSync

/// Replicas let go of large values that the zone has, and of no others.
@Suite("Letting large values go")
struct ValueLetGoTests {
  private typealias Shop = ValueShop

  private static func bytes(_ count: Int, _ seed: UInt64 = 1) -> Data { Shop.bytes(count, seed) }

  /// Two replicas with photos of 50,000 bytes; the second one may let go of them.
  private static func photos(
    _ count: UInt64 = 1, model: ManagedObjectModel = shopModel(), keys: KeyRing? = nil
  ) async throws -> (shop: ValueShop, ids: [UUID]) {
    let shop = try await ValueShop(2, model: model, keys: keys, firstUse: [1])
    let ids = try (0..<count).map { seed in
      try shop[0].insert(
        "Item", ["title": .string("\(seed)"), "blob": .data(bytes(50_000, seed + 1))])
    }
    try await shop.syncAll()
    try await shop[1].engine.downloadAll()
    return (shop, ids)
  }

  private static func inZone(_ replica: TestReplica) throws -> Int {
    try replica.status.valuesInZone
  }

  @Test(
    "A value goes, its object keeps its name, nobody is told, and it comes again when asked for")
  func goes() async throws {
    let (shop, ids) = try await Self.photos()
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: shop[1].store))
    let object = try #require(try context.object(withIdentity: ids[0]))
    #expect(object["blob"] as? Data == Self.bytes(50_000))
    let head = shop.zone.head
    let report = try await shop[1].engine.letGo(object.objectID, key: "blob")
    #expect(report.counts == [1, 50_000, 0, 0])
    try context.refresh(object, mergeChanges: true)
    #expect(try object.valueState(forKey: "blob") == .inZone(bytes: 50_000))
    #expect(try Self.inZone(shop[1]) == 1 && shop[1].status.pending.isEmpty)
    #expect(try SyncEngine.parked(of: shop[1].store).isEmpty)
    try await shop.syncAll()
    #expect(shop.zone.head == head, "to let go is no edit")
    #expect(try shop[0].value(ids[0], "blob") == .data(Self.bytes(50_000)))
    #expect(try await shop[1].engine.verify().isEqual)
    #expect(try SyncEngine.check(shop[1].store).isSound)
    // An edit of another property leaves it alone.
    try shop[1].set(ids[0], ["title": .string("later")])
    try await shop.syncAll()
    #expect(try shop[0].value(ids[0], "blob") == .data(Self.bytes(50_000)))
    try await shop[1].engine.downloadAll()
    #expect(try shop[1].value(ids[0], "blob") == .data(Self.bytes(50_000)))
    #expect(try shop[1].export == shop[0].export)
  }

  @Test("A value that was made here goes once the zone has it, and not before")
  func unsent() async throws {
    let (shop, ids) = try await Self.photos()
    let own = try shop[1].insert("Item", ["blob": .data(Self.bytes(60_000, 7))])
    try shop[1].set(ids[0], ["blob": .data(Self.bytes(70_000, 8))])
    #expect(
      try await shop[1].engine.letGoValues().counts
        == [0, 0, 2, 130_000])
    #expect(try shop[1].value(own, "blob") == .data(Self.bytes(60_000, 7)))
    // What waits of another property of the object is no matter.
    try await shop[1].sync()
    try shop[1].set(ids[0], ["title": .string("unsent")])
    #expect(
      try await shop[1].engine.letGoValues(of: "Item", key: "blob").counts
        == [2, 130_000, 0, 0])
    try await shop.syncAll()
    #expect(try shop[0].value(ids[0], "blob") == .data(Self.bytes(70_000, 8)))
    #expect(try shop[0].value(ids[0], "title") == .string("unsent"))
    #expect(try shop[0].value(own, "blob") == .data(Self.bytes(60_000, 7)))
  }

  @Test(
    "A store that fetches all values with their changes says that it keeps them, and lets go of none"
  )
  func eager() async throws {
    let (shop, _) = try await Self.photos()
    #expect(try await shop[0].engine.letGoValues().keepsAll == true)
    try SyncEngine.askToLetGo(of: shop[0].store)
    try await shop[0].sync()
    let report = try #require(try SyncEngine.letGoReport(of: shop[0].store))
    #expect(report.keepsAll == true && report.counts == [0, 0, 0, 0])
    // On the other one, of a property that may wait, there is something to let go of.
    try SyncEngine.askToLetGo(of: shop[1].store, key: "title")
    try await shop[1].sync()
    #expect(try SyncEngine.letGoReport(of: shop[1].store)?.keepsAll == true)
    let gone = try await shop[1].engine.letGoValues()
    #expect(gone.keepsAll == nil && gone.values == 1)
    #expect(try await shop[1].engine.letGoValues().keepsAll == nil)
  }

  @Test(
    "Of several that were asked for, one that is fetched on first use is enough: the store does not keep all",
    arguments: [true, false])
  func keepsSome(isLast: Bool) async throws {
    let (shop, _) = try await Self.photos()
    let store = shop[1].store
    for key in isLast ? ["title", "blob"] : ["blob", "title"] {
      try SyncEngine.askToLetGo(of: store, key: key)
    }
    try await shop[1].sync()
    let report = try #require(try SyncEngine.letGoReport(of: store))
    #expect(report.keepsAll == nil && report.values == 1, "\(report)")
    for key in ["title", "note"] { try SyncEngine.askToLetGo(of: store, key: key) }
    try await shop[1].sync()
    #expect(try SyncEngine.letGoReport(of: store)?.keepsAll == true)
  }

  @Test("What the zone lost, or never had by itself, stays")
  func notHeld() async throws {
    let (shop, ids) = try await Self.photos(2)
    let digest = try #require(LargeValue(of: Self.bytes(50_000, 1))?.digest)
    // One that went within its change set, since the server took none.
    shop.zone.changeValues { $0.bytesMax = nil }
    let inside = try shop[0].insert("Item", ["blob": .data(Self.bytes(8000, 9))])
    await shop[0].restart()
    try await shop[0].push()
    shop.zone.changeValues { $0.bytesMax = 1 << 20 }
    try await shop[1].pull()
    shop.zone.changeValues { $0.lose(digest) }
    let report = try await shop[1].engine.letGoValues()
    #expect(report.counts == [1, 50_000, 2, 58_000])
    #expect(try shop[1].value(ids[0], "blob") == .data(Self.bytes(50_000, 1)))
    #expect(try shop[1].value(ids[1], "blob") == .null)
    #expect(try shop[1].value(inside, "blob") == .data(Self.bytes(8000, 9)))
  }

  @Test("Who sent what was let go of is not known once the server has lost it")
  func lostSender() async throws {
    let (shop, ids) = try await Self.photos()
    #expect(try await shop[1].engine.letGoValues().values == 1)
    let digest = try #require(LargeValue(of: Self.bytes(50_000))?.digest)
    shop.zone.changeValues { $0.lose(digest) }
    try await shop[1].sync()
    let parked = try SyncEngine.parked(of: shop[1].store)
    #expect(parked.map(\.code) == ["missing-value"] && parked.map(\.object) == [ids[0]])
    #expect(parked.map(\.sender) == [nil])
    #expect(try SyncEngine.check(shop[1].store).isSound)
  }

  @Test("The values of the objects that were made last stay, up to a number of bytes")
  func keeping() async throws {
    let (shop, ids) = try await Self.photos(4)
    #expect(try await shop[1].engine.letGoValues(keeping: 120_000).values == 2)
    let here = try ids.filter { try shop[1].value($0, "blob") != .null }
    let keys = try shop[1].store.read { transaction in
      try ids.map { try #require(try transaction.key(of: $0)).key }
    }
    let last = Set(zip(ids, keys).sorted { $0.1 < $1.1 }.suffix(2).map(\.0))
    #expect(Set(here) == last)
    #expect(try await shop[1].engine.letGoValues(keeping: 120_000).values == 0)
  }

  @Test("An encrypted value, and one that shall be here, stay")
  func mayNot() async throws {
    let (sealed, ids) = try await Self.photos(model: sealedShop(), keys: KeyRing())
    #expect(
      try await sealed[1].engine.letGoValues().counts
        == [0, 0, 1, 50_000])
    #expect(try sealed[1].value(ids[0], "blob") == .data(Self.bytes(50_000)))
    let (shop, _) = try await Self.photos()
    #expect(
      try await shop[0].engine.letGoValues().counts == [0, 0, 0, 0], "it fetches all at once")
    await #expect(throws: SyncError.self) { try await shop[1].engine.letGoValues(of: "Nothing") }
    await #expect(throws: SyncError.self) { try await shop[1].engine.letGoValues(key: "nothing") }
  }

  @Test("What was asked for is done by the next sync, whoever does it, once, and told")
  func asked() async throws {
    let (shop, ids) = try await Self.photos(2)
    try SyncEngine.askToLetGo(of: shop[1].store, object: ids[1], entity: "Item", key: "blob")
    #expect(try SyncEngine.letGoReport(of: shop[1].store) == nil)
    #expect(try SyncEngine.check(shop[1].store).isSound)
    try await shop[1].sync()
    #expect(
      try SyncEngine.letGoReport(of: shop[1].store)?.counts == [1, 50_000, 0, 0])
    #expect(try SyncEngine.check(shop[1].store).isSound)
    #expect(try shop[1].value(ids[0], "blob") != .null && shop[1].value(ids[1], "blob") == .null)
    try await shop[1].engine.downloadAll()
    try await shop[1].sync()
    #expect(try Self.inZone(shop[1]) == 0, "it was asked for once")
  }

  @Test("A value stays that came within its change set, though the zone has its bytes for another")
  func ofAnother() async throws {
    let shop = try await ValueShop(3, firstUse: [1])
    let photo = Self.bytes(50_000)
    shop.zone.changeValues { $0.bytesMax = nil }
    let inside = try shop[0].insert("Item", ["title": .string("inside"), "blob": .data(photo)])
    try await shop[0].push()
    shop.zone.changeValues { $0.bytesMax = 1 << 20 }
    try shop[2].insert("Item", ["title": .string("by itself"), "blob": .data(photo)])
    try await shop[2].push()
    try await shop.syncAll()
    try await shop[1].engine.downloadAll()
    #expect(try await shop[1].engine.letGoValues().counts == [1, 50_000, 1, 50_000])
    #expect(try shop[1].value(inside, "blob") == .data(photo))
    // Its own word by now: the same bytes, sent by themselves.
    try shop[0].set(inside, ["blob": .data(Self.bytes(50_000, 2))])
    await shop[0].restart()
    try await shop.syncAll()
    #expect(try shop[1].kept(inside, "blob")?.isInZone == true)
    try await shop[1].engine.downloadAll()
    #expect(try await shop[1].engine.letGoValues().counts == [2, 100_000, 0, 0])
    // Within a change set once more: its own word is no name any longer.
    try await shop[1].engine.downloadAll()
    shop.zone.changeValues { $0.bytesMax = nil }
    await shop[2].restart()
    try shop[2].set(inside, ["blob": .data(photo)])
    try await shop[2].sync()
    try await shop[1].sync()
    #expect(try shop[1].value(inside, "blob") == .data(photo))
    #expect(try await shop[1].engine.letGoValues().counts == [1, 50_000, 1, 50_000])
    #expect(try SyncEngine.check(shop[1].store).isSound)
  }

  @Test(
    "What is asked for is done in its order, and what cannot be done is refused, or ends with why")
  func askedForMore() async throws {
    let (shop, ids) = try await Self.photos(3)
    let store = shop[1].store
    for (object, entity, key) in [
      (nil, "Nope", nil), (nil, nil, "nope"), (UUID(), nil, nil),
    ] as [(UUID?, String?, String?)] {
      let error = #expect(throws: SyncError.self) {
        try SyncEngine.askToLetGo(of: store, object: object, entity: entity, key: key)
      }
      #expect(error?.code == .unknownElement)
    }
    try SyncEngine.askToLetGo(of: store, object: ids[0])
    // A program of before, which may sync the store, knows one and no list.
    guard case .text(let one)? = try store.read({ try $0.setting(LetGoRequest.setting) }) else {
      Issue.record("nothing is asked for")
      return
    }
    #expect(try JSONDecoder().decode(LetGoRequest.self, from: Data(one.utf8)).object == ids[0])
    try SyncEngine.askToLetGo(of: store, object: ids[1])
    #expect(try SyncEngine.check(store).isSound)
    try await shop[1].sync()
    #expect(try SyncEngine.letGoReport(of: store)?.counts == [2, 100_000, 0, 0])
    // As a program of before has left it, of a model of before.
    try shop[1].write { transaction in
      try transaction.setSetting(
        LetGoRequest.setting, .text(#"{"entity":"Nope","keeping":0}"#))
    }
    try await shop[1].sync()
    #expect(try SyncEngine.letGoReport(of: store)?.refusal?.contains("Nope") == true)
    #expect(try store.read { try $0.setting(LetGoRequest.setting) } == nil)
    #expect(try shop[1].value(ids[2], "blob") != .null)
    #expect(try SyncEngine.check(store).isSound)
  }

  @Test("What is asked for once more while it is done is done once more")
  func askedAgain() async throws {
    let (shop, ids) = try await Self.photos()
    let store = shop[1].store
    try SyncEngine.askToLetGo(of: store, object: ids[0])
    let begun = try store.read { try LetGoRequest.waiting($0) }
    let notes = try store.read { try WantedValues.Notes($0) }
    try SyncEngine.askToLetGo(of: store, object: ids[0])
    let waiting = try store.read { try LetGoRequest.waiting($0) }
    #expect(waiting.count == 1 && !begun.contains(waiting[0]))
    #expect(
      try store.read { try WantedValues.Notes($0) }.asksForMore(than: notes), "it is heard of")
    shop.ways[1].set(
      .init(beforeValue: {
        if try SyncEngine.letGoReport(of: store) == nil,
          try store.read({ try LetGoRequest.waiting($0) }) == waiting
        {
          try SyncEngine.askToLetGo(of: store, object: ids[0])
        }
      }))
    try await shop[1].sync()
    #expect(try store.read { try LetGoRequest.waiting($0) }.isEmpty)
    #expect(try SyncEngine.letGoReport(of: store)?.counts == [1, 50_000, 0, 0])
    #expect(try SyncEngine.check(store).isSound)
  }

  /// As a program of before leaves a store, which noted nothing of what it took in.
  private static func forgetNames(_ replica: TestReplica) throws {
    try replica.write { try NamedCells.removeAll(on: $0.connection) }
  }

  @Test("Of what a program of before took in the zone says whether it has it by itself")
  func unnoted() async throws {
    let (shop, ids) = try await Self.photos(3)
    // One that went within its change set: the zone has its bytes for another object alone.
    shop.zone.changeValues { $0.bytesMax = nil }
    let inside = try shop[0].insert("Item", ["blob": .data(Self.bytes(50_000, 1))])
    await shop[0].restart()
    try await shop[0].push()
    shop.zone.changeValues { $0.bytesMax = 1 << 20 }
    try await shop.syncAll()
    let own = try shop[1].insert("Item", ["blob": .data(Self.bytes(60_000, 9))])
    await shop[1].restart()
    try await shop[1].sync()
    try await shop[1].sync()
    try Self.forgetNames(shop[1])
    try shop[1].set(ids[2], ["blob": .data(Self.bytes(40_000, 12))])
    let report = try await shop[1].engine.letGoValues()
    #expect(report.counts == [3, 160_000, 2, 90_000] && report.unknown == nil)
    // What the zone said, also where that is no name, is known from now on.
    shop.ways[1].set(.init(digestRefusal: .unsupported))
    let second = try await shop[1].engine.letGoValues()
    #expect(second.counts == [0, 0, 2, 90_000] && second.unknown == nil)
    shop.ways[1].set(.init())
    #expect(try shop[1].value(inside, "blob") == .data(Self.bytes(50_000, 1)))
    #expect(try shop[1].kept(own, "blob")?.isInZone == true)
    #expect(try SyncEngine.check(shop[1].store).isSound)
    try await shop[1].engine.downloadAll()
    try await shop.syncAll()
    #expect(try shop[1].export == shop[0].export)
  }

  @Test("A loop asks which values the zone names as far as its turns go, and loses no request")
  func askedInTurns() async throws {
    let shop = try await ValueShop(2, firstUse: [1])
    for seed: UInt64 in 1...3 {
      try shop[0].insert("Item", ["blob": .data(Self.bytes(50_000, seed))])
      // So that it is asked for apart.
      for _ in 0..<40 { try shop[0].insert("Item") }
    }
    try await shop.syncAll()
    try await shop[1].engine.downloadAll()
    try Self.forgetNames(shop[1])
    try SyncEngine.askToLetGo(of: shop[1].store)
    #expect(await shop.runInTurns(1) >= 3)
    #expect(try SyncEngine.letGoReport(of: shop[1].store)?.counts == [3, 150_000, 0, 0])
    #expect(try shop[1].store.read { try LetGoRequest.waiting($0) }.isEmpty)
  }

  @Test(
    "Where the zone does not say so, what a program of before took in stays, and is told as such")
  func untold() async throws {
    let (shop, ids) = try await Self.photos(2)
    try Self.forgetNames(shop[1])
    shop.ways[1].set(.init(digestRefusal: .unsupported))
    let report = try await shop[1].engine.letGoValues()
    #expect(report.counts == [0, 0, 2, 100_000] && report.unknown == 2)
    #expect(try shop[1].value(ids[0], "blob") != .null)
    shop.ways[1].set(.init())
    let second = try await shop[1].engine.letGoValues()
    #expect(second.counts == [2, 100_000, 0, 0] && second.unknown == nil)
  }

  @Test("A screen hears of a value that is fetched, comes, goes, is edited and is deleted")
  func updates() async throws {
    let (shop, ids) = try await Self.photos()
    let engine = shop[1].engine
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: shop[1].store))
    let object = try #require(try context.object(withIdentity: ids[0])).objectID
    var updates = engine.valueUpdates(of: object, key: "blob").makeAsyncIterator()
    func next(_ isMeant: (ValueUpdate) -> Bool) async -> ValueUpdate? {
      while let update = await updates.next() { if isMeant(update) { return update } }
      return nil
    }
    #expect(await updates.next()?.state == .here)
    try await engine.letGo(object)
    #expect(await next { $0.state != .here }?.state == .inZone(bytes: 50_000))
    try SyncEngine.wantValues(of: shop[1].store)
    try await engine.download(object)
    #expect(await next { $0.state == .here } != nil)
    try shop[1].set(ids[0], ["blob": .null])
    #expect(await next { $0.state != .here }?.state == ValueFetchState.none)
    try shop[1].delete(ids[0])
    #expect(await updates.next() == nil)
    var none = engine.valueUpdates(of: object, key: "nothing").makeAsyncIterator()
    #expect(await none.next() == nil)
  }
}

extension LetGoReport {
  fileprivate var counts: [Int64] { [Int64(values), bytes, Int64(kept), bytesKept] }
}
