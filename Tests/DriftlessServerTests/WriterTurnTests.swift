import Dispatch
import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DriftlessServer

/// Pushes are not all that wants the one who writes a data folder's database.
@Suite("Turns at the writer of a data folder")
struct WriterTurnTests {
  private static func logBytes(_ test: TestZone) async throws -> Int? {
    // The log is copied behind what was written.
    try await test.storage.writer.perform { _ in }
    return DiskSpace.bytes(ofFile: test.folder.database.path + "-wal")
  }

  @Test("However many push, whatever else wants to write waits for one group of them")
  func groups() async throws {
    var limits = ServerLimits()
    limits.groupPushesMax = 1
    let test = try TestZone(limits: limits)
    let zone = try await test.zone()
    let storage = test.storage
    let gate = DispatchSemaphore(value: 0)
    storage.writer.later { gate.wait() }
    let head = Mutex<UInt64?>(nil)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<5 {
        let push = TestReplica().push(1, zone.generation)
        group.addTask { _ = try await storage.append(push, to: zone) }
      }
      while storage.commits.waiting < 5 { await Task.yield() }
      storage.writer.later {
        let seen = try? storage.writer.run { try $0.zone(named: "shop")?.head }
        head.withLock { $0 = seen ?? nil }
      }
      gate.signal()
      try await group.waitForAll()
    }
    #expect(head.withLock { $0 } == 1)
    #expect(try await test.zone().head == 5)
  }

  @Test("What a refill and a part wrote is copied out of the write-ahead log")
  func copied() async throws {
    var limits = ServerLimits()
    limits.checkpointPages = 1
    let test = try TestZone(limits: limits)
    let zone = try await test.zone()
    var lost = LostLog(zone.generation)
    for _ in 0..<3 { try lost.grow() }
    _ = try await test.storage.refill(lost.refills, of: zone)
    #expect(try await Self.logBytes(test) == 0)
    var writer = ZoneWriter(zone.generation)
    let part = try PushReader(limits: limits).read(
      ZonePartsTests.numbered(ZonePartsTests.parts(&writer), mebibytes: 0)[0])
    try await test.storage.stage(part, of: zone)
    #expect(try await Self.logBytes(test) == 0)
  }

  @Test("A refill does not go into a file that was moved away")
  func moved() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var lost = LostLog(zone.generation)
    try lost.grow()
    let refills = try lost.refills
    try FileManager.default.moveItem(
      at: test.folder.database, to: test.directory.file("elsewhere"))
    let error = await #expect(throws: ServerError.self) {
      try await test.storage.refill(refills, of: zone)
    }
    #expect(error?.message == ServerError.databaseIsGone.message)
  }

  @Test("Entries that the log has wait for no writer")
  func known() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var lost = LostLog(zone.generation)
    for _ in 0..<3 { try lost.grow() }
    let refills = try lost.refills
    let place = try await test.storage.refill(refills, of: zone)
    let other = try SQLiteConnection(path: test.folder.database.path, mode: .readWrite)
    defer { other.close() }
    try other.execute("BEGIN IMMEDIATE")
    #expect(try await test.storage.refill(refills, of: zone) == place)
    try other.execute("ROLLBACK")
    var changed = refills
    changed[1].entry.chain = .start(generation: UUID())
    let refused = try await code { _ = try await test.storage.refill(changed, of: zone) }
    #expect(refused == .diverged)
  }
}
