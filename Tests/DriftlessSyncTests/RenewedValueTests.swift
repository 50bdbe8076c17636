import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Large values that replicas have by their names alone, or have beside a zone that tells them by their names.
@Suite("Large values that are told by their names")
struct RenewedValueTests {
  private static let photo = ValueShop.bytes(50_000)
  private static let other = ValueShop.bytes(50_000, 2)

  /// The first replica has the bytes, the others have the name.
  private static func shop(_ count: Int = 3) async throws -> (shop: ValueShop, id: UUID) {
    let shop = try await ValueShop(count, firstUse: Set(1..<count))
    let id = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(photo)])
    try await shop.syncAll()
    return (shop, id)
  }

  private static func newcomer(_ shop: ValueShop) async throws -> TestReplica {
    let new = try await TestReplica(
      "new", zone: shop.zone, clock: shop.clock, options: SyncOptions())
    try await new.sync()
    return new
  }

  private func expectWell(
    _ replica: TestReplica, _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let status = try SyncEngine.status(of: replica.store)
    #expect(status.pending.isEmpty && status.quarantined == 0, sourceLocation: location)
    #expect(try SyncEngine.check(replica.store).isSound, sourceLocation: location)
    #expect(try replica.conflicts.isEmpty, sourceLocation: location)
  }

  @Test("A zone that began anew is offered the names, so that it keeps the bytes that it has")
  func offered() async throws {
    let (shop, id) = try await Self.shop()
    // Who has the bytes is gone.
    shop.zone.renew()
    for _ in 0..<2 { for number in 1...2 { try await shop[number].sync() } }
    for number in 1...2 { try await expectWell(shop[number]) }
    let new = try await Self.newcomer(shop)
    #expect(try new.value(id, "blob") == .data(Self.photo))
    try await shop[2].engine.downloadAll()
    #expect(try shop[2].value(id, "blob") == .data(Self.photo))
    #expect(try await shop[1].engine.verify().isEqual)
  }

  @Test("What is named for two properties, and lost with entries of a log, is offered so as well")
  func lostEntries() async throws {
    let (shop, id) = try await Self.shop()
    let backup = shop.zone.log
    shop.clock.advance()
    try shop[0].set(id, ["blob": .data(Self.other)])
    try await shop[0].sync()
    try await shop[1].sync()
    // Its values were not put back.
    shop.zone.putBack(backup)
    let digest = try #require(LargeValue(of: Self.other)?.digest)
    shop.zone.changeValues { $0.lose(digest) }
    try await shop[1].sync()
    try await expectWell(shop[1])
    #expect(try shop[1].kept(id, "blob")?.isInZone == true)
    try await shop[0].sync()
    try await shop.syncAll()
    try await shop[2].engine.downloadAll()
    #expect(try shop[2].value(id, "blob") == .data(Self.other))
  }

  @Test("What the server has not either is left out, and who has it offers it later")
  func lacking() async throws {
    let (shop, id) = try await Self.shop()
    let named = try shop[0].insert("Item", ["title": .string("b"), "blob": .data(Self.other)])
    try await shop.syncAll()
    let digest = try #require(LargeValue(of: Self.photo)?.digest)
    shop.zone.renew()
    shop.zone.changeValues { $0.lose(digest) }
    for _ in 0..<2 { for number in 1...2 { try await shop[number].sync() } }
    for number in 1...2 {
      try await expectWell(shop[number])
      #expect(try shop[number].kept(id, "blob")?.isInZone == true)
    }
    let new = try await Self.newcomer(shop)
    #expect(try new.value(id, "title") == .string("a"))
    #expect(try new.value(id, "blob") == .null)
    #expect(try new.value(named, "blob") == .data(Self.other))
    try await shop.syncAll()
    try await new.sync()
    #expect(try new.value(id, "blob") == .data(Self.photo))
    try await shop[1].engine.downloadAll()
    #expect(try shop[1].value(id, "blob") == .data(Self.photo))
    for number in 0...2 { try await expectWell(shop[number]) }
  }

  @Test("What is here stays when the zone names it again")
  func here() async throws {
    let (shop, id) = try await Self.shop(2)
    try await shop[1].engine.downloadAll()
    for value in [Self.other, Self.photo] {
      shop.clock.advance()
      try shop[0].set(id, ["blob": .data(value)])
    }
    try await shop.syncAll()
    #expect(try shop[1].kept(id, "blob") == .data(Self.photo))
    #expect(try SyncEngine.status(of: shop[1].store).valuesInZone == 0)
    try await expectWell(shop[1])
  }

  @Test("What an entry displaces and a later one of the page names again is not asked for anew")
  func displaced() async throws {
    let (shop, id) = try await Self.shop(2)
    try await shop[1].engine.downloadAll()
    for value in [Self.other, Self.photo] {
      shop.clock.advance()
      try shop[0].set(id, ["blob": .data(value)])
      try await shop[0].push()
    }
    shop.ways[1].set(.init(passing: 0))
    try await shop[1].sync()
    #expect(try shop[1].kept(id, "blob") == .data(Self.photo))
    #expect(try SyncEngine.status(of: shop[1].store).valuesInZone == 0)
    #expect(try shop.pieces(1) == 0)
    try await expectWell(shop[1])
    shop.ways[1].set(.init())
    #expect(try await shop[1].engine.letGoValues().values == 1)
  }

  @Test(
    "A zone without the bytes is no zone that was left: what is missing there says so, and since when"
  )
  func absent() async throws {
    let (shop, id) = try await Self.shop(2)
    let digest = try #require(LargeValue(of: Self.photo)?.digest)
    shop.zone.renew()
    shop.zone.changeValues { $0.lose(digest) }
    for _ in 0..<2 { try await shop[1].sync() }
    let missing = try SyncEngine.awaitedValues(of: shop[1].store)
    #expect(missing.map(\.reason) == ["absent"])
    let reason = try #require(try SyncEngine.parked(of: shop[1].store).first?.reason)
    #expect(!reason.contains("left"), "\(reason)")
    // To ask for it changes nothing about the zone.
    shop.clock.advance()
    try SyncEngine.wantValues(of: shop[1].store)
    #expect(try SyncEngine.awaitedValues(of: shop[1].store).map(\.reason) == ["absent"])
    try await shop[1].sync()
    let questions = shop.ways[1].questions
    for _ in 0..<2 { try await shop[1].sync() }
    #expect(shop.ways[1].questions == questions, "it is not asked for with each sync")
    let later = try SyncEngine.awaitedValues(of: shop[1].store)
    #expect(later.map(\.reason) == ["absent"])
    #expect(later.map(\.missingSince) == missing.map(\.missingSince))
    try await shop.syncAll()
    #expect(try shop[1].value(id, "blob") == .data(Self.photo), "it was asked for")
  }

  @Test("Of a fleet that has all values nobody loses its own, and no two that are one conflict")
  func all() async throws {
    let (shop, id) = try await Self.shop(4)
    for number in 1...3 { try await shop[number].engine.downloadAll() }
    let received = shop.ways.map(\.bytes.received)
    shop.zone.renew()
    for _ in 0..<2 { for number in 1...3 { try await shop[number].sync() } }
    try await shop.syncAll()
    for number in 0...3 {
      #expect(try shop[number].kept(id, "blob") == .data(Self.photo), "\(number)")
      // One that fetches with the entry does.
      #expect(number == 0 || shop.ways[number].bytes.received == received[number], "\(number)")
      try await expectWell(shop[number])
    }
  }

  @Test("An edit that sets what the zone names is none that another replica's loses to")
  func edited() async throws {
    let (shop, id) = try await Self.shop(2)
    try await shop[1].engine.downloadAll()
    shop.clock.advance()
    try shop[0].set(id, ["blob": .data(Self.other)])
    shop.clock.advance()
    try shop[1].set(id, ["blob": .data(Self.other)])
    try await shop[0].sync()
    try await shop[1].sync()
    #expect(try shop[1].kept(id, "blob") == .data(Self.other))
    try await shop.syncAll()
    for number in 0...1 { try await expectWell(shop[number]) }
  }
}

/// Large values that a store leaves behind in its zone.
@Suite("Large values of a zone that is left")
struct LeftValueTests {
  private static let photo = ValueShop.bytes(50_000)

  private func isMissing(_ id: UUID, _ store: PersistentStore) throws -> Bool {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    let object = try #require(try context.object(withIdentity: id))
    if case .missing = try object.valueState(forKey: "blob") { return true }
    return false
  }

  @Test(
    "They are missing until the store is in that zone again, another zone is none",
    arguments: LeavingWay.allCases)
  func left(_ way: LeavingWay) async throws {
    let shop = try await ValueShop(2, firstUse: [1])
    let id = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(Self.photo)])
    try await shop.syncAll()
    await shop[1].engine.close()
    let error = #expect(throws: SyncError.self) {
      switch way {
      case .unenrolled: try SyncEngine.unenroll(store: shop[1].store)
      case .rekeyed: _ = try SyncEngine.rekey(store: shop[1].store)
      }
    }
    #expect(error?.code == .valuesInZone)
    switch way {
    case .unenrolled: try SyncEngine.unenroll(store: shop[1].store, leavingValues: true)
    case .rekeyed: _ = try SyncEngine.rekey(store: shop[1].store, leavingValues: true)
    }
    #expect(try isMissing(id, shop[1].store))
    shop[1].store.close()

    let elsewhere = try await TestReplica(
      "elsewhere", zone: MemoryZone(clock: shop.clock), clock: shop.clock, file: shop[1].store.url)
    for _ in 0..<2 { try await elsewhere.sync() }
    #expect(try isMissing(id, elsewhere.store))
    let status = try SyncEngine.status(of: elsewhere.store)
    #expect(status.pending.isEmpty && status.quarantined == 0)
    #expect(status.valuesInZone == 0 && status.parked == 1, "it says so")
    // What is known of the zone that was left stays, whatever this one says.
    let missing = try SyncEngine.awaitedValues(of: elsewhere.store)
    #expect(missing.map(\.reason) == ["left"])
    shop.clock.advance()
    try SyncEngine.wantValues(of: elsewhere.store)
    try await elsewhere.sync()
    #expect(
      try SyncEngine.awaitedValues(of: elsewhere.store).map(\.missingSince)
        == missing.map(\.missingSince))
    #expect(try SyncEngine.awaitedValues(of: elsewhere.store).map(\.reason) == ["left"])
    #expect(try await elsewhere.engine.verify().isEqual)
    await elsewhere.engine.close()
    try SyncEngine.unenroll(store: elsewhere.store, leavingValues: true)
    elsewhere.store.close()

    var options = SyncOptions()
    options.values = .firstUse
    let back = try await TestReplica(
      "back", zone: shop.zone, clock: shop.clock, options: options, file: shop[1].store.url)
    for _ in 0..<2 { try await back.sync() }
    #expect(try !isMissing(id, back.store))
    try await back.engine.downloadAll()
    #expect(try back.value(id, "blob") == .data(Self.photo))
    try await shop[0].sync()
    #expect(try shop[0].value(id, "blob") == .data(Self.photo))
  }

  @Test("Of what no zone has a new object says nothing, not that there is none")
  func unsaid() async throws {
    let shop = try await ValueShop(2, firstUse: [1])
    try shop[0].insert("Item", ["title": .string("a"), "blob": .data(Self.photo)])
    try await shop.syncAll()
    await shop[1].engine.close()
    try SyncEngine.unenroll(store: shop[1].store, leavingValues: true)
    shop[1].store.close()
    let zone = MemoryZone(clock: shop.clock)
    let way = HookedTransport(zone)
    var options = SyncOptions()
    options.values = .firstUse
    let elsewhere = try await TestReplica(
      "elsewhere", zone: zone, clock: shop.clock, transport: way, options: options,
      file: shop[1].store.url)
    for _ in 0..<2 { try await elsewhere.sync() }
    let frame = try #require(way.pushed.last)
    let (_, index) = try ChangeSetDecoder().decodeIndex(frame)
    let group = try #require(index.groups.first { $0.kind == .insert })
    let names = group.properties.map { index.entities[group.entity].properties[$0] }
    #expect(names.contains("title") && !names.contains("blob"), "\(names)")
    #expect(try await elsewhere.engine.verify().isEqual)
  }

  @Test("Two stores with names that come to another zone have no conflict, and show no null")
  func both() async throws {
    let shop = try await ValueShop(3, firstUse: [1, 2])
    let id = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(Self.photo)])
    try await shop.syncAll()
    let zone = MemoryZone(clock: shop.clock)
    var options = SyncOptions()
    options.values = .firstUse
    options.largeValueBytesMin = 1000
    var moved: [TestReplica] = []
    for number in 0...2 {
      await shop[number].engine.close()
      try SyncEngine.unenroll(store: shop[number].store, leavingValues: true)
      shop[number].store.close()
    }
    for number in 1...2 {
      moved.append(
        try await TestReplica(
          "moved\(number)", zone: zone, clock: shop.clock, options: options,
          file: shop[number].store.url))
    }
    for _ in 0..<2 { for replica in moved { try await replica.sync() } }
    for replica in moved {
      #expect(try isMissing(id, replica.store), "\(replica.name)")
      #expect(try replica.conflicts.isEmpty, "\(replica.name)")
      let status = try SyncEngine.status(of: replica.store)
      #expect(status.pending.isEmpty && status.quarantined == 0 && status.parked == 1)
    }
    // Who has the bytes comes last: what was told without them is no word against its own.
    let author = try await TestReplica(
      "author", zone: zone, clock: shop.clock, options: options, file: shop[0].store.url)
    for _ in 0..<2 { for replica in [author] + moved { try await replica.sync() } }
    #expect(try author.kept(id, "blob") == .data(Self.photo))
    for replica in moved {
      #expect(try !isMissing(id, replica.store), "\(replica.name)")
      try await replica.engine.downloadAll()
    }
    for replica in [author] + moved {
      #expect(try replica.kept(id, "blob") == .data(Self.photo), "\(replica.name)")
      #expect(try replica.conflicts.isEmpty, "\(replica.name)")
      #expect(try SyncEngine.status(of: replica.store).pending.isEmpty, "\(replica.name)")
    }
  }

  @Test(
    "Under the zone's name is another zone: its names are told, and missing until who has the bytes comes"
  )
  func madeAnew() async throws {
    let shop = try await ValueShop(2, firstUse: [1])
    let id = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(Self.photo)])
    try await shop.syncAll()
    let zone = MemoryZone(clock: shop.clock)
    var options = SyncOptions()
    options.values = .firstUse
    options.largeValueBytesMin = 1000
    func moved(_ number: Int) async throws -> TestReplica {
      await shop[number].engine.close()
      shop[number].store.close()
      return try await TestReplica(
        "moved\(number)", zone: zone, clock: shop.clock, options: options,
        file: shop[number].store.url)
    }
    let named = try await moved(1)
    func expectMissing() throws {
      #expect(try isMissing(id, named.store))
      let status = try SyncEngine.status(of: named.store)
      #expect(status.valuesInZone == 0 && status.parked == 1, "it says so")
    }
    try expectMissing()
    for _ in 0..<2 { try await named.sync() }
    try expectMissing()
    #expect(try SyncEngine.status(of: named.store).pending.isEmpty)
    let author = try await moved(0)
    for _ in 0..<2 { for replica in [author, named] { try await replica.sync() } }
    #expect(try author.kept(id, "blob") == .data(Self.photo))
    #expect(try !isMissing(id, named.store))
    try await named.engine.downloadAll()
    #expect(try named.value(id, "blob") == .data(Self.photo))
    for replica in [author, named] { #expect(try replica.conflicts.isEmpty, "\(replica.name)") }
  }
}
