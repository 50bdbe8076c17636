import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DriftlessSync

/// Large values hold up no save for longer than the turn of a sync: what is under way then ends there, and what came of it is kept.
@Suite("Turns of large values", .timeLimit(.minutes(5)))
struct ValueTurnTests {
  /// It begins anew at once where more is to come, and else waits for longer than any test.
  private static var delays: SyncSchedule.Delays {
    var delays = SyncSchedule.Delays(
      settle: 0, retryFirst: 3600, retryMax: 3600, idle: 3600, poll: 3600)
    delays.roomMax = 3600
    return delays
  }

  @Test(
    "A transfer that hangs ends with the turn, goes on where it was, and a save goes between",
    arguments: [true, false])
  func hanging(isFirstUse: Bool) async throws {
    let shop = try await ValueShop(1)
    let photo = ValueShop.bytes(10_000)
    let id = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(photo)])
    try await shop[0].sync()
    let way = HangingWay(shop.zone)
    var options = SyncOptions()
    options.largeValueBytesMin = 1000
    options.values = isFirstUse ? .firstUse : .eager
    let slow = try await TestReplica(
      "slow", zone: shop.zone, clock: shop.clock, transport: way, options: options)
    if isFirstUse {
      try await slow.sync()
      try SyncEngine.wantValues(of: slow.store)
    }
    let store = slow.store
    way.onHanging {
      let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
      try context.insert(entityNamed: "Item").setValue("own", forKey: "title")
      try context.save()
    }
    await slow.engine.takeTurns(ofSeconds: 0)
    for await state in slow.engine.run(delays: Self.delays) {
      if case .inStep = state { break }
    }
    #expect(try slow.value(id, "blob") == .data(photo))
    #expect(way.asked.map(\.range.lowerBound) == [0, 6000], "no byte came twice")
    // When the rest of the value was asked for, the save was in the zone.
    #expect(way.asked.map(\.head) == [1, 2])
    try await shop[0].sync()
    #expect(try shop[0].identities(of: "Item").count == 2)
    #expect(try SyncEngine.wantedFailure(of: slow.store) == nil)
    #expect(try SyncEngine.check(slow.store).isSound)
  }

  @Test("Who syncs beside a loop takes turns with it as well")
  func besideLoop() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let way = HangingWay(shop.zone)
    var options = SyncOptions()
    options.largeValueBytesMin = 1000
    options.values = .eager
    let slow = try await TestReplica(
      "slow", zone: shop.zone, clock: shop.clock, transport: way, options: options)
    let (engine, store) = (slow.engine, slow.store)
    way.onHanging {
      // Somebody else asks for a sync meanwhile.
      Task { try await engine.push() }
      let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
      try context.insert(entityNamed: "Item").setValue("own", forKey: "title")
      try context.save()
    }
    await engine.takeTurns(ofSeconds: 0)
    let report = try await engine.syncInTurns(allowingMassDelete: false)
    #expect(try slow.value(id, "blob") == .data(ValueShop.photo))
    #expect(way.asked.map(\.head).first == 1 && way.asked.map(\.head).last == 2)
    #expect(report.pull.inserted == 1)
  }

  @Test(
    "A save goes between the pieces of a large value that is sent, and the value goes on where it was"
  )
  func sending() async throws {
    let shop = try await ValueShop(2)
    let sent = try shop.sendPhotoInPieces()
    #expect(await shop.runInTurns(0) >= 4)
    // The save is in the zone before the second piece goes, and the value is sent once.
    #expect(sent.heads == [0, 1, 1, 1])
    #expect(shop.ways[0].bytes.sent == sent.photo.count)
    #expect(try shop[0].status.pending.isEmpty)
    try await shop[1].sync()
    #expect(try shop[1].value(sent.id, "blob") == .data(sent.photo))
    #expect(try shop[1].identities(of: "Item").count == 2)
    #expect(try SyncEngine.check(shop[0].store).isSound)
    #expect(try shop.pieces(0) == 0)
  }

  @Test("What was saved with a large value waits with it: nobody is shown a part of a save")
  func savedTogether() async throws {
    let shop = try await ValueShop(2)
    let photo = ValueShop.bytes(2 << 20 + 5000)
    try shop[0].save { context in
      for (title, blob) in [("with", photo), ("beside", nil)] as [(String, Data?)] {
        let object = try context.insert(entityNamed: "Item")
        try object.setValue(title, forKey: "title")
        try object.setValue(blob, forKey: "blob")
      }
    }
    let other = try shop[0].insert("Item", ["title": .string("other")])
    let reader = shop[1]
    let zone = shop.zone
    let heads = Mutex<[UInt64]>([])
    shop.ways[0].set(.init(beforePut: { heads.withLock { $0.append(zone.head) } }))
    _ = await shop.runInTurns(0)
    #expect(heads.withLock { $0 } == [0, 1, 1])
    let state = try await zone.zoneInfo()
    let page = try await zone.pull(
      PullRequest(
        cursor: Cursor.start(generation: state.generation), maxBytes: 1 << 20, waitSeconds: 0,
        replica: UUID(), ownThrough: 0))
    let objects = try page.entries.map {
      try ChangeSetDecoder().decodeHeader($0.frame).newObjectCount
    }
    #expect(objects == [1, 2])
    try await reader.sync()
    #expect(try reader.identities(of: "Item").count == 3)
    #expect(try reader.exists(other))
  }

  @Test("Deletes that wait for a person leave the change set of a large value in flight as it is")
  func besideWaitingDeletes() async throws {
    let shop = try await ValueShop(1)
    var options = SyncOptions()
    options.massDelete.floor = 8
    options.largeValueBytesMin = 1000
    let replica = try await TestReplica(
      "careful", zone: shop.zone, clock: shop.clock, transport: shop.ways[0], options: options)
    let items = try (0..<40).map { try replica.insert("Item", ["title": .string("\($0)")]) }
    try await replica.sync()
    for item in items.prefix(30) { try replica.delete(item) }
    let photo = ValueShop.bytes(3 << 20 + 5000)
    let id = try replica.insert("Item", ["blob": .data(photo)])
    let store = replica.store
    let pushes = Mutex<[UInt64]>([])
    shop.ways[0].set(
      .init(beforePut: {
        let state = try store.read { try ReplicaState.load(from: $0.connection) }
        pushes.withLock { $0.append(UInt64(state?.pushNumber ?? 0)) }
      }))
    await replica.engine.takeTurns(ofSeconds: 0)
    // One attempt has all turns that there are, and tells of the deletes in the end.
    let error = await #expect(throws: SyncError.self) {
      try await replica.engine.syncInTurns(allowingMassDelete: false)
    }
    #expect(error?.code == .massDelete)
    let made = pushes.withLock { $0 }
    #expect(made.count == 4 && Set(made).count == 1, "each piece went with the same one: \(made)")
    try await shop[0].sync()
    #expect(try shop[0].value(id, "blob") == .data(photo))
    #expect(try shop[0].identities(of: "Item").count == 41)
  }

  @Test("The rest of a piece is asked for up to where a server gives it")
  func aligned() async throws {
    let shop = try await ValueShop(1)
    let photo = ValueShop.bytes(1 << 20 + 5000)
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    try await shop[0].sync()
    let way = HangingWay(shop.zone, pieceBytes: 1 << 20 - 100)
    let slow = try await TestReplica("slow", zone: shop.zone, clock: shop.clock, transport: way)
    await slow.engine.takeTurns(ofSeconds: 0)
    for await state in slow.engine.run(delays: Self.delays) {
      if case .inStep = state { break }
    }
    #expect(try slow.value(id, "blob") == .data(photo))
    let end = 1 << 20
    #expect(
      way.asked.map(\.range) == [0..<end, end - 100..<end, end..<photo.count],
      "\(way.asked.map(\.range))")
  }

  @Test("One of which nothing comes in its turn is told as what keeps it from coming")
  func silent() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let way = HangingWay(shop.zone, pieceBytes: 0)
    var options = SyncOptions()
    options.largeValueBytesMin = 1000
    options.values = .firstUse
    let slow = try await TestReplica(
      "slow", zone: shop.zone, clock: shop.clock, transport: way, options: options)
    try await slow.sync()
    try SyncEngine.wantValues(of: slow.store)
    await slow.engine.takeTurns(ofSeconds: 0)
    for await state in slow.engine.run(delays: Self.delays) {
      guard case .offline(let pause) = state else { continue }
      #expect(pause.failure.code == "timed-out")
      break
    }
    #expect(way.asked.count == 1)
    #expect(try SyncEngine.wantedFailure(of: slow.store)?.code == "timed-out")
    #expect(try slow.kept(id, "blob")?.isInZone == true)
    #expect(try SyncEngine.wantedValues(of: slow.store) == 1)
  }

  @Test("What came before a line broke is kept, and a sync that has no end stops as ever")
  func parts() async throws {
    let shop = try await ValueShop(2)
    let photos = (1...6).map { ValueShop.bytes(12_000, $0) }
    for photo in photos { try shop[0].insert("Item", ["blob": .data(photo)]) }
    try await shop[0].sync()
    shop.ways[1].set(.init(stalled: ({ _ in true }, .init()), stalledBytes: 5000))
    try await shop[1].sync()
    // One of three parts.
    #expect(shop.ways[1].stalled.count == SyncTuning.valueFailuresInARowMax)
    #expect(try SyncEngine.awaitedValues(of: shop[1].store).count == photos.count - 1)
    try await shop[1].sync()
    #expect(shop.ways[1].stalled.count == SyncTuning.valueFailuresInARowMax + 1)
    #expect(try SyncEngine.valueBytesUnderWay(of: shop[1].store) == 5000)
    #expect(try SyncEngine.wantedFailure(of: shop[1].store)?.code == "timed-out")
    shop.ways[1].set(.init())
    try await shop[1].sync()
    #expect(try shop[1].export == shop[0].export)
    #expect(shop.ways[1].bytes.received == photos.count * 12_000, "no byte came twice")
  }

  @Test("What is let go of goes on at once, also where something else waits for room")
  func letGoWithoutRoom() async throws {
    let shop = try await ValueShop(1)
    let disk = FullDisk()
    var options = disk.options
    options.largeValueBytesMin = 1000
    options.values = .firstUse
    let small = try await TestReplica(
      "small", zone: shop.zone, clock: shop.clock, transport: shop.ways[0], options: options)
    for seed: UInt64 in 1...3 {
      try shop[0].insert("Item", ["blob": .data(ValueShop.bytes(5000, seed))])
    }
    try await shop[0].sync()
    try await small.sync()
    try await small.engine.downloadAll()
    try shop[0].insert("Item", ["blob": .data(ValueShop.bytes(3 << 20))])
    try await shop[0].sync()
    try await small.sync()
    disk.leave(1 << 20)
    try SyncEngine.wantValues(of: small.store)
    try SyncEngine.askToLetGo(of: small.store)
    await small.engine.takeTurns(ofSeconds: 0)
    for await state in small.engine.run(delays: Self.delays) where state == .syncing {
      if try SyncEngine.letGoReport(of: small.store) != nil { break }
    }
    #expect(try SyncEngine.letGoReport(of: small.store)?.values == 3)
    #expect(try SyncEngine.wantedFailure(of: small.store)?.code == "disk-full")
  }

  @Test("What was let go of in turns is counted, whichever process goes on")
  func letGoCounted() async throws {
    let shop = try await ValueShop(2, firstUse: [1])
    for seed: UInt64 in 1...3 {
      try shop[0].insert("Item", ["blob": .data(ValueShop.bytes(5000, seed))])
    }
    // One that the zone has within its change set, and one that it lost.
    try await shop.syncAll()
    try await shop[1].engine.downloadAll()
    shop.zone.changeValues { $0.lose(LargeValue(of: ValueShop.bytes(5000, 2))?.digest ?? Data()) }
    let store = shop[1].store
    try SyncEngine.askToLetGo(of: store)
    await shop[1].engine.takeTurns(ofSeconds: 0)
    for await state in shop[1].engine.run(delays: Self.delays) where state == .syncing {
      if try shop[1].status.valuesInZone > 0 { break }
    }
    #expect(try SyncEngine.letGoReport(of: store) == nil)
    #expect(try SyncEngine.check(store).isSound)
    await shop[1].restart()
    try await shop[1].sync()
    let report = try #require(try SyncEngine.letGoReport(of: store))
    #expect(report.values + report.kept == 3 && report.bytes + report.bytesKept == 15_000)
    #expect(report.values >= 2)
    #expect(try store.read { try $0.setting(LetGoRequest.begunSetting) } == nil)
  }

  @Test("A value on which the zone has no word is asked about once")
  func withoutWord() async throws {
    let shop = try await ValueShop(2, firstUse: [1])
    let id = try shop[0].insert("Item", ["title": .string("a")])
    try await shop.syncAll()
    // As a default that came with a later model.
    _ = try shop[1].store.write(TransactionInfo(author: "sync", kind: .imported)) { transaction in
      let key = try #require(try transaction.key(of: id))
      var row = try #require(try transaction.row(key)).values
      let slot = try #require(
        shop[1].store.schema.entity(numbered: key.entity)?.layout.index(named: "blob"))
      row[slot] = .data(ValueShop.bytes(2000))
      try transaction.update(key, PropertyMask([slot]), values: row, expectedVersion: nil)
    }
    let first = try await shop[1].engine.letGoValues()
    #expect(first.kept == 1 && first.unknown == nil)
    // Who is asked again says nothing now.
    shop.ways[1].set(.init(digestRefusal: .unsupported))
    let second = try await shop[1].engine.letGoValues()
    #expect(second.kept == 1 && second.unknown == nil)
  }

  @Test("A turn ends with what is left of it, and what begins late in it begins not at all")
  func ends() {
    let now = ContinuousClock.now
    var turn = ValueTurn()
    turn.begin(after: 30, at: now)
    #expect(turn.patience(at: now) == now + .seconds(10))
    turn.beginMending(at: now)
    turn.restart(ofParts: 2, at: now)
    #expect(turn.patience(at: now) == now + .seconds(10))
    #expect(!turn.isOver(at: now + .seconds(10)), "one attempt is made in any case")
    #expect(turn.noteTried() && !turn.noteTried())
    #expect(!turn.isOver(at: now + .seconds(7)) && turn.isOver(at: now + .seconds(8)))
    turn.restart(at: now + .seconds(4))
    #expect(turn.patience(at: now + .seconds(4)) == now + .seconds(20))
    turn.stop()
    #expect(turn.patience() == nil && !turn.isBounded)
  }
}

/// A way to a zone on which a piece of a value gets no further than a number of bytes: then nothing comes until who asked gives up.
private final class HangingWay: ForwardingTransport {
  let next: any SyncTransport
  private let zone: MemoryZone
  private let pieceBytes: Int
  private struct State {
    var asked: [(Range<Int>, UInt64)] = []
    var onHanging: @Sendable () throws -> Void = {}
  }
  private let state = Mutex(State())

  init(_ zone: MemoryZone, pieceBytes: Int = 6000) {
    (next, self.zone, self.pieceBytes) = (zone, zone, pieceBytes)
  }

  /// The pieces that were asked for, each with where the zone stood then.
  var asked: [(range: Range<Int>, head: UInt64)] {
    state.withLock { $0.asked.map { (range: $0.0, head: $0.1) } }
  }

  func onHanging(_ body: @escaping @Sendable () throws -> Void) {
    state.withLock { $0.onHanging = body }
  }

  func value(_ digest: Data, of generation: UUID, range: Range<Int>) async throws -> Data {
    let head = zone.head
    state.withLock { $0.asked.append((range, head)) }
    let piece = try await next.value(digest, of: generation, range: range.prefix(pieceBytes))
    guard piece.count < range.count else { return piece }
    // Once.
    let act = state.withLock { state in
      defer { state.onHanging = {} }
      return state.onHanging
    }
    try act()
    do {
      // One that does not fails by the suite's time.
      try await Task.sleep(for: .seconds(3600))  // the engine ends it
      throw CancellationError()
    } catch {
      throw PartOfValue(bytes: piece, reason: error)
    }
  }
}
