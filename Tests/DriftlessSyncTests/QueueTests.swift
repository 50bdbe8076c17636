import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// One thing at a time: what two callers ask for of one store does not mix.
struct QueueTests {
  private let clock = ManualClock()
  private let zone: MemoryZone
  private let network: HeldTransport
  private let replica: TestReplica
  private let other: TestReplica

  init() async throws {
    zone = MemoryZone(clock: clock)
    network = HeldTransport(zone)
    replica = try await TestReplica("held", zone: zone, clock: clock, transport: network)
    other = try await TestReplica("other", zone: zone, clock: clock)
  }

  /// Every replica ends with what the zone has, under the zone's numbers.
  private func expectEqual(_ edited: UUID...) async throws {
    for _ in 0..<2 {
      try await replica.sync()
      try await other.sync()
    }
    for id in edited {
      try other.set(id, ["title": .string("edited \(id)")])
      try await other.sync()
      try await replica.sync()
    }
    #expect(try replica.export == other.export)
    #expect(try replica.status.pending.objects == 0)
    #expect(try replica.status.lastError == nil)
    let numbers = try replica.store.read {
      try $0.connection.rows(
        "SELECT count(*), count(DISTINCT number) FROM ZDL_IDENTITY WHERE number IS NOT NULL")
    }
    #expect(numbers[0][0] == numbers[0][1], "one zone number, one object")
  }

  @Test("S1 Two syncs at once: each object gets the number that the zone gave it")
  func twoSyncs() async throws {
    try await replica.sync()
    network.hold()
    let engine = replica.engine
    let first = try replica.insert("Item", ["title": .string("a")])
    async let one = engine.sync()
    await until { network.held == 1 }
    let second = try replica.insert("Item", ["title": .string("b")])
    async let two = engine.sync()
    await until { network.held > 1 || engine.operationsWaiting == 1 }
    #expect(network.held == 1, "the second sync waits")
    network.release()
    let reports = try await (one, two)
    #expect(reports.0.push.objects + reports.1.push.objects == 2)
    try await expectEqual(first, second)
  }

  @Test("S1 A sync during a pull waits for it: the cursor does not move under either")
  func syncDuringPull() async throws {
    for number in 0..<3 { try other.insert("Item", ["title": .string("\(number)")]) }
    try await other.sync()
    network.hold()
    let engine = replica.engine
    async let pull = engine.pull()
    await until { network.held == 1 }
    async let sync = engine.sync()
    async let again = engine.pull()
    await until { network.held > 1 || engine.operationsWaiting == 2 }
    network.release()
    let reports = try await (pull, sync, again)
    #expect(reports.0.inserted == 3)
    #expect(reports.1.pull.inserted + reports.2.inserted == 0)
    try await expectEqual()
  }

  @Test("S1 Syncs that wait together are one sync")
  func joined() async throws {
    network.hold()
    let engine = replica.engine
    let id = try replica.insert("Item")
    async let first = engine.sync()
    await until { network.held == 1 }
    try replica.set(id, ["title": .string("saved meanwhile")])
    let rest = (0..<5).map { _ in Task { try await engine.sync() } }
    await until { engine.operationsWaiting == 5 }
    network.release()
    _ = try await first
    var reports: [SyncReport] = []
    for task in rest { reports.append(try await task.value) }
    #expect(Set(reports).count == 1)
    // The first sync and the one of all that waited: each looks once, and sends what there is.
    #expect(network.requests.pulls == 2)
    #expect(try replica.status.pending.objects == 0)
  }

  @Test(
    "S1 Two engines of one store take turns, opened once or twice", arguments: [false, true])
  func twoEngines(isOpenedTwice: Bool) async throws {
    let file = try #require(replica.store.url)
    let link = replica.directory.file("folder")
    try FileManager.default.createSymbolicLink(
      at: link, withDestinationURL: file.deletingLastPathComponent())
    let store =
      isOpenedTwice
      ? try PersistentStore.open(
        url: link.appending(path: file.lastPathComponent), model: shopModel()) : replica.store
    let engine = replica.engine
    let second = SyncEngine(store: store, transport: network)
    network.hold()
    let a = try replica.insert("Item", ["title": .string("a")])
    async let one = engine.sync()
    await until { network.held == 1 }
    let b = try replica.insert("Item", ["title": .string("b")])
    async let two = second.sync()
    await until { network.held > 1 || engine.operationsWaiting == 1 }
    #expect(network.held == 1, "the second engine waits")
    network.release()
    let reports = try await (one, two)
    #expect(reports.0.push.objects + reports.1.push.objects == 2)
    await second.close()
    #expect(try replica.status.syncing, "the first engine has the lock still")
    try await expectEqual(a, b)
  }

  @Test("A store that was moved while it syncs is locked where it is now as well")
  func movedStore() async throws {
    try await replica.sync()
    let file = try #require(replica.store.url)
    let folder = replica.directory.file("moved")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let place = folder.appending(path: "held.sqlite")
    for suffix in ["", "-wal", "-shm", "-driftless-lock", "-driftless-file"] {
      try FileManager.default.moveItem(
        atPath: file.path + suffix, toPath: place.path + suffix)
    }
    let store = try PersistentStore.open(url: place, model: shopModel())
    let engine = SyncEngine(store: store, transport: network)
    _ = try await engine.sync()
    let lock = place.path + "-driftless-sync"
    #expect(FileManager.default.fileExists(atPath: lock))
    #expect(try String(contentsOfFile: lock, encoding: .utf8) == "\(getpid())\n")
    await engine.close()
    await replica.engine.close()
    #expect(try String(contentsOfFile: lock, encoding: .utf8) == "")
    store.close()
  }

  @Test("S1 Close during an operation waits for its end, and lets go of the store then")
  func close() async throws {
    network.hold()
    let engine = replica.engine
    let id = try replica.insert("Item")
    async let sync = engine.sync()
    await until { network.held == 1 }
    async let closed: Void = engine.close()
    await until { engine.operationsWaiting == 1 }
    #expect(try replica.status.syncing)
    network.release()
    #expect(try await sync.push.objects == 1)
    await closed
    #expect(try !replica.status.syncing)
    try await expectEqual(id)
  }

  @Test("S1 A sync that is cancelled while it waits leaves its place; the others go on")
  func cancelled() async throws {
    network.hold()
    let engine = replica.engine
    try replica.insert("Item")
    async let first = engine.sync()
    await until { network.held == 1 }
    let waiting = Task { try await engine.sync() }
    await until { engine.operationsWaiting == 1 }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    #expect(engine.operationsWaiting == 0)
    network.release()
    #expect(try await first.push.objects == 1)
    try await expectEqual()
  }

  @Test(
    "S1 An answer that comes after the store was enrolled anew says nothing about what is there now"
  )
  func lateAnswer() async throws {
    let engine = replica.engine
    let id = try replica.insert("Item", ["title": .string("a")])
    try await replica.pull()
    network.hold()
    let push = Task { try await engine.push() }
    await until { network.held == 1 }
    let fresh = MemoryZone(name: zone.name, clock: clock)
    try SyncEngine.enroll(
      store: replica.store, server: MemoryZone.url, zone: zone.name,
      info: try await fresh.zoneInfo())
    network.release()
    let error = await #expect(throws: SyncError.self) { try await push.value }
    #expect(error?.code == .superseded)
    await engine.close()
    let moved = SyncEngine(store: replica.store, transport: fresh)
    #expect(try await moved.sync().push.objects == 1)
    let witness = try await TestReplica("witness", zone: fresh, clock: clock)
    try await witness.sync()
    #expect(try witness.value(id, "title") == .string("a"))
  }
}
