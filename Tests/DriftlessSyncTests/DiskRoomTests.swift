import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import Testing

/// A disk of a replica that fills up: what does not fit waits, and all else goes on.
struct DiskRoomTests {
  /// What the file system says that it has free.
  private final class Disk: Sendable {
    private let free = Mutex(Int.max)
    static let reserve = 1 << 20

    func leave(_ bytes: Int) { free.withLock { $0 = bytes < .max ? bytes + Self.reserve : bytes } }

    var options: SyncOptions {
      var options = SyncOptions()
      options.diskRoom = { _ in
        DiskRoom(free: self.free.withLock { $0 }, reserve: Self.reserve)
      }
      return options
    }
  }

  private func world() async throws -> (world: World, disk: Disk, way: PurgedZone) {
    var world = try await World(1)
    let disk = Disk()
    let way = try PurgedZone(world.zone)
    world.replicas.append(
      try await TestReplica(
        "small", zone: world.zone, clock: world.clock, transport: way, options: disk.options))
    return (world, disk, way)
  }

  private func expectFull(
    _ replica: TestReplica, at location: SourceLocation = #_sourceLocation
  ) async {
    let error = await #expect(throws: StoreError.self, sourceLocation: location) {
      try await replica.sync()
    }
    #expect(error?.code == .diskFull, sourceLocation: location)
    #expect(
      error?.message.contains("\(Disk.reserve) of them are kept for saves") == true,
      sourceLocation: location)
  }

  @Test("What others pushed waits for room, and what was edited here is sent")
  func page() async throws {
    let (world, disk, _) = try await world()
    let item = try world[0].insert("Item", ["title": .string("one")])
    try await world.settle()
    for number in 0..<50 { try world[0].insert("Item", ["title": .string("\(UUID()) \(number)")]) }
    try await world[0].sync()
    let own = try world[1].insert("Item", ["title": .string("own")])
    disk.leave(100)
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

  @Test("A large value that does not fit is asked for again, and the rest is there")
  func value() async throws {
    let (world, disk, _) = try await world()
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
    #expect(try SyncEngine.parked(of: world[1].store).map(\.code) == ["missing-value"])
    try await world[0].sync()
    #expect(try world[0].value(item, "tag") == .string("own"))
    disk.leave(.max)
    try SyncEngine.retryParked(of: world[1].store)
    try await world[1].sync()
    #expect(try world[1].value(item, "blob") == .data(photo))
    try await world.settle()
  }

  @Test("A large value whose copy does not fit waits, and what is small is sent")
  func ownValue() async throws {
    let (world, disk, _) = try await world()
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

  @Test("A snapshot that does not fit is not fetched, and what is here stays")
  func snapshot() async throws {
    let (world, disk, way) = try await world()
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
