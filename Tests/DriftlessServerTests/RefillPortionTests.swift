import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DriftlessServer

/// A refill is written a portion at a time, and others' pushes come between.
@Suite("Portions of a refill", .serialized)
struct RefillPortionTests {
  typealias Kind = StagedChargeTests.Kind

  private final class Flag: Sendable {
    private let value = Mutex(false)

    var isSet: Bool { value.withLock { $0 } }

    func set() { value.withLock { $0 = true } }
  }

  private struct World {
    let kind: StorageUnderTest
    let storage: any ZoneStorage

    init(_ kind: Kind, _ limits: ServerLimits = .init()) async throws {
      self.kind = try kind.storage()
      try self.kind.administer { administration in
        for name in ["large", "small"] { _ = try administration.createZone(name) }
      }
      storage = try await self.kind.open(limits)
    }

    func zone(_ name: String = "large") async throws -> ZoneRecord {
      try #require(try await storage.zone(named: name))
    }

    /// Has the large zone take entries back while a replica of the small one pushes without a pause.
    ///
    /// - Parameter look: asked after each of those pushes.
    /// - Returns: what it said.
    func refill(_ entries: [Refill], _ look: () async throws -> Int) async throws -> [Int] {
      let (large, small) = (try await zone(), try await zone("small"))
      let isOver = Flag()
      var seen: [Int] = []
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { [storage] in
          defer { isOver.set() }
          _ = try await storage.refill(entries, of: large)
        }
        var replica = TestReplica()
        while !isOver.isSet {
          _ = try await storage.append(replica.push(small.generation), to: small)
          seen.append(try await look())
        }
        try await group.waitForAll()
      }
      return seen
    }
  }

  @Test(
    "Others' pushes are committed between portions of a long log that comes back",
    arguments: Kind.allCases)
  func entries(kind: Kind) async throws {
    let world = try await World(kind)
    var lost = LostLog(try await world.zone().generation)
    let count = 1_000
    for _ in 0..<count { try lost.grow() }
    let seen = try await world.refill(try lost.refills) { Int(try await world.zone().head) }
    #expect(try await world.zone().head == UInt64(count))
    let between = Set(seen).subtracting([0, count])
    #expect(between.count > 1, "\(seen)")
  }

  /// Entries that each say they are the first part of a push of their own.
  private static func parts(_ count: Int, _ generation: UUID) throws -> [Refill] {
    var writer = ZoneWriter(generation)
    let reader = PushReader(limits: .init())
    return try (1...UInt64(count)).map { number in
      let frame = try writer.frame { $0.inserts = 1 }
      let part = ZonePartsTests.numbered([frame, frame], mebibytes: 0)[0]
      let entry = PullPage.Entry(
        sequence: number, firstObjectNumber: number, chain: .start(generation: generation),
        isOwnHeaderOnly: false, frame: part)
      return (entry, try reader.read(part))
    }
  }

  @Test(
    "Others' pushes are committed between portions of parts that come back",
    arguments: Kind.allCases)
  func parts(kind: Kind) async throws {
    let world = try await World(kind)
    let parts = try Self.parts(1_000, try await world.zone().generation)
    let bytes = parts.reduce(0) { $0 + $1.push.frame.count }
    func waiting() async throws -> Int {
      Int(try await world.storage.look(from: "", count: 1).stagedBytes ?? 0)
    }
    let seen = try await world.refill(parts, waiting)
    #expect(try await waiting() == bytes)
    let between = Set(seen).subtracting([0, bytes])
    #expect(between.count > 1, "\(seen)")
  }

  @Test("What an entry's part costs the writer does not grow with those that wait already")
  func cost() async throws {
    var limits = ServerLimits()
    limits.groupMillisecondsMax = 600_000
    let world = try await World(.sqlite, limits)
    let storage = try #require(world.storage as? SQLiteZoneStorage)
    let parts = try Self.parts(2_000, try await world.zone().generation)
    let zone = try await world.zone()
    func work(_ parts: some Sequence<Refill>) async throws -> Int {
      let before = try storage.writer.run { $0.statementWork }
      _ = try await storage.refill(Array(parts), of: zone)
      return try storage.writer.run { $0.statementWork } - before
    }
    let first = try await work(parts.prefix(64))
    _ = try await work(parts[64..<1_936])
    let last = try await work(parts[1_936...])
    // The sums are asked for once a transaction, and not once an entry.
    #expect(last < 10 * first, "\(first), then \(last)")
  }

  @Test("A portion ends with its entries, its bytes or its time, and has one entry at least")
  func portions() async throws {
    var lost = LostLog(UUID())
    for _ in 0..<150 { try lost.grow() }
    let refills = try lost.refills
    func sizes(_ entries: [Refill]) async throws -> [Int] {
      var sizes: [Int] = []
      _ = try await RefillPortion.each(of: entries) { portion in
        sizes.append(portion.count)
        return .init(place: portion.last?.entry.mark ?? lost.log.start, left: [])
      }
      return sizes
    }
    #expect(try await sizes(refills) == [64, 64, 22])
    #expect(try await sizes([]) == [0])
    let large = TestReplica().push(1, UUID(), size: 700 << 10)
    let mixed = [refills[0], (refills[1].entry, large), (refills[2].entry, large), refills[3]]
    #expect(try await sizes(mixed) == [2, 2])
    let huge = TestReplica().push(1, UUID(), size: 3 << 20)
    #expect(try await sizes([(refills[0].entry, huge), (refills[1].entry, huge)]) == [1, 1])
    // What there was no time for comes with the next call.
    var taken: [UInt64] = []
    _ = try await RefillPortion.each(of: Array(refills.prefix(70))) { portion in
      let left = RefillPortion.take(portion, milliseconds: 0) { taken.append($0.entry.sequence) }
      #expect(left.count == portion.count - 1)
      return .init(place: portion[0].entry.mark, left: left)
    }
    #expect(taken == Array(1...70))
  }

  @Test(
    "Entries before one that is refused stay, and the same again goes on", arguments: Kind.allCases)
  func refused(kind: Kind) async throws {
    let world = try await World(kind)
    let zone = try await world.zone()
    var lost = LostLog(zone.generation)
    for _ in 0..<100 { try lost.grow() }
    let whole = try lost.refills
    var changed = whole
    changed[90].entry.chain = .start(generation: UUID())
    #expect(try await code { _ = try await world.storage.refill(changed, of: zone) } == .diverged)
    let head = try await world.zone().head
    #expect(head >= 64 && head <= 90, "\(head)")
    #expect(try await world.storage.refill(whole, of: zone) == whole[99].entry.mark)
  }
}

extension ZoneLog {
  fileprivate var start: LogMark { Cursor.start(generation: generation).mark }
}
