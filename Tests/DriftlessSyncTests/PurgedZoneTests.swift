import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// A replica whose place in the log was purged.
struct PurgedZoneTests {
  private func world(
    _ model: ManagedObjectModel = shopModel()
  ) async throws -> (world: World, way: PurgedZone) {
    var world = try await World(1)
    let way = try PurgedZone(world.zone)
    world.replicas.append(
      try await TestReplica(
        "away", zone: world.zone, clock: world.clock, model: model, transport: way))
    return (world, way)
  }

  @Test("F54 Who is below the floor goes on by the snapshot, with what is pending")
  func goesOn() async throws {
    for byPush in [false, true] {
      let (world, way) = try await world()
      let items = try (0..<20).map { try world[0].insert("Item", ["title": .string("\($0)")]) }
      try await world.settle()
      for item in items.prefix(5) { try world[0].set(item, ["note": .string("zone's")]) }
      try await world[0].sync()
      try world[0].delete(items[7])
      try await world[0].sync()
      try way.purge()
      try world[1].set(items[0], ["title": .string("mine")])
      let own = try world[1].insert("Item", ["title": .string("own")])
      if byPush { try await world[1].push() } else { try await world[1].sync() }
      #expect(way.refused > 0)
      #expect(way.probed == 0, "the zone is told of no place that this replica is not at")
      #expect(try world[1].value(items[1], "note") == .string("zone's"))
      #expect(try !world[1].exists(items[7]))
      try await world.settle()
      #expect(try world[0].exists(own))
      #expect(try world[0].value(items[0], "title") == .string("mine"))
    }
  }

  @Test("Who is below the floor gets the large values that the snapshot names, and no others")
  func largeValues() async throws {
    let (world, way) = try await world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world.settle()
    let photos = (1...2).map { Data(repeating: $0, count: 1 << 20) }
    for photo in photos {
      try world[0].set(item, ["blob": .data(photo)])
      try await world[0].sync()
    }
    try way.purge()
    let before = world.zone.traffic.valueBytes
    try await world[1].sync()
    #expect(way.refused > 0)
    #expect(try world[1].value(item, "blob") == .data(photos[1]))
    #expect(world.zone.traffic.valueBytes - before == 1 << 20)
    let kept = try world[1].store.read {
      try $0.connection.scalar("SELECT count(*) FROM ZDL_VALUE")
    }
    #expect(kept == .integer(0))
    try await world.settle()
  }

  @Test("An edit of what the snapshot says is deleted goes into the journal, as by the log")
  func editOfDeleted() async throws {
    let (world, way) = try await world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world.settle()
    try world[0].delete(item)
    try await world[0].sync()
    try way.purge()
    try world[1].set(item, ["title": .string("edited here")])
    try await world[1].sync()
    #expect(try !world[1].exists(item))
    #expect(try world[1].conflicts.contains { $0.local?.contains("edited here") == true })
    try await world.settle()
  }

  @Test("Where only the log can settle what is pending, nothing changes and a person decides")
  func onlyTheLog() async throws {
    let (world, way) = try await world()
    let other = try world[0].insert("Item", ["title": .string("two")])
    try await world.settle()
    // Another copy of the store sent a save that is pending here: what of it the zone has only the log tells.
    try world[1].insert("Item", ["title": .string("of both")])
    let copy = try await copied(world[1])
    try await copy.sync()
    try way.purge()
    let own = try world[1].insert("Item", ["title": .string("own")])
    let before = try world[1].export
    for _ in 0..<2 {
      let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
      #expect(error?.code == .logPurged)
      #expect(error?.suggestion.contains("--give-up-unsent") == true)
      #expect(try world[1].export == before)
      #expect(try world[1].status.pending.objects == 2)
    }
    // The store goes on, and status says it.
    try world[1].set(other, ["note": .string("offline")])
    #expect(try world[1].status.lastError?.contains("log-purged") == true)
    // Given up by a person, what was unsent is in the journal.
    _ = try await world[1].engine.giveUpUnsent()
    #expect(try SyncEngine.check(world[1].store).findings.map(\.message) == [])
    #expect(try world[1].conflicts.contains { $0.object == own })
    try await world.settle()
  }

  /// A copy as `cp` makes it of a file that is in use.
  private func copied(_ replica: TestReplica) async throws -> TestReplica {
    let file = replica.directory.file("copy.sqlite")
    let source = try #require(replica.store.url).path
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: source + suffix) {
      try FileManager.default.copyItem(atPath: source + suffix, toPath: file.path + suffix)
    }
    return try await TestReplica(
      "copy", zone: replica.zone, clock: replica.clock, enrolled: false, file: file)
  }

  @Test("A model that lacks what the snapshot names takes the rest, and says what it lacks")
  func narrowModel() async throws {
    let model = shopModel()
    let item = try #require(model.entitiesByName["Item"])
    item.properties.removeAll { $0.name == "title" }
    let (world, way) = try await world(model)
    try world[0].insert("Item", ["title": .string("one"), "note": .string("zone's")])
    try await world[0].sync()
    try way.purge()
    let own = try world[1].insert("Item", ["note": .string("own")])
    try await world[1].sync()
    #expect(way.refused > 0)
    #expect(try world[1].identities(of: "Item").count == 2)
    let parked = try SyncEngine.parked(of: world[1].store)
    #expect(parked.map(\.code) == ["unknown-names"] && parked[0].names == ["Item.title"])
    #expect(try world[1].status.parked == 1)
    try await world[0].sync()
    #expect(try world[0].value(own, "note") == .string("own"))
  }

  @Test("A store is not emptied for a snapshot that an empty one could not take in")
  func triedFirst() async throws {
    let model = shopModel()
    // Who had the key first only the log tells.
    model.entitiesByName["Item"]?.uniquenessConstraints = [["title"]]
    let (world, way) = try await world(model)
    let item = try world[1].insert("Item", ["title": .string("kept")])
    try await world.settle()
    try world[1].set(item, ["note": .string("unsent")])
    world.clock.advance(milliseconds: 90_000_000)
    world.zone.renew(intent: .replace)
    try await world[0].sync()
    for _ in 0..<2 { try world[0].insert("Item", ["title": .string("twice")]) }
    try await world[0].sync()
    try way.purgeAnew()
    let before = try world[1].export
    for _ in 0..<2 {
      let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
      #expect(error?.code == .logPurged && error?.message.contains("unique key") == true)
      #expect(try world[1].export == before)
    }
    let error = await #expect(throws: SyncError.self) {
      try await world[1].engine.giveUpUnsent()
    }
    #expect(error?.code == .logPurged)
    #expect(try world[1].export == before)
    let beside = try FileManager.default.contentsOfDirectory(atPath: world[1].directory.url.path)
    #expect(!beside.contains { $0.contains("newcomer") || $0.contains(".before-") })
  }

  @Test("A store that would offer anew what it holds is not enrolled with a zone that was purged")
  func enrolledAnew() async throws {
    let (world, way) = try await world()
    let item = try world[1].insert("Item", ["title": .string("one")])
    try await world.settle()
    try way.purge()
    func enrol(_ anew: Bool) async throws {
      await world[1].engine.close()
      try SyncEngine.enroll(
        store: world[1].store, server: MemoryZone.url, zone: world.zone.name,
        info: try await way.zoneInfo(), anew: anew)
    }
    var error = await #expect(throws: SyncError.self) { try await enrol(true) }
    #expect(error?.code == .logPurged && error?.suggestion.contains("syncctl import") == true)
    await world[1].restart()
    try world[1].set(item, ["title": .string("goes on")])
    try await world.settle()
    try await enrol(false)
    await world[1].restart()
    // It slept through a renewal, and the new log was purged.
    world.clock.advance(milliseconds: 90_000_000)
    world.zone.renew(intent: .offer)
    way.forget()
    try await world[0].sync()
    try way.purgeAnew()
    let before = (try world[1].export, try world[1].status.cursor)
    error = await #expect(throws: SyncError.self) { try await enrol(false) }
    #expect(error?.code == .logPurged)
    #expect(try (world[1].export, world[1].status.cursor) == before)
  }

  @Test("Where the newest snapshot cannot be taken in, the one that stands for what was purged is")
  func olderSnapshot() async throws {
    let model = shopModel()
    // Who had the key first only the log tells.
    model.entitiesByName["Item"]?.uniquenessConstraints = [["title"]]
    let (world, way) = try await world(model)
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world[0].sync()
    try way.purge()
    let own = try world[1].insert("Item", ["title": .string("own")])
    for _ in 0..<2 { try world[0].insert("Item", ["title": .string("twice")]) }
    try await world[0].sync()
    try way.fold()
    try await world[1].sync()
    #expect(try world[1].exists(item) && world[1].exists(own))
    #expect(try world[1].identities(of: "Item").count == 4)
    try await world[0].sync()
    #expect(try world[0].exists(own))
  }

  @Test("Who has something in flight below a floor and may not push is told so")
  func forbidden() async throws {
    let (world, way) = try await world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world.settle()
    try world[1].set(item, ["title": .string("unsent")])
    way.refusePushes(ProtocolError(.busy, "It is busy", suggestion: "Wait."))
    await #expect(throws: ProtocolError.self) { try await world[1].push() }
    try world[0].set(item, ["note": .string("news")])
    try await world[0].sync()
    try way.purge()
    way.refusePushes(ProtocolError(.forbidden, "It may only read", suggestion: "Ask."))
    let error = await #expect(throws: ProtocolError.self) { try await world[1].sync() }
    #expect(error?.code == .forbidden)
    way.refusePushes(nil)
    try await world.settle()
    #expect(try world[0].value(item, "title") == .string("unsent"))
  }

  /// A server that was put back, and whose log goes on otherwise; the replica that was away joined above that copy, so that the
  /// two logs have nothing in common that is still there.
  private func parted() async throws -> (world: World, way: PurgedZone, copy: ZoneLog) {
    var (world, way) = try await world()
    try world[0].insert("Item", ["title": .string("one")])
    try await world[0].sync()
    let copy = world.zone.log
    try world[0].insert("Item", ["title": .string("two")])
    try await world[0].sync()
    try way.purge()
    try await world[1].sync()
    try await putBack(&world, way, copy, "other")
    return (world, way, copy)
  }

  private func putBack(
    _ world: inout World, _ way: PurgedZone, _ copy: ZoneLog, _ name: String
  ) async throws {
    world.zone.putBack(copy)
    world.replicas.append(try await TestReplica(name, zone: world.zone, clock: world.clock))
    guard let other = world.replicas.last else { return }
    try other.insert("Item", ["title": .string(name)])
    try await other.push()
    try way.purgeAnew()
  }

  @Test(
    "A server that was put back below a floor changes nothing: a person decides, and what was here is in a file",
    arguments: [false, true])
  func putBack(isPending: Bool) async throws {
    let (world, _, _) = try await parted()
    let own = isPending ? try world[1].insert("Item", ["title": .string("unsent")]) : nil
    let before = try world[1].export
    for _ in 0..<2 {
      let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
      #expect(error?.code == .logPurged && error?.suggestion.contains("--give-up-unsent") == true)
      #expect(try world[1].export == before)
    }
    let report = try await world[1].engine.giveUpUnsent()
    let export = try #require(report.reconciliations.last?.export)
    #expect(try String(contentsOfFile: export, encoding: .utf8).contains("two"))
    #expect(try own == nil || world[1].conflicts.contains { $0.object == own })
    // Who keeps the entries brings back what the server lost.
    try await world.settle()
    #expect(try world[1].identities(of: "Item").count == 3)
  }
}
