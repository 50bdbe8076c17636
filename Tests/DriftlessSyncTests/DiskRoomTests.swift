import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import Testing

/// A disk of a replica that fills up: what does not fit waits, and all else goes on.
struct DiskRoomTests {
  private func expectFull(
    _ replica: TestReplica, at location: SourceLocation = #_sourceLocation
  ) async {
    let error = await #expect(throws: StoreError.self, sourceLocation: location) {
      try await replica.sync()
    }
    #expect(error?.code == .diskFull, sourceLocation: location)
    #expect(
      error?.message.contains("\(FullDisk.reserve) of them are kept for saves") == true,
      sourceLocation: location)
  }

  @Test("What others pushed waits for room, and what was edited here is sent")
  func page() async throws {
    let (world, disk, _) = try await FullDisk.world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world.settle()
    for number in 0..<50 { try world[0].insert("Item", ["title": .string("\(UUID()) \(number)")]) }
    try await world[0].sync()
    let own = try world[1].insert("Item", ["title": .string("own")])
    disk.leave(-3 * FullDisk.reserve / 4)
    for _ in 0..<2 { await expectFull(world[1]) }
    #expect(try world[1].identities(of: "Item").count == 2)
    try await world[0].sync()
    #expect(try world[0].exists(own), "what is small goes")
    // The program saves on.
    try world[1].set(item, ["note": .string("saved")])
    #expect(try world[1].status.failure?.kind == .offline)
    disk.leave(.max)
    try await world[1].sync()
    #expect(try world[1].identities(of: "Item").count == 52)
    try await world.settle()
  }

  @Test(
    "What fits of what others pushed is settled where the rest does not, and what was edited here is sent",
    arguments: [false, true])
  func part(byPush: Bool) async throws {
    let (world, disk, _) = try await FullDisk.world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    let last = try world[0].insert("Item", ["title": .string("two")])
    try await world.settle()
    try await FullDisk.pushLarge(world[0], item, last: last)
    let own = try world[1].insert("Item", ["title": .string("own")])
    try world[1].set(item, ["title": .string("mine, later")])
    // What it meets is behind what does not fit.
    try world[1].set(last, ["title": .string("mine, later")])
    disk.leave(64 << 10)
    if byPush { _ = try? await world[1].pull() }
    // Once all is settled, a push asks for nothing of others.
    for _ in 0..<(byPush ? 1 : 2) {
      let error = await #expect(throws: StoreError.self) {
        if byPush { try await world[1].push() } else { try await world[1].sync() }
      }
      #expect(error?.code == .diskFull)
      #expect(error?.suggestion.contains("Nothing was changed") == false, "the cursor moved")
    }
    #expect(try world[1].identities(of: "Item").count == 3)
    try await world[0].sync()
    #expect(try world[0].exists(own))
    #expect(try world[0].value(item, "title") == .string("mine, later"))
    #expect(try world[0].value(last, "title") == .string("zone's"))
    #expect(try world[1].value(last, "title") == .string("mine, later"))
    disk.leave(.max)
    try await world.settle()
    #expect(try world[0].value(last, "title") == .string("mine, later"))
    #expect(try world[1].status.quarantined == 0)
  }

  @Test("A large value that does not fit is asked for again, and the rest is there")
  func value() async throws {
    let (world, disk, _) = try await FullDisk.world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world.settle()
    let photo = Data((0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try world[0].set(item, ["blob": .data(photo)])
    try world[0].set(item, ["note": .string("with a photo")])
    try await world[0].sync()
    disk.leave(4 << 20)
    let bytes = world.zone.traffic.valueBytes
    try world[1].set(item, ["tag": .string("own")])
    try await world[1].sync()
    #expect(world.zone.traffic.valueBytes == bytes, "nothing of it is fetched")
    #expect(try world[1].value(item, "note") == .string("with a photo"))
    #expect(try world[1].status.valuesWithoutRoom == 1 && world[1].status.parked == 0)
    try await world[0].sync()
    #expect(try world[0].value(item, "tag") == .string("own"))
    disk.leave(.max)
    try SyncEngine.retryParked(of: world[1].store)
    try await world[1].sync()
    #expect(try world[1].value(item, "blob") == .data(photo))
    try await world.settle()
  }

  @Test("A loop looks again for room, tells what it waits for, and fetches once there is some")
  func looked() async throws {
    let (world, disk, _) = try await FullDisk.world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world.settle()
    let photo = Data((0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try world[0].set(item, ["blob": .data(photo)])
    try await world[0].sync()
    disk.leave(4 << 20)
    var delays = SyncSchedule.Delays(retryFirst: 0.01, retryMax: 3600, idle: 3600, poll: 3600)
    delays.roomMax = 0.01
    let bytes = world.zone.traffic.valueBytes
    var looks = 0
    for await state in world[1].engine.run(delays: delays) {
      if case .inStep = state { break }
      guard case .offline(let pause) = state else { continue }
      #expect(pause.failure.code == "disk-full" && pause.failure.waitsForRoom)
      #expect(pause.failure.suggestion.contains("--values first-use"))
      #expect(world.zone.traffic.valueBytes == bytes, "nothing of it is fetched")
      looks += 1
      if looks == 3 { disk.leave(.max) }
    }
    #expect(looks >= 3)
    #expect(try world[1].value(item, "blob") == .data(photo))
    #expect(try world[1].status.valuesWithoutRoom == 0)
  }

  @Test("A large value whose copy does not fit waits, and what is small is sent")
  func ownValue() async throws {
    let (world, disk, _) = try await FullDisk.world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world.settle()
    try world[1].set(item, ["blob": .data(Data(repeating: 7, count: 3 << 20))])
    let small = try world[1].insert("Item", ["title": .string("small")])
    disk.leave(4 << 20)
    await expectFull(world[1])
    try await world[0].sync()
    #expect(try world[0].exists(small))
    #expect(try world[0].value(item, "blob") == .null)
    #expect(try world[1].status.quarantined == 0)
    disk.leave(.max)
    try await world.settle()
    #expect(try world[0].value(item, "blob") == .data(Data(repeating: 7, count: 3 << 20)))
  }

  @Test("Of large values that do not fit together each is sent by itself")
  func ownValues() async throws {
    let (world, disk, _) = try await FullDisk.world()
    var items: [UUID] = []
    for number in 0..<3 {
      items.append(try world[0].insert("Item", ["title": .string("\(number)")]))
    }
    try await world.settle()
    for (number, item) in items.enumerated() {
      try world[1].set(
        item, ["blob": .data(Data(repeating: UInt8(number + 1), count: 3 << 20))])
    }
    disk.leave(10 << 20)
    try await world[1].sync()
    try await world[0].sync()
    for (number, item) in items.enumerated() {
      #expect(
        try world[0].value(item, "blob")
          == .data(Data(repeating: UInt8(number + 1), count: 3 << 20)))
    }
    try await world.settle()
  }

  @Test("Values that fit one by one and not together are fetched one after the other")
  func sum() async throws {
    let (world, disk, _) = try await FullDisk.world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    let other = try world[0].insert("Item", ["title": .string("two")])
    try await world.settle()
    let photos = [3, 5].map { factor in
      Data((0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 &* factor) })
    }
    // One save, so that both come with one entry.
    try world[0].save { context in
      for (identity, photo) in zip([item, other], photos) {
        let object = try #require(try context.object(withIdentity: identity))
        try object.setValue(photo, forKey: "blob")
      }
    }
    try await world[0].sync()
    // Not for one.
    disk.leave(14 << 20)
    let bytes = world.zone.traffic.valueBytes
    try await world[1].sync()
    #expect(try world[1].status.valuesWithoutRoom == 2 && world[1].status.parked == 0)
    #expect(world.zone.traffic.valueBytes == bytes)
    // The second one once the first is where it belongs.
    disk.leave(16 << 20)
    try await world[1].sync()
    try await world[1].sync()
    #expect(try world[1].status.valuesWithoutRoom == 0)
    #expect(try world[1].value(item, "blob") == .data(photos[0]))
    #expect(try world[1].value(other, "blob") == .data(photos[1]))
    try await world.settle()
  }

  @Test(
    "Where nothing is left the headers of own pushes come, and half of the reserve is for what is small"
  )
  func belowReserve() async throws {
    let (world, disk, _) = try await FullDisk.world()
    try await world.settle()
    disk.leave(-FullDisk.reserve)
    let own = try world[1].insert("Item", ["title": .string("own")])
    try await world[1].sync()
    #expect(try world[1].status.pending.objects == 0)
    try await world[0].sync()
    #expect(try world[0].exists(own))
    try world[0].set(own, ["note": .string("small")])
    try await world[0].sync()
    await expectFull(world[1])
    disk.leave(-FullDisk.reserve / 4)
    try await world[1].sync()
    #expect(try world[1].value(own, "note") == .string("small"))
    try await world.settle()
  }

  @Test("A snapshot that was fetched and does not fit any more stays, and is not fetched again")
  func fetchedSnapshot() async throws {
    let (world, disk, way) = try await FullDisk.world()
    try world[0].insert("Item", ["title": .string("one")])
    try await world.settle()
    for number in 0..<50 { try world[0].insert("Item", ["title": .string("\(UUID()) \(number)")]) }
    try await world[0].sync()
    try way.purge()
    // The disk fills up while it is fetched.
    disk.leave(.max)
    disk.fill(to: 100) { way.fetched > 0 }
    await expectFull(world[1])
    let fetched = way.fetched
    #expect(fetched > 0)
    for _ in 0..<2 { await expectFull(world[1]) }
    #expect(way.fetched == fetched)
    disk.fill(to: 100) { false }
    try await world[1].sync()
    #expect(way.fetched == fetched)
    #expect(try world[1].identities(of: "Item").count == 51)
    try await world.settle()
  }

  @Test(
    "Where a snapshot filled the disk it is tried again with more room, and is not fetched again")
  func filled() async throws {
    let (world, disk, way) = try await FullDisk.world()
    try world[0].insert("Item", ["title": .string("one")])
    try await world.settle()
    for _ in 0..<400 {
      let title = (0..<10).map { _ in "\(UUID())" }.joined()
      try world[0].insert("Item", ["title": .string(title)])
    }
    try await world[0].sync()
    try way.purge()
    disk.leave(1 << 30)
    func bound(_ pages: Int64) throws {
      _ = try world[1].store.write(TransactionInfo(author: "test", kind: .imported)) {
        try $0.connection.execute("PRAGMA max_page_count = \(pages)")
      }
    }
    func sync() async throws {
      let error = await #expect(throws: StoreError.self) { try await world[1].sync() }
      #expect(error?.code == .diskFull)
    }
    let pages = try world[1].store.read { transaction in
      let statement = try transaction.connection.prepare("PRAGMA page_count")
      defer { statement.reset() }
      return try statement.step() ? statement.int64(0) : 0
    }
    try bound(pages + 40)
    try await sync()
    let fetched = way.fetched
    #expect(fetched > 0)
    try bound(1 << 30)
    try await sync()
    #expect(way.fetched == fetched)
    disk.leave(2 << 30)
    try await world[1].sync()
    #expect(way.fetched == fetched)
    #expect(try world[1].identities(of: "Item").count == 401)
    try await world.settle()
  }

  @Test("A snapshot that does not fit is not fetched, and what is here stays")
  func snapshot() async throws {
    let (world, disk, way) = try await FullDisk.world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world.settle()
    for number in 0..<50 { try world[0].insert("Item", ["title": .string("\(UUID()) \(number)")]) }
    try await world[0].sync()
    try way.purge()
    try world[1].set(item, ["title": .string("own")])
    disk.leave(1000)
    let before = try world[1].export
    let fetched = way.fetched
    for _ in 0..<2 { await expectFull(world[1]) }
    #expect(way.refused > 0 && way.fetched == fetched)
    #expect(try world[1].export == before)
    disk.leave(.max)
    try await world[1].sync()
    #expect(try world[1].identities(of: "Item").count == 51)
    try await world.settle()
  }
}
