import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import TestSupport
import Testing

/// A way to a zone whose log was purged up to a floor.
private final class PurgedZone: ForwardingTransport {
  private let foldedMutex: Mutex<FoldedZone>
  private let zone: MemoryZone
  private var folded: FoldedZone { foldedMutex.withLock { $0 } }
  var next: any SyncTransport { folded }
  private let floorMutex = Mutex<UInt64>(0)
  private let refusals = Mutex(0)
  private let segments = Mutex(0)
  private let probes = Mutex(0)
  private let pushRefusal = Mutex<ProtocolError?>(nil)
  private let kept = Mutex<(snapshot: Snapshot, files: [String: Data])?>(nil)

  init(_ zone: MemoryZone) throws {
    self.zone = zone
    foldedMutex = Mutex(try FoldedZone(zone))
  }

  var floor: UInt64 { floorMutex.withLock { $0 } }
  var refused: Int { refusals.withLock { $0 } }
  /// Pieces of snapshots that were fetched.
  var fetched: Int { segments.withLock { $0 } }
  /// Pulls that ask whether a place is there, and not for what comes after it.
  var probed: Int { probes.withLock { $0 } }

  func refusePushes(_ refusal: ProtocolError?) { pushRefusal.withLock { $0 = refusal } }

  func segment(_ name: String, of generation: UUID, range: Range<Int>) async throws -> Data {
    segments.withLock { $0 += 1 }
    if let file = kept.withLock({ $0?.files[name] }) {
      return file.subdata(in: range.clamped(to: 0..<file.count))
    }
    return try await folded.segment(name, of: generation, range: range)
  }

  /// Adds up the log.
  func fold() throws { try folded.fold() }

  /// Adds up the log, and purges it up to its head.
  func purge() throws {
    let snapshot = try folded.fold()
    var files: [String: Data] = [:]
    for file in snapshot.files { files[file.name] = try folded.bytes(of: file) }
    kept.withLock { $0 = (snapshot, files) }
    floorMutex.withLock { $0 = zone.head }
  }

  private func check(_ cursor: Cursor) throws {
    guard cursor.sequence < floor else { return }
    refusals.withLock { $0 += 1 }
    throw ProtocolError(
      .purged, "The log was purged", suggestion: "Take the snapshot.", head: zone.head,
      floor: floor)
  }

  func snapshot(of generation: UUID) async throws -> Snapshot? {
    try await folded.snapshot(of: generation)
  }

  func keptSnapshot(of generation: UUID) async throws -> Snapshot? {
    kept.withLock { $0?.snapshot }
  }

  func pull(_ request: PullRequest) async throws -> PullPage {
    if request.maxBytes == 1 { probes.withLock { $0 += 1 } }
    try check(request.cursor)
    return try await folded.pull(request)
  }

  func push(_ frame: Data) async throws -> PushReply {
    if let refusal = pushRefusal.withLock({ $0 }) { throw refusal }
    try check(ChangeSetDecoder().decodeHeader(frame).cursor)
    return try await folded.push(frame)
  }

  func zoneInfo() async throws -> ZoneInfo {
    var info = try await folded.zoneInfo()
    info.floor = floor > 0 ? floor : nil
    return info
  }
}

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
    let shelf = try world[0].insert("Shelf", ["name": .string("one")])
    let other = try world[0].insert("Item", ["title": .string("two")])
    try await world.settle()
    // Of an entity whose edits win: what it was before its delete only the log tells.
    try world[0].delete(shelf)
    try await world[0].sync()
    try way.purge()
    try world[1].set(shelf, ["name": .string("edited here")])
    let before = try world[1].export
    for _ in 0..<2 {
      let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
      #expect(error?.code == .logPurged)
      #expect(error?.suggestion.contains("--give-up-unsent") == true)
      #expect(try world[1].export == before)
      #expect(try world[1].status.pending.objects == 1)
    }
    // The store goes on, and status says it.
    try world[1].set(other, ["note": .string("offline")])
    #expect(try world[1].status.lastError?.contains("log-purged") == true)
    // Given up by a person, what was unsent is in the journal.
    _ = try await world[1].engine.giveUpUnsent()
    #expect(try SyncEngine.check(world[1].store).findings.map(\.message) == [])
    #expect(try world[1].conflicts.contains { $0.local?.contains("edited here") == true })
    try await world.settle()
  }

  @Test("A model that lacks what the snapshot names is told so, and nothing is given up for it")
  func narrowModel() async throws {
    let model = shopModel()
    let item = try #require(model.entitiesByName["Item"])
    item.properties.removeAll { $0.name == "title" }
    let (world, way) = try await world(model)
    try world[0].insert("Item", ["title": .string("one")])
    try await world[0].sync()
    try way.purge()
    let own = try world[1].insert("Item", ["note": .string("own")])
    var fetched: Int?
    for _ in 0..<2 {
      await world[1].restart()
      let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
      #expect(error?.code == .logPurged && error?.message.contains("Item.title") == true)
      #expect(error?.suggestion.contains("model") == true)
      #expect(fetched == nil || way.fetched == fetched, "what was fetched is there")
      fetched = way.fetched
      let refused = await #expect(throws: SyncError.self) {
        try await world[1].engine.giveUpUnsent()
      }
      #expect(refused?.code == .logPurged)
      #expect(try world[1].exists(own))
      fetched = way.fetched
    }
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

  @Test("A server that was put back, with what it has in common below the floor, changes nothing")
  func putBack() async throws {
    let (world, way) = try await world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world[0].sync()
    let copy = world.zone.log
    try world[0].insert("Item", ["title": .string("two")])
    try await world[0].sync()
    try way.purge()
    try await world[1].sync()
    #expect(try world[1].exists(item))
    // It joined by the snapshot of what the server has lost.
    world.zone.putBack(copy)
    try way.purgeAnew()
    let before = try world[1].export
    let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
    #expect(error?.code == .logPurged)
    #expect(try world[1].export == before)
    // Begun anew, the zone gets all of it.
    world.clock.advance(milliseconds: 90_000_000)
    world.zone.renew(intent: .offer)
    way.forget()
    try await world[1].sync()
    try await world[0].sync()
    #expect(try world[0].identities(of: "Item").count == 2)
  }
}

extension PurgedZone {
  /// The server that was put back has a floor of its own.
  fileprivate func purgeAnew() throws {
    let other = try FoldedZone(zone)
    foldedMutex.withLock { $0 = other }
    try purge()
  }

  fileprivate func forget() { floorMutex.withLock { $0 = 0 } }
}
