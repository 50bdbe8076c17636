import DriftlessProtocol
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// A bound on the bytes of a zone's log, and parts of pushes that wait beside it.
@Suite("Waiting parts and the bound of a log") struct StagedChargeTests {
  enum Kind: CaseIterable, Sendable {
    case sqlite
    #if PostgreSQL
      case postgres
    #endif

    func storage() throws -> StorageUnderTest {
      switch self {
      case .sqlite: try .sqlite()
      #if PostgreSQL
        case .postgres: try .postgres()
      #endif
      }
    }
  }

  private struct World {
    let kind: StorageUnderTest
    let storage: any ZoneStorage
    let reader = PushReader(limits: .init())

    init(_ kind: Kind) async throws {
      self.kind = try kind.storage()
      try self.kind.administer { _ = try $0.createZone("shop") }
      storage = try await self.kind.open(.init())
    }

    func zone() async throws -> ZoneRecord {
      try #require(try await storage.zone(named: "shop"))
    }

    func bound(_ bytes: Int) throws {
      try kind.administer { try $0.changeLimits(of: "shop", ["logBytesMax": bytes]) }
    }

    func stage(_ frame: Data) async throws -> ServerError.Code? {
      try await code { try await storage.stage(reader.read(frame), of: zone()) }
    }

    func push(_ frame: Data) async throws -> ServerError? {
      do {
        _ = try await storage.append(reader.read(frame), to: zone())
        return nil
      } catch let error as ServerError {
        return error
      }
    }

    private func code(_ body: () async throws -> Void) async throws -> ServerError.Code? {
      do {
        try await body()
        return nil
      } catch let error as ServerError {
        return error.code
      }
    }
  }

  private static func parts(_ writer: inout ZoneWriter, mebibytes: UInt16 = 0) throws -> [Data] {
    ZonePartsTests.numbered(try ZonePartsTests.parts(&writer), mebibytes: mebibytes)
  }

  @Test(
    "Parts that wait count as the bytes that their zone's log will have", arguments: Kind.allCases)
  func charged(kind: Kind) async throws {
    let world = try await World(kind)
    let generation = try await world.zone().generation
    var (large, small) = (ZoneWriter(generation), ZoneWriter(generation))
    let frames = try Self.parts(&large)
    let one = try small.frame { $0.inserts = 1 }
    let waiting = frames.dropLast().reduce(0) { $0 + $1.count }
    let all = frames.reduce(0) { $0 + $1.count }
    // Room for all parts, and not for the small one beside them.
    try world.bound(all + one.count - 1)
    for frame in frames.dropLast() { #expect(try await world.stage(frame) == nil) }
    let two = try small.frame { $0.inserts = 1 }
    try world.bound(waiting + one.count - 1)
    let refused = try #require(try await world.push(one))
    #expect(refused.code == .zoneFull)
    #expect(refused.message.contains("\(waiting) in parts"), "\(refused.message)")
    try world.bound(all + one.count)
    #expect(try await world.push(one) == nil)
    // Its own parts are not counted twice: they go into the log one by one.
    #expect(try await world.push(frames[frames.count - 1]) == nil)
    #expect(try await world.zone().head == UInt64(frames.count + 1))
    #expect(try await world.push(two)?.code == .zoneFull)
  }

  @Test(
    "A push that the log would have no room for is refused with its first part",
    arguments: Kind.allCases)
  func early(kind: Kind) async throws {
    let world = try await World(kind)
    let generation = try await world.zone().generation
    var (writer, other) = (ZoneWriter(generation), ZoneWriter(generation))
    // The log has entries that nobody has counted.
    #expect(try await world.push(other.frame { $0.inserts = 1 }) == nil)
    let declared = try Self.parts(&writer, mebibytes: 1)
    try world.bound(1 << 20)
    #expect(try await world.stage(declared[0]) == .zoneFull)
    try world.bound(2 << 20)
    #expect(try await world.stage(declared[0]) == nil)
    // What was declared too low is found where the parts come.
    var third = ZoneWriter(generation)
    let parts = try Self.parts(&third)
    try world.bound(declared[0].count + parts[0].count + parts[1].count)
    #expect(try await world.stage(parts[0]) == nil)
    #expect(try await world.stage(parts[1]) == .zoneFull)
    try world.bound(4 << 20)
    #expect(try await world.stage(parts[1]) == nil)
    #expect(try await world.push(parts[2]) == nil)
  }
}
