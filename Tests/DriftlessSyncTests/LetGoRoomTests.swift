import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DriftlessSync

/// Large values are let go of on a disk that is full: it is what makes room there.
@Suite("Letting large values go on a full disk")
struct LetGoRoomTests {
  private static func bytes(_ count: Int, _ seed: UInt64 = 1) -> Data {
    ValueShop.bytes(count, seed)
  }

  private struct Small {
    let world: World
    let disk: FullDisk
    var replica: TestReplica { world[1] }

    /// A replica that has fetched a photo of 2 MiB on its small disk.
    init(_ photo: Data = LetGoRoomTests.bytes(2 << 20)) async throws {
      var world = try await World(1)
      world.zone.changeValues { $0.bytesMax = 16 << 20 }
      disk = FullDisk()
      var options = disk.options
      options.values = .firstUse
      world.replicas.append(
        try await TestReplica(
          "small", zone: world.zone, clock: world.clock, transport: world.zone, options: options))
      self.world = world
      try world[0].insert("Item", ["blob": .data(photo)])
      for index in 0..<2 { try await world[index].sync() }
      try await world[1].engine.downloadAll()
      // What came on the way goes before the disk is full.
      try await world[1].sync()
    }

    /// Nothing has room until something was let go of.
    func fillUntilGone() {
      let store = replica.store
      disk.fill(to: 0) { (try? SyncEngine.status(of: store).valuesInZone) == 0 }
    }
  }

  @Test("An own value that waits for room is sent once what was to go has gone")
  func own() async throws {
    let small = try await Small()
    let own = try small.replica.insert("Item", ["blob": .data(Self.bytes(1_100_000, 7))])
    small.fillUntilGone()
    let refused = await #expect(throws: StoreError.self) { try await small.replica.sync() }
    #expect(refused?.code == .diskFull)
    #expect(refused?.suggestion.contains("syncctl values let-go") == true)
    try SyncEngine.askToLetGo(of: small.replica.store)
    try await small.replica.sync()
    let report = try #require(try SyncEngine.letGoReport(of: small.replica.store))
    #expect(report.values >= 1 && report.bytes >= 2 << 20, "\(report)")
    #expect(try small.replica.status.pending.isEmpty)
    try await small.world[0].sync()
    #expect(try small.world[0].value(own, "blob") == .data(Self.bytes(1_100_000, 7)))
  }

  @Test("What others pushed comes once what was to go has gone")
  func others() async throws {
    let small = try await Small()
    for number in 0..<50 {
      try small.world[0].insert("Item", ["title": .string("\(UUID()) \(number)")])
    }
    try await small.world[0].sync()
    let store = small.replica.store
    small.disk.fill(to: -FullDisk.reserve) {
      (try? SyncEngine.status(of: store).valuesInZone) == 0
    }
    await #expect(throws: StoreError.self) { try await small.replica.sync() }
    try SyncEngine.askToLetGo(of: store)
    try await small.replica.sync()
    #expect(try small.replica.identities(of: "Item").count == 51)
    #expect(try SyncEngine.letGoReport(of: store)?.values == 1)
  }

  @Test("What lets go of a value writes far less than the value, and the file gets shorter")
  func log() async throws {
    let small = try await Small(Self.bytes(8 << 20))
    let store = small.replica.store
    let url = try #require(store.url)
    // As SQLite is built on some hosts.
    _ = try store.write(TransactionInfo()) {
      try $0.connection.execute("PRAGMA secure_delete=ON")
    }
    store.cutLog(ofBytes: 1)
    func bytes(_ suffix: String) throws -> Int {
      try FileManager.default.attributesOfItem(atPath: url.path + suffix)[.size] as? Int ?? 0
    }
    let before = try bytes("")
    #expect(try await small.replica.engine.letGoValues().values == 1)
    #expect(try bytes("-wal") < 1 << 20)
    #expect(try bytes("") >= before - (1 << 20), "there is room enough")
    small.disk.leave(0)
    await small.replica.engine.giveBackRoom(of: 8 << 20)
    #expect(try bytes("") < before - (7 << 20))
    #expect(try SyncEngine.check(store).isSound)
    // All else is overwritten as before.
    let overwrites = try store.write(TransactionInfo()) {
      try $0.connection.scalar("PRAGMA secure_delete")
    }.0
    #expect(overwrites == .integer(1))
  }
}
