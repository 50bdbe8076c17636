import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessTesting
import Foundation
import TestSupport
import Testing

@testable import DriftlessSync

/// What was asked for comes, or is told to be not to be had, or nobody waits for it any more: nothing else of a store waits for it.
@Suite("Large values that were asked for")
struct WantedValueTests {
  /// The bytes of a store's files.
  private static func bytes(of folder: URL) -> Int {
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    var bytes = 0
    while let file = files?.nextObject() as? URL {
      let size = try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
      bytes += size ?? 0
    }
    return bytes
  }

  @Test(
    "The same bytes in many objects take room once each, and hold up no pull and no push",
    arguments: [true, false])
  func fullOfOne(isFirstUse: Bool) async throws {
    let shop = try await ValueShop(1)
    let photo = ValueShop.bytes(300_000)
    for number in 0..<20 {
      try shop[0].insert("Item", ["title": .string("\(number)"), "blob": .data(photo)])
    }
    try await shop[0].sync()
    let folder = try TemporaryDirectory()
    let file = folder.file("small.sqlite")
    // As large as a disk that has room for some of them.
    var options = SyncOptions()
    options.largeValueBytesMin = 1000
    options.values = isFirstUse ? .firstUse : .eager
    options.diskRoom = { url in
      let used = Self.bytes(of: url.deletingLastPathComponent())
      return DiskRoom(free: max(0, 4_000_000 - used), reserve: 100_000)
    }
    let small = try await TestReplica(
      "small", zone: shop.zone, clock: shop.clock, options: options, file: file)
    try await small.sync()
    let all = try SyncEngine.awaitedValues(of: small.store)
    #expect(all.count == 20)
    if isFirstUse {
      let error = await #expect(throws: StoreError.self) { try await small.engine.downloadAll() }
      #expect(error?.code == .diskFull)
      #expect(try SyncEngine.awaitedValues(of: small.store).count < 20, "some fit")
    }
    let later = try shop[0].insert("Item", ["title": .string("later")])
    try await shop[0].sync()
    let own = try small.insert("Item", ["title": .string("own")])
    try await small.sync()
    #expect(try small.value(later, "title") == .string("later"))
    try await shop[0].sync()
    #expect(try shop[0].value(own, "title") == .string("own"))
    try await small.pull()
    try await small.push()
    #expect(try await small.engine.verify().differences.isEmpty)
    guard isFirstUse else { return }
    #expect(try SyncEngine.wantedFailure(of: small.store)?.code == "disk-full")
    #expect(try SyncEngine.takeBackWanted(of: small.store) == 0)
    #expect(try SyncEngine.wantedValues(of: small.store) == 0)
  }

  @Test("Behind a value that there is no room for, smaller ones come")
  func smaller() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let large = try shop[0].insert("Item", ["blob": .data(ValueShop.bytes(500_000, 3))])
    try await shop[0].sync()
    let disk = FullDisk()
    var options = disk.options
    options.values = .firstUse
    options.largeValueBytesMin = 1000
    let small = try await TestReplica(
      "small", zone: shop.zone, clock: shop.clock, options: options)
    try await small.sync()
    disk.leave(600_000)
    let error = await #expect(throws: StoreError.self) { try await small.engine.downloadAll() }
    #expect(error?.code == .diskFull)
    #expect(try small.value(id, "blob") == .data(ValueShop.photo))
    #expect(try small.kept(large, "blob")?.isInZone == true)
    disk.leave(.max)
    try await small.sync()
    #expect(try small.value(large, "blob") == .data(ValueShop.bytes(500_000, 3)))
  }

  @Test("Nobody waits for what was replaced, deleted or set here meanwhile")
  func unneeded() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    try SyncEngine.wantValues(of: shop[1].store)
    try shop[0].set(id, ["blob": .data(ValueShop.bytes(40_000, 2))])
    try await shop[0].sync()
    try await shop[1].sync()
    #expect(try SyncEngine.wantedValues(of: shop[1].store) == 0)
    #expect(try SyncEngine.awaitedValues(of: shop[1].store).map(\.isWanted) == [false])
    let object = try shop[1].objectID(of: id)

    try SyncEngine.wantValues(of: shop[1].store)
    try shop[1].set(id, ["blob": .null])
    #expect(try SyncEngine.awaitedValues(of: shop[1].store).isEmpty)
    #expect(try shop[1].status.valuesInZone == 0)
    let report = try await shop[1].engine.download([object])
    #expect(report.values == 0 && report.missing == 0)
    #expect(shop.ways[1].bytes.received == 0, "nobody needs it")
    try await shop[1].sync()
    #expect(try SyncEngine.wantedValues(of: shop[1].store) == 0)

    let other = try shop[0].insert("Item", ["blob": .data(ValueShop.photo)])
    try await shop.syncAll()
    let second = try shop[1].objectID(of: other)
    try SyncEngine.wantValues(of: shop[1].store)
    try shop[1].delete(other)
    #expect(try await shop[1].engine.download([second]).values == 0)
    try await shop[1].sync()
    #expect(try SyncEngine.wantedValues(of: shop[1].store) == 0)
  }

  @Test(
    "What an undo went back to, unsent, comes under the edit, which goes to the zone all the same")
  func undoneUnsent() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: shop[1].store))
    let undo = UndoManager()
    context.undoManager = undo
    let object = try #require(try context.object(withIdentity: id))
    object["blob"] = ValueShop.bytes(4000, 2)
    try context.save()
    try await shop.syncAll()
    shop.clock.advance()
    undo.undo()
    try context.save()
    let report = try await shop[1].engine.download(object.objectID, key: "blob")
    #expect(report.values == 1)
    #expect(try shop[1].value(id, "blob") == .data(ValueShop.photo))
    #expect(try !shop[1].status.pending.isEmpty, "it is an edit still")
    #expect(try SyncEngine.wantedValues(of: shop[1].store) == 0)
    try await shop.syncAll()
    #expect(try shop[0].value(id, "blob") == .data(ValueShop.photo))
    #expect(try shop[1].value(id, "blob") == .data(ValueShop.photo))
    #expect(try shop[1].status.pending.isEmpty)
    #expect(try await shop[1].engine.verify().isEqual)
  }

  @Test(
    "What the zone has again is in the zone, also for a replica that had only heard of the loss")
  func heardOf() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let digest = try #require(LargeValue(of: ValueShop.photo)?.digest)
    shop.zone.changeValues { $0.lose(digest) }
    try await shop[1].sync()
    #expect(try SyncEngine.awaitedValues(of: shop[1].store).map(\.reason) == ["lost"])
    #expect(try SyncEngine.parked(of: shop[1].store).map(\.code) == ["missing-value"])
    let reason = try #require(try SyncEngine.parked(of: shop[1].store).first?.reason)
    #expect(reason.contains("does not have") && !reason.contains("in the zone"), "\(reason)")
    // Another process goes on.
    await shop[1].restart()
    try await shop[0].sync()
    try await shop[1].sync()
    #expect(try SyncEngine.awaitedValues(of: shop[1].store).map(\.reason) == [nil])
    #expect(try SyncEngine.parked(of: shop[1].store).isEmpty)
    #expect(try shop[1].status.valuesInZone == 1)
    #expect(shop.ways[1].bytes.received == 0, "nobody asked for it")
    #expect(try shop[1].kept(id, "blob")?.isInZone == true)
  }

  @Test("What was asked for in vain comes by itself once the zone has it again")
  func comesLater() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let digest = try #require(LargeValue(of: ValueShop.photo)?.digest)
    shop.zone.changeValues { $0.lose(digest) }
    let object = try shop[1].objectID(of: id)
    await #expect(throws: SyncError.self) { try await shop[1].engine.download(object) }
    try await shop[0].sync()
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .data(ValueShop.photo))
  }

  @Test("A store leaves its zone with what was not to be had only when that is meant")
  func leavingMissing() async throws {
    let (shop, _) = try await ValueShop.withPhoto()
    let digest = try #require(LargeValue(of: ValueShop.photo)?.digest)
    shop.zone.changeValues { $0.lose(digest) }
    try await shop[1].sync()
    #expect(try shop[1].status.valuesInZone == 0)
    await shop[1].engine.close()
    let error = #expect(throws: SyncError.self) { try SyncEngine.unenroll(store: shop[1].store) }
    #expect(error?.code == .valuesInZone)
  }

  @Test("Who waits for a process that syncs in vain hears why, and nobody waits for ever")
  func beside() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let object = try shop[1].objectID(of: id)
    await shop[1].engine.close()
    let lock = try shop[1].store.acquireSyncLock()
    defer { withExtendedLifetime(lock) {} }
    try SyncEngine.noteUnbegun(
      shop[1].store, code: "unauthorized", message: "The token is revoked.",
      suggestion: "Bring one.")
    let error = await #expect(throws: SyncError.self) {
      try await shop[1].engine.download(object)
    }
    #expect(error?.code == .valueUnreachable)
    #expect(error?.message.contains("The token is revoked") == true)
    #expect(try SyncEngine.wantedValues(of: shop[1].store) == 1, "it is noted")
    // What is set meanwhile ends the wait.
    try shop[1].set(id, ["blob": .data(ValueShop.bytes(3000, 9))])
    #expect(try await shop[1].engine.download([object]).values == 0)
  }

  @Test("Each who asks is counted, and a value is wanted until the last one takes it back")
  func askers() async throws {
    let (shop, _) = try await ValueShop.withPhoto()
    let store = shop[1].store
    let value = try #require(LargeValue(of: ValueShop.photo))
    func ask() throws { try shop[1].write { try WantedValues.ask([value], in: $0) } }
    func takeBack() throws {
      try shop[1].write { try WantedValues.takeBack([value], on: $0.connection) }
    }
    for _ in 0..<3 { try ask() }
    for _ in 0..<2 {
      try takeBack()
      #expect(try SyncEngine.wantedValues(of: store) == 1)
    }
    try takeBack()
    #expect(try SyncEngine.wantedValues(of: store) == 0)
    try takeBack()
    #expect(try SyncEngine.check(store).isSound)
  }

  @Test("Who asks still for what somebody has taken back wakes the process that syncs")
  func askedStill() async throws {
    let (shop, _) = try await ValueShop.withPhoto()
    let store = shop[1].store
    let value = try #require(LargeValue(of: ValueShop.photo))
    try shop[1].write { try WantedValues.ask([value], in: $0) }
    try SyncEngine.takeBackWanted(of: store)
    let heard = try store.read { try WantedValues.Notes($0) }
    try shop[1].write { try WantedValues.askStill([value], in: $0) }
    #expect(try store.read { try WantedValues.Notes($0) }.asksForMore(than: heard))
    #expect(try SyncEngine.wantedValues(of: store) == 1)
  }

  @Test("A note of another process rings at the one that syncs")
  func rings() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let file = shop[1].directory.file("r1.sqlite")
    let other = try PersistentStore.open(url: file, model: shop[1].store.model)
    defer { other.close() }
    // It looks by itself so seldom that only the note can be what brings it.
    let states = shop[1].engine.run(
      delays: SyncSchedule.Delays(retryMax: 3600, idle: 3600, poll: 3600))
    let ids = try shop[1].objectID(of: id)
    var updates = shop[1].engine.valueUpdates(of: ids, key: "blob").makeAsyncIterator()
    var isNoted = false
    for await state in states {
      guard case .inStep = state else { continue }
      if isNoted { break }
      isNoted = true
      try SyncEngine.wantValues(of: other)
    }
    while let update = await updates.next(), update.state != .here {}
    #expect(try shop[1].value(id, "blob") == .data(ValueShop.photo))
  }

  @Test("A loop goes on with what was asked for at once, a turn after the other, until all is here")
  func turns() async throws {
    let shop = try await ValueShop(2, firstUse: [1])
    for seed: UInt64 in 1...5 {
      try shop[0].insert("Item", ["blob": .data(ValueShop.bytes(5000, seed))])
    }
    try await shop.syncAll()
    try SyncEngine.wantValues(of: shop[1].store)
    #expect(await shop.runInTurns(1) >= 5)
    #expect(try SyncEngine.wantedValues(of: shop[1].store) == 0)
    #expect(try shop[1].export == shop[0].export)
  }

  @Test("A turn in which something found no room is not followed by another one at once")
  func turnWithoutRoom() {
    var turn = ValueTurn()
    turn.begin(after: 0)
    turn.beginMending()
    turn.restart()
    turn.noteCame()
    turn.noteLeft()
    #expect(turn.isOver() && turn.hasMore)
    turn.noteNoRoom()
    #expect(!turn.hasMore)
    turn.noteLetGoLeft()
    #expect(turn.hasMore, "to let go of some needs no room")
    turn.begin(after: 0)
    turn.noteCame()
    turn.noteLeft()
    #expect(turn.hasMore, "the next one begins anew")
  }

  @Test("A value that was begun goes on where it was, also when another one has come meanwhile")
  func begun() async throws {
    let shop = try await ValueShop(2, firstUse: [1])
    let large = ValueShop.bytes(3 << 20 | 5, 4)
    let id = try shop[0].insert("Item", ["blob": .data(large)])
    let small = try shop[0].insert("Item", ["blob": .data(ValueShop.photo)])
    try await shop.syncAll()
    shop.ways[1].set(.init(passing: 2))
    _ = try? await shop[1].engine.download(try shop[1].objectID(of: id))
    shop.ways[1].set(.init())
    await shop[1].restart()
    try await shop[1].engine.download(try shop[1].objectID(of: small))
    try await shop[1].engine.download(try shop[1].objectID(of: id))
    #expect(try shop[1].value(id, "blob") == .data(large))
    #expect(
      shop.ways[1].bytes.received == large.count + ValueShop.photo.count, "no piece came twice")
    #expect(try shop.pieces(1) == 0)
  }

  @Test("What the model, or the store, does not have is not asked for in silence")
  func unknown() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let store = shop[1].store
    for (object, entity, key) in [
      (nil, "Nope", nil), (nil, nil, "nope"), (nil, "Item", "nope"), (UUID(), nil, nil),
    ] as [(UUID?, String?, String?)] {
      let error = #expect(throws: SyncError.self) {
        try SyncEngine.wantValues(of: store, object: object, entity: entity, key: key)
      }
      #expect(error?.code == .unknownElement)
    }
    #expect(try SyncEngine.wantValues(of: store, object: id, entity: "Item", key: "blob") == 1)
  }
}

extension SyncEngine {
  func takeTurns(ofSeconds seconds: Int) { valueTurnSeconds = seconds }
  func mend(bytesMax: Int) { mendedValueBytesMax = bytesMax }
}
