import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// What befalls stores that fetch large values on first use: nothing is lost, and all can be fetched in the end.
@Suite("Large values on first use, in trouble")
struct FirstUseTroubleTests {
  private static var options: SyncOptions {
    var options = SyncOptions()
    options.largeValueBytesMin = 1000
    options.values = .firstUse
    return options
  }

  /// All of it is there in the end, and the store is what its zone is.
  private static func expectWhole(
    _ replica: TestReplica, _ id: UUID, _ location: SourceLocation = #_sourceLocation
  ) async throws {
    try await replica.engine.downloadAll()
    #expect(try replica.value(id, "blob") == .data(ValueShop.photo), sourceLocation: location)
    #expect(try await replica.engine.verify().isEqual, sourceLocation: location)
    #expect(
      try SyncEngine.check(replica.store).findings.map(\.message) == [], sourceLocation: location)
  }

  /// A copy as `cp` makes it of a file that is in use.
  private static func copy(
    _ replica: TestReplica, _ name: String, _ shop: ValueShop
  ) async throws -> TestReplica {
    let file = replica.directory.file("\(name).sqlite")
    let source = try #require(replica.store.url).path
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: source + suffix) {
      try FileManager.default.copyItem(atPath: source + suffix, toPath: file.path + suffix)
    }
    return try await TestReplica(
      name, zone: shop.zone, clock: shop.clock, options: options, enrolled: false, file: file)
  }

  /// A way to the zone whose log is purged when the test says so, with a store that comes by it.
  private static func away(
    _ shop: ValueShop
  ) async throws -> (way: PurgedZone, away: TestReplica) {
    let way = try PurgedZone(shop.zone)
    return (
      way,
      try await TestReplica(
        "away", zone: shop.zone, clock: shop.clock, transport: way, options: options)
    )
  }

  @Test("Who joins by a snapshot has the names, and fetches what is asked for")
  func joins() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let (way, away) = try await Self.away(shop)
    try way.purge()
    let bytes = shop.zone.traffic.valueBytes
    try await away.sync()
    #expect(shop.zone.traffic.valueBytes == bytes, "none came with the snapshot")
    #expect(try away.status.valuesInZone == 1 && away.status.parked == 0)
    try away.set(id, ["title": .string("b")])
    try await away.sync()
    try await shop.syncAll()
    #expect(try shop[0].value(id, "title") == .string("b"))
    #expect(try shop[0].value(id, "blob") == .data(ValueShop.photo))
    try await Self.expectWhole(away, id)
  }

  @Test(
    "Who falls below a purge keeps what it has, and names what it has not",
    arguments: [false, true])
  func belowThePurge(hasFetched: Bool) async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let (way, away) = try await Self.away(shop)
    try await away.sync()
    if hasFetched { try await away.engine.downloadAll() }
    let second = try shop[0].insert("Item", ["blob": .data(ValueShop.bytes(9000, 5))])
    try shop[0].set(id, ["title": .string("b")])
    try await shop.syncAll()
    try way.purge()
    try away.set(id, ["tag": .string("mine")])
    try await away.sync()
    #expect(way.refused > 0)
    #expect(try away.status.valuesInZone == (hasFetched ? 1 : 2))
    #expect(try away.value(id, "title") == .string("b"))
    try await shop.syncAll()
    #expect(try shop[0].value(id, "tag") == .string("mine"))
    #expect(try shop[0].value(id, "blob") == .data(ValueShop.photo))
    try await Self.expectWhole(away, id)
    #expect(try away.value(second, "blob") == .data(ValueShop.bytes(9000, 5)))
  }

  @Test(
    "A copy that becomes a store of its own says that it misses what it has not, until it is back")
  func rekeyed() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let copy = try await Self.copy(shop[1], "copy", shop)
    await copy.engine.close()
    _ = try SyncEngine.rekey(store: copy.store, leavingValues: true)
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: copy.store))
    let object = try #require(try context.object(withIdentity: id))
    guard case .missing = try object.valueState(forKey: "blob") else {
      Issue.record("no zone has it: \(try object.valueState(forKey: "blob"))")
      return
    }
    try await copy.enroll()
    await copy.restart()
    try await copy.sync()
    try await shop.syncAll()
    #expect(try shop[0].value(id, "blob") == .data(ValueShop.photo))
    try await Self.expectWhole(copy, id)
  }

  @Test("Of two engines that download at one time, each in its turn, a value is fetched once")
  func others() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let object = try shop[1].objectID(of: id)
    let other = SyncEngine(store: shop[1].store, transport: shop.ways[1], options: Self.options)
    await shop[1].engine.close()
    let engine = shop[1].engine
    async let first = engine.download(object)
    async let second = other.download(object)
    _ = try await (first, second)
    await other.close()
    #expect(shop.ways[1].bytes.received == ValueShop.photo.count)
    try await Self.expectWhole(shop[1], id)
  }

  @Test("Bytes that are not what their name says are taken for none, and asked for again")
  func wrong() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let object = try shop[1].objectID(of: id)
    shop.ways[1].set(.init(flipped: .max))
    let error = await #expect(throws: SyncError.self) {
      try await shop[1].engine.download(object)
    }
    #expect(error?.code == .valueMissing)
    #expect(try shop[1].value(id, "blob") == .null)
    #expect(try shop[1].kept(id, "blob")?.isInZone == true, "the name stays")
    #expect(try shop.pieces(1) == 0)
    #expect(try SyncEngine.parked(of: shop[1].store).map(\.code) == ["missing-value"])
    shop.ways[1].set(.init())
    try await shop[1].engine.download(object)
    try await Self.expectWhole(shop[1], id)
    #expect(try SyncEngine.parked(of: shop[1].store).isEmpty)
  }

  @Test("Where the disk has no room, a download says so, and goes on when there is some")
  func full() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let disk = FullDisk()
    var options = disk.options
    options.values = .firstUse
    options.largeValueBytesMin = 1000
    let small = try await TestReplica(
      "small", zone: shop.zone, clock: shop.clock, options: options)
    try await small.sync()
    disk.leave(10_000)
    let object = try small.objectID(of: id)
    let error = await #expect(throws: StoreError.self) { try await small.engine.download(object) }
    #expect(error?.code == .diskFull)
    #expect(try SyncEngine.wantedValues(of: small.store) == 1)
    #expect(try small.status.valuesInZone == 1)
    disk.leave(.max)
    try await small.sync()
    #expect(try small.value(id, "blob") == .data(ValueShop.photo), "what was asked for comes")
    try await Self.expectWhole(small, id)
  }

  @Test("A clone and its original fetch each for itself", arguments: [false, true])
  func cloned(hasFetched: Bool) async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    if hasFetched { try await shop[1].engine.downloadAll() }
    let copy = try await Self.copy(shop[1], "copy", shop)
    try copy.set(id, ["title": .string("of the copy")])
    try await copy.sync()
    try await shop.syncAll()
    #expect(try shop[0].value(id, "title") == .string("of the copy"))
    #expect(try shop[0].value(id, "blob") == .data(ValueShop.photo))
    try await Self.expectWhole(copy, id)
    try await Self.expectWhole(shop[1], id)
  }

  @Test("A store that is put back to before it fetched, or let go, is right again")
  func restored() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let before = try await Self.copy(shop[1], "before", shop)
    try await shop[1].engine.downloadAll()
    let fetched = try await Self.copy(shop[1], "fetched", shop)
    try await shop[1].engine.letGoValues()
    try shop[0].set(id, ["title": .string("later")])
    try await shop.syncAll()
    for store in [before, fetched] {
      try await store.sync()
      #expect(try store.value(id, "title") == .string("later"))
      try await Self.expectWhole(store, id)
    }
    try await shop.syncAll()
    #expect(try shop[0].value(id, "blob") == .data(ValueShop.photo))
  }

  @Test("A migration keeps the names, and what they name can be fetched under the new model")
  func migrated() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    await shop[1].engine.close()
    let file = try #require(shop[1].store.url)
    shop[1].store.close()
    let newer = try await TestReplica(
      "newer", zone: shop.zone, clock: shop.clock, model: shopModel(withNewerParts: true),
      options: Self.options, enrolled: false, file: file)
    #expect(try newer.kept(id, "blob")?.isInZone == true)
    try newer.set(id, ["colour": .string("red")])
    try await newer.sync()
    try await shop[0].sync()
    #expect(try shop[0].value(id, "blob") == .data(ValueShop.photo))
    try await Self.expectWhole(newer, id)
  }

  @Test("A repair brings names back where the zone has values, and takes none for a difference")
  func repaired() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let connection = try SQLiteConnection(
      path: try #require(shop[1].store.url).path, mode: .readWrite)
    try connection.execute("UPDATE ZITEM SET ZBLOB = NULL")
    connection.close()
    let found = try await shop[1].engine.verify()
    #expect(found.differences.map(\.property) == ["blob"])
    let received = shop.ways[1].bytes.received
    #expect(try await shop[1].engine.repair().isEqual)
    #expect(shop.ways[1].bytes.received == received, "nobody asked for the bytes")
    #expect(try shop[1].status.valuesInZone == 1)
    try await Self.expectWhole(shop[1], id)
  }

  @Test("A process that ends after any commit of a download goes on from there")
  func ended() async throws {
    let photo = ValueShop.bytes(3 << 20 | 5)
    let shop = try await ValueShop(2, firstUse: [1])
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    try await shop.syncAll()
    let object = try shop[1].objectID(of: id)
    for passing in 0...3 {
      shop.ways[1].set(.init(passing: passing))
      _ = try? await shop[1].engine.download(object)
      // As the files are now, another process finds them.
      let left = try await Self.copy(shop[1], "left\(passing)", shop)
      #expect(try SyncEngine.check(left.store).findings.map(\.message) == [])
      try await left.engine.downloadAll()
      #expect(try left.value(id, "blob") == .data(photo), "after \(passing) pieces")
    }
    shop.ways[1].set(.init())
    try await shop[1].engine.download(object)
    #expect(shop.ways[1].bytes.received == photo.count, "no piece came twice")
  }
}
