import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// Replicas that an operator has forgotten: who is, and what becomes of what the server has of them.
@Suite("Forgotten replicas") struct ReplicaForgettingTests {
  private static let day: Int64 = 86_400_000

  private static func report(_ seen: Int64?, pushed: Int64? = nil) -> ReplicaReport {
    ReplicaReport(
      zone: "shop", replica: UUID(), cursor: 0, head: 0, pushes: 0, lastPushMilliseconds: pushed,
      lastSeenMilliseconds: seen, token: nil, tokenName: nil, name: nil, address: nil)
  }

  private static func unseen(
    _ reports: [ReplicaReport], days: Int, at now: Int64
  ) throws -> [UUID] {
    let zone = ZoneRecord.new(id: 1, name: "shop")
    return try ForgettingPlan(
      .unseen(days: days), of: zone, known: reports, forgotten: [], tokens: [], at: now
    ).replicas.map(\.report.replica)
  }

  @Test(
    "Absence is reckoned from when a replica was last heard of, and no leap of a clock makes any")
  func absence() throws {
    let now = 1000 * Self.day
    let never = Self.report(nil)
    let old = Self.report(now - 400 * Self.day)
    let pushed = Self.report(now - 400 * Self.day, pushed: now - 10 * Self.day)
    let young = Self.report(now - 20 * Self.day)
    let all = [young, old, pushed, never]
    #expect(try Self.unseen(all, days: 30, at: now) == [never, old].map(\.replica))
    #expect(try Self.unseen(all, days: 5, at: now) == [never, old, young].map(\.replica))
    #expect(try Self.unseen(all, days: 500, at: now) == [never.replica])
    // Nobody was seen in the ten years that the clock says have gone by.
    #expect(try Self.unseen(all, days: 30, at: 10 * now) == [never, old].map(\.replica))
    #expect(try Self.unseen([never], days: 30, at: now) == [never.replica])
    #expect(try Self.unseen([], days: 30, at: now).isEmpty)
  }

  @Test("The tokens that are bound to who is forgotten are told, as far as they are good")
  func tokens() throws {
    let zone = ZoneRecord.new(id: 1, name: "shop")
    let replica = Self.report(5)
    func token(
      _ id: String, zone: Int64 = 1, revoked: Int64? = nil, expires: Int64? = nil,
      _ binding: TokenBinding
    ) -> TokenRecord {
      TokenRecord(
        id: id, hash: Data(), zoneID: zone, zoneName: "shop", verbs: .read, createdMilliseconds: 0,
        revokedMilliseconds: revoked, name: nil, expiresMilliseconds: expires, binding: binding)
    }
    let bound = TokenBinding.to(replica.replica)
    let plan = try ForgettingPlan(
      .named([replica.replica, replica.replica]), of: zone, known: [replica], forgotten: [],
      tokens: [
        token("good", bound), token("revoked", revoked: 1, bound),
        token("ended", expires: 9, bound),
        token("later", expires: 11, bound), token("first", .first), token("free", .none),
        token("other", .to(UUID())), token("elsewhere", zone: 2, bound),
      ], at: 10)
    #expect(plan.replicas.map(\.boundTokens) == [["good", "later"]])
  }

  @Test("Many that are forgotten at once are one line of the record of who did what")
  func record() throws {
    let zone = ZoneRecord.new(id: 1, name: "shop")
    let reports = (0..<3000).map { _ in Self.report(nil) }
    let choice = ForgettingChoice.unseen(days: 1)
    let plan = try ForgettingPlan(
      choice, of: zone, known: reports, forgotten: [], tokens: [], at: 10)
    let events = plan.events(choice, of: zone, at: 10)
    #expect(events.map(\.count) == [3000])
    #expect(events.map(\.detail) == ["not seen for 1 day"])
  }

  @Test("What a replica left under way goes with it, and it is sent again when it comes back")
  func parts() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var writer = ZoneWriter(zone.generation)
    let frames = ZonePartsTests.numbered(try ZonePartsTests.parts(&writer), mebibytes: 0)
    let reader = PushReader(limits: .init())
    let part = try reader.read(frames[0])
    try await test.storage.stage(part, of: zone)
    await test.storage.noteSeen(
      part.replica, in: zone, generation: zone.generation, at: 0, given: nil, token: "token")
    test.storage.writeSightings()
    let header = Data(frames[0].prefix(ChangeSetHeader.size))
    _ = try await test.storage.stagedFrame(of: header, in: zone)
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    _ = try administration.forgetReplicas(of: "shop", .named([part.replica]), isDryRun: false)
    await #expect(throws: ServerError.self) {
      _ = try await test.storage.stagedFrame(of: header, in: zone)
    }
    #expect(try administration.replicas(of: "shop").isEmpty)
    for frame in frames.dropLast() {
      try await test.storage.stage(reader.read(frame), of: zone)
    }
    let appended = try await test.storage.append(reader.read(frames[frames.count - 1]), to: zone)
    #expect(appended.sequence == UInt64(frames.count))
    #expect(try administration.replicas(of: "shop").map(\.replica) == [part.replica])
    #expect(try administration.verify().damage == [])
  }

  @Test("A purge waits no more for a replica that was forgotten")
  func purge() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var (fast, slow) = (TestReplica(), TestReplica())
    _ = try await test.storage.append(slow.push(zone.generation), to: zone)
    for _ in 0..<5 { _ = try await test.storage.append(fast.push(zone.generation), to: zone) }
    await test.storage.noteSeen(
      fast.id, in: zone, generation: zone.generation, at: 6, given: nil, token: "token")
    test.storage.writeSightings()
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    func floor() throws -> (UInt64, PurgeFloor.Bound) {
      let now = try #require(
        try administration.replicas(of: "shop").compactMap(\.lastHeardMilliseconds).max())
      let tables = SQLitePurgeTables(
        administration: administration, zone: try administration.existingZone("shop"))
      let floor = try PurgeFloor(tables, PurgeOptions(keepDays: 0), at: now + 1)
      return (floor.sequence, floor.bound)
    }
    #expect(try floor() == (0, .replica))
    _ = try administration.forgetReplicas(of: "shop", .named([slow.id]), isDryRun: false)
    #expect(try floor() == (5, .head))
  }

  @Test("A restored backup knows who was forgotten since, and who came back")
  func restored() async throws {
    let world = try await BackupWorld()
    let storage = try SQLiteZoneStorage(folder: world.folder)
    let reader = PushReader(limits: .init())
    func push(_ maker: inout FrameMaker) async throws {
      let zone = try #require(try await storage.zone(named: "shop"))
      maker.cursor = Cursor(
        generation: zone.generation, sequence: zone.head, chain: zone.chain)
      _ = try await storage.append(reader.read(maker.insert(1)), to: zone)
    }
    let zone = try #require(try await storage.zone(named: "shop"))
    var (kept, gone, back) = (FrameMaker(zone), FrameMaker(zone), FrameMaker(zone))
    try await push(&kept)
    try await push(&gone)
    try await push(&back)
    func known() throws -> Set<UUID> {
      try world.administering { Set(try $0.replicas(of: "shop").map(\.replica)) }
    }
    func forget(_ replica: UUID) throws {
      _ = try world.administering {
        try $0.forgetReplicas(of: "shop", .named([replica]), isDryRun: false)
      }
    }
    let others = try known().subtracting([kept.replica, gone.replica, back.replica])
    try forget(back.replica)
    let backup = Backup(world.directory.file("later.sqlite"))
    _ = try backup.make(of: world.folder)
    try forget(gone.replica)
    try await push(&back)
    storage.close()
    _ = try backup.restore(to: world.folder)
    #expect(try known() == others.union([kept.replica, back.replica]))
    #expect(try world.administering { try $0.verify().damage } == [])
  }
}
