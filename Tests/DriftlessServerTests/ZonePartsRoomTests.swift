import DriftlessProtocol
import Foundation
import Synchronization
import Testing

@testable import DriftlessServer

/// How much of pushes in several parts may wait, and for how long.
extension ZonePartsTests {
  @Test(
    "What is left of a push that was stale makes room for the next one, and is used by it",
    arguments: storages)
  func leftovers(kind: TestedZone.Kind) async throws {
    var measured = ZoneWriter(UUID())
    let size = Self.numbered(try Self.parts(&measured), mebibytes: 0).dropLast()
      .reduce(0) { $0 + $1.count }
    var limits = ServerLimits()
    limits.stagedBytesPerReplicaMax = size + 100
    let zone = try await TestedZone(kind, limits: limits)
    var writer = ZoneWriter(zone.generation)
    for number in 0..<3 {
      let parts = Self.numbered(
        try Self.parts(&writer, email: "\(number)@"), mebibytes: 0)
      for part in parts.dropLast() { _ = try await zone.stage(part) }
    }
  }

  @Test("Parts that nobody goes on with go after a week, and count until then", arguments: storages)
  func room(kind: TestedZone.Kind) async throws {
    var limits = ServerLimits()
    limits.stagedBytesPerReplicaMax = 3000
    let zone = try await TestedZone(kind, limits: limits)
    var writer = ZoneWriter(zone.generation)
    let parts = try Self.parts(&writer)
    let tooLarge = ProtocolError.Code(rawValue: "too-large")
    // As much as the first one declares, though it is small.
    #expect(try await zone.refusal(staging: parts[0])?.code == tooLarge)
    let small = Self.numbered(parts, mebibytes: 0)
    for part in small.dropLast() { _ = try await zone.stage(part) }
    let large = try writer.frame { $0.inserts = 4000 }
    #expect(
      try await zone.refusal(staging: Self.numbered([large, large], mebibytes: 0)[0])?.code
        == tooLarge)
    zone.clock.ahead.withLock { $0 = 6 * 86_400_000 }
    var other = ZoneWriter(zone.generation)
    _ = try await zone.stage(Self.numbered(try Self.parts(&other), mebibytes: 0)[0])
    let header = Data(small[0].prefix(ChangeSetHeader.size))
    _ = try await zone.stage(header)
    zone.clock.ahead.withLock { $0 = 8 * 86_400_000 }
    _ = try await zone.stage(Self.numbered(try Self.parts(&other), mebibytes: 0)[0])
    // It was touched on the sixth day.
    _ = try await zone.stage(header)
    zone.clock.ahead.withLock { $0 = 16 * 86_400_000 }
    _ = try await zone.stage(Self.numbered(try Self.parts(&other), mebibytes: 0)[0])
    #expect(try await zone.refusal(staging: header)?.code == .notStaged)
  }

  @Test(
    "What is left of a push that nobody goes on with makes room for another replica's, where there is none",
    arguments: storages)
  func idle(kind: TestedZone.Kind) async throws {
    var measured = ZoneWriter(UUID())
    let size = Self.numbered(try Self.parts(&measured), mebibytes: 0).dropLast()
      .reduce(0) { $0 + $1.count }
    var limits = ServerLimits()
    limits.stagedBytesMax = size + size / 2
    let zone = try await TestedZone(kind, limits: limits)
    var writers = (0..<2).map { _ in ZoneWriter(zone.generation) }
    let left = Self.numbered(try Self.parts(&writers[0], email: "a@"), mebibytes: 0)
    for part in left.dropLast() { _ = try await zone.stage(part) }
    let next = Self.numbered(try Self.parts(&writers[1], email: "b@"), mebibytes: 0)
    var refused: ProtocolError?
    for part in next.dropLast() where refused == nil {
      refused = try await zone.refusal(staging: part)
    }
    #expect(refused?.code == .busy)
    zone.clock.ahead.withLock { $0 = 11 * 60_000 }
    for part in next.dropLast() { _ = try await zone.stage(part) }
    let header = Data(left[0].prefix(ChangeSetHeader.size))
    #expect(try await zone.refusal(staging: header)?.code == .notStaged)
  }

  @Test(
    "Parts that are handed back to a log that was put back count as those that are sent",
    arguments: storages)
  func handedBack(kind: TestedZone.Kind) async throws {
    var limits = ServerLimits()
    limits.stagedBytesPerReplicaMax = 100
    let zone = try await TestedZone(kind, limits: limits)
    var whole = ZoneLog(name: "shop", generation: zone.generation)
    var writer = ZoneWriter(zone.generation)
    let parts = Self.numbered(try Self.parts(&writer), mebibytes: 0)
    for part in parts.dropLast() { _ = try whole.stage(part, nowMilliseconds: 0) }
    _ = try whole.append(parts[2], nowMilliseconds: 0)
    let lost = try whole.page(
      PullRequest(
        cursor: .start(generation: zone.generation), maxBytes: 1 << 30, waitSeconds: 0,
        replica: UUID(), ownThrough: 0), nowMilliseconds: 0
    ).entries
    #expect(lost.count == 3)
    let error = await #expect(throws: ProtocolError.self) { try await zone.refill([lost[0]]) }
    #expect(error?.code == ProtocolError.Code(rawValue: "too-large"))
    let header = Data(parts[0].prefix(ChangeSetHeader.size))
    #expect(try await zone.refusal(staging: header)?.code == .notStaged)
  }

  @Test("Parts that nobody goes on with go by themselves")
  func letGo() async throws {
    let zone = try await TestedZone(.storage)
    var writer = ZoneWriter(zone.generation)
    let parts = Self.numbered(try Self.parts(&writer), mebibytes: 0)
    _ = try await zone.stage(parts[0])
    let header = Data(parts[0].prefix(ChangeSetHeader.size))
    zone.clock.ahead.withLock { $0 = 6 * 86_400_000 }
    await zone.letGoOfForgotten()
    _ = try await zone.stage(header)
    zone.clock.ahead.withLock { $0 = 14 * 86_400_000 }
    await zone.letGoOfForgotten()
    #expect(try await zone.refusal(staging: header)?.code == .notStaged)
  }
}
