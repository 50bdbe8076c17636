import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DriftlessServer

/// What is read of parts that wait where another one comes, or a header alone.
@Suite("Parts of equal size", .serialized)
struct StagedCandidateTests {
  /// First parts of pushes of one replica that have so many bytes as each other, and other contents.
  private static func alike(_ count: Int, _ generation: UUID) throws -> [Data] {
    var writer = ZoneWriter(generation)
    writer.number = 99
    var bySize: [Int: [Data]] = [:]
    for _ in 0..<400 {
      let frame = try writer.frame { $0.inserts = 1 }
      let part = ZonePartsTests.numbered([frame, frame], mebibytes: 0)[0]
      bySize[part.count, default: []].append(part)
      if let found = bySize[part.count], found.count == count { return found }
    }
    throw TestZone.Missing(name: "parts of equal size")
  }

  /// The bytes of a part under another number.
  private static func moved(_ part: Data, to number: UInt64) -> Data {
    var moved = part
    withUnsafeBytes(of: number.littleEndian) { moved.replaceSubrange(32..<40, with: $0) }
    ChangeSetEncoder.seal(&moved)
    return moved
  }

  @Test(
    "Among parts of equal size the newest eight are looked at for a header, and its own in any case",
    arguments: ZonePartsTests.storages)
  func newest(kind: TestedZone.Kind) async throws {
    let zone = try await TestedZone(kind)
    let parts = try Self.alike(14, zone.generation)
    for part in parts { _ = try await zone.stage(part) }
    func header(_ place: Int, _ number: UInt64) -> Data {
      Data(Self.moved(parts[place], to: number).prefix(ChangeSetHeader.size))
    }
    #expect(try PushReader(limits: .init()).header(of: header(0, 1_000)).pushNumber == 1_000)
    #expect(try await zone.refusal(staging: header(0, 1_000))?.code == .notStaged)
    #expect(try await zone.refusal(staging: header(13, 1_000)) == nil)
    #expect(try await zone.refusal(staging: Data(parts[0].prefix(ChangeSetHeader.size))) == nil)
    // Whoever was told that it is not there sends it.
    _ = try await zone.stage(Self.moved(parts[0], to: 1_001))
    #expect(try await zone.refusal(staging: header(0, 1_001)) == nil)
  }

  /// A folder with parts of 200 KiB and equal size, of which none has the body that its header says.
  private struct Folder {
    let test: TestZone
    let zone: ZoneRecord
    let part: Push
    let size: Int

    init() async throws {
      var limits = ServerLimits()
      limits.readers = 1
      test = try TestZone(limits: limits)
      zone = try await test.zone()
      var maker = FrameMaker(zone)
      let frame = try maker.insert(1, title: BudgetTests.noise(letters: 300_000))
      let frames = ZonePartsTests.numbered([frame, frame], mebibytes: 0)
      part = try PushReader(limits: limits).read(frames[0])
      size = frames[0].count
    }

    func stage(_ number: UInt64) async throws {
      var bytes = Data(repeating: UInt8(truncatingIfNeeded: number), count: size)
      bytes.replaceSubrange(
        0..<ChangeSetHeader.size, with: part.frame.prefix(ChangeSetHeader.size))
      let other = Push(
        replica: part.replica, number: number, cursor: part.cursor, mark: nil, frame: bytes,
        digest: part.digest, contents: part.contents, part: part.part)
      try await test.storage.stage(other, of: zone)
    }

    /// Pages of one of them.
    var pages: Int { size / 4096 }
  }

  @Test("A part that comes has the writer read none of the parts of its size")
  func writer() async throws {
    let folder = try await Folder()
    let count = 20
    for number in 1...UInt64(count) { try await folder.stage(number) }
    let before = try folder.test.storage.writer.run { $0.pagesAsked }
    try await folder.stage(UInt64(count + 1))
    let asked = try folder.test.storage.writer.run { $0.pagesAsked } - before
    #expect(asked < folder.pages * count / 2, "\(asked) pages, a part has \(folder.pages)")
  }

  /// Somebody's turn that lasts until it is told to end.
  private final class Held: Sendable {
    private let waiter = Mutex<CheckedContinuation<Void, Never>?>(nil)

    var hasBegun: Bool { waiter.withLock { $0 != nil } }

    func wait() async {
      await withCheckedContinuation { continuation in waiter.withLock { $0 = continuation } }
    }

    func end() {
      waiter.withLock { waiter in
        defer { waiter = nil }
        return waiter
      }?.resume()
    }
  }

  @Test("A header has a reader read eight parts of its size at most, one header after the other")
  func reader() async throws {
    let folder = try await Folder()
    let count = 24
    for number in 1...UInt64(count) { try await folder.stage(number) }
    let storage = folder.test.storage
    let header = Data(folder.part.frame.prefix(ChangeSetHeader.size))
    let before = try storage.reader.run { $0.pagesAsked }
    let held = Held()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await storage.staging.run(of: 0, cost: 1, most: 9) { await held.wait() }
      }
      try await until("the line is held") { held.hasBegun }
      // Also where it does not wait: nobody waits for this test then.
      defer { held.end() }
      group.addTask { [zone = folder.zone] in
        let refused = try await code { _ = try await storage.stagedFrame(of: header, in: zone) }
        #expect(refused == .notStaged)
      }
      try await until("the header waits") { storage.staging.waiting == 1 }
      held.end()
      try await group.waitForAll()
    }
    let asked = try storage.reader.run { $0.pagesAsked } - before
    #expect(asked > folder.pages * 7 && asked < folder.pages * 12, "\(asked) pages")
  }

  @Test("Parts that a program of before has kept are gone on with, and leave nothing behind")
  func ofBefore() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    let reader = PushReader(limits: test.limits)
    var writer = ZoneWriter(zone.generation)
    var copy = writer
    let parts = ZonePartsTests.numbered(try ZonePartsTests.parts(&writer), mebibytes: 0)
    for part in parts.dropLast() { try await test.storage.stage(reader.read(part), of: zone) }
    test.storage.close()
    let connection = try SQLiteConnection(path: test.folder.database.path, mode: .readWrite)
    try connection.execute(
      """
      DROP TRIGGER staged_gone; DROP TABLE staged_head; DROP INDEX staged_size;
      DROP INDEX staging_touched
      """)
    connection.close()
    let storage = try SQLiteZoneStorage(folder: test.folder)
    defer { storage.close() }
    func count(_ table: String) throws -> Int64? {
      try storage.writer.run { try $0.integer("SELECT count(*) FROM \(table)") }
    }
    for part in parts.dropLast() {
      let header = Data(part.prefix(ChangeSetHeader.size))
      #expect(try await storage.stagedFrame(of: header, in: zone) == part)
    }
    #expect(try count("staged_head") == 0)
    try await storage.stage(reader.read(parts[0]), of: zone)
    #expect(try count("staged_head") == 1)
    // Another copy's part is found out by the header within the bytes.
    let others = ZonePartsTests.numbered(
      try ZonePartsTests.parts(&copy, email: "copy@"), mebibytes: 0)
    #expect(try await code { try await storage.stage(reader.read(others[1]), of: zone) } == .forked)
    #expect(try await storage.append(reader.read(parts[2]), to: zone).sequence == 3)
    #expect(try count("staged") == 0)
    #expect(try count("staged_head") == 0)
  }

  @Test("Whoever takes a part away takes what is noted of it")
  func gone() async throws {
    let folder = try await Folder()
    for number in 1...3 as ClosedRange<UInt64> { try await folder.stage(number) }
    let numbers = try folder.test.storage.writer.run { connection in
      try connection.execute("DELETE FROM staged WHERE number = 2")
      return try connection.rows("SELECT number FROM staged_head ORDER BY number")
    }
    #expect(numbers == [[.integer(1)], [.integer(3)]])
  }
}
