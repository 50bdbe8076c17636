import DriftlessProtocol
import DriftlessStorageConformance
import Foundation
import Synchronization
import Testing

/// The server's time, the same cases for the zone in memory and for the server's storage.
@Suite("A zone's clock, in memory and in the server")
struct ZoneClockTests {
  typealias Kind = TestedZone.Kind

  @Test(
    "S23 A time ahead of the server's clock is refused with it, unless the zone has as new a one",
    arguments: Kind.allCases)
  func clock(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    let now = UInt64(Date().timeIntervalSince1970 * 1000)
    let day: UInt64 = 24 * 3600 * 1000
    let ahead = try await world.b {
      $0.inserts = 1
      $0.milliseconds = now + 2 * day
    }
    #expect(ahead?.code == .clockAhead)
    #expect(try #require(ahead?.serverTimeMilliseconds) >= now)
    #expect(
      try await world.b {
        $0.inserts = 1
        $0.milliseconds = now + day - 60_000
      } == nil)
  }

  @Test(
    "F31 A server's clock that was set back refuses no time that was right before",
    arguments: Kind.allCases)
  func clockSetBack(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    let hour: UInt64 = 3600 * 1000
    let now = UInt64(Date().timeIntervalSince1970 * 1000)
    #expect(
      try await world.b {
        $0.inserts = 1
        $0.milliseconds = now - 10 * 24 * hour
      } == nil)
    world.zone.clock.ahead.withLock { $0 = -365 * 24 * Int64(hour) }
    for _ in 0..<2 {
      #expect(
        try await world.b {
          $0.inserts = 1
          $0.milliseconds = now + hour
        } == nil)
    }
    let ahead = try await world.b {
      $0.inserts = 1
      $0.milliseconds = now + 25 * hour
    }
    #expect(ahead?.code == .clockAhead)
    #expect(try #require(ahead?.serverTimeMilliseconds) >= now)
  }

  @Test("S23 What the zone has of a server clock that was fast wedges nobody")
  func fastClock() async throws {
    var zone = ZoneLog(name: "shop")
    zone.clockToleranceMilliseconds = 1000
    var writer = ZoneWriter(zone.generation)
    let now: UInt64 = 1_000_000
    let frame = try writer.frame {
      $0.inserts = 1
      $0.milliseconds = now + 500_000
    }
    _ = try zone.append(frame, nowMilliseconds: now + 500_000)
    let next = try writer.frame {
      $0.inserts = 1
      $0.milliseconds = now + 500_000
    }
    #expect(try zone.append(next, nowMilliseconds: now).sequence == 2)
    let later = try writer.frame {
      $0.inserts = 1
      $0.milliseconds = now + 501_001
    }
    let error = #expect(throws: ProtocolError.self) {
      try zone.append(later, nowMilliseconds: now)
    }
    #expect(error?.code == .clockAhead)
  }
}
