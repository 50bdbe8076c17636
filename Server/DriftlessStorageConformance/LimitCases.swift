import DriftlessProtocol
import DriftlessServer
import Foundation

/// Bounds of one zone beside the server's.
enum LimitCases {
  static let all = [
    StorageCase("A zone's log has no more entries and bytes than its bounds allow", log),
    StorageCase("A zone takes no more replicas than its bound allows", replicas),
    StorageCase(
      "What replicas bring back to a log that was put back is taken whatever the bounds and the clock say, until a push comes",
      putBack),
    StorageCase("Bounds of a zone are set and taken away by their names", names),
  ]

  private static func log(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    var replica = TestReplica()
    for _ in 0..<3 {
      _ = try await test.storage.append(replica.push(zone.generation, size: 1000), to: zone)
    }
    func set(_ changes: [String: Int?]) throws {
      try kind.administer { try $0.changeLimits(of: test.name, changes) }
    }
    // What is there was not counted before: its bytes count with the first push.
    try set(["logBytesMax": 4500])
    try expect(await test.zone().limits.logBytesMax == 4500)
    _ = try await test.storage.append(replica.push(zone.generation, size: 1000), to: zone)
    let refused = replica.push(zone.generation, size: 1000)
    try expect(await test.refusal(refused, of: zone) == .zoneFull)
    try expect(await test.zone().head == 4)
    _ = try await test.storage.append(
      replica.push(zone.generation, size: 500), to: zone)
    // Several at one time are one after the other.
    try set(["logBytesMax": 7500])
    let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let push = TestReplica().push(1, zone.generation, size: 1000)
          return try await test.refusal(push, of: zone) == nil
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    try expect(taken == 3, "\(taken)")
    try set(["logBytesMax": nil, "logEntriesMax": 9])
    _ = try await test.storage.append(replica.push(zone.generation), to: zone)
    try expect(await test.refusal(replica.push(zone.generation), of: zone) == .zoneFull)
    // The log of a new generation is empty; the bound stays.
    try kind.administer { _ = try $0.renewZone(test.name, intent: .offer) }
    let renewed = try await test.zone()
    try expect(renewed.limits.logEntriesMax == 9)
    var next = TestReplica()
    try expect(await test.refusal(next.push(renewed.generation), of: renewed) == nil)
  }

  private static func replicas(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    try kind.administer { try $0.changeLimits(of: test.name, ["replicasMax": 2]) }
    var first = TestReplica()
    _ = try await test.storage.append(first.push(zone.generation), to: zone)
    _ = try await test.storage.append(TestReplica().push(1, zone.generation), to: zone)
    try expect(
      await test.refusal(TestReplica().push(1, zone.generation), of: zone) == .zoneFull)
    _ = try await test.storage.append(first.push(zone.generation), to: zone)
    try kind.administer { try $0.changeLimits(of: test.name, ["replicasMax": 3]) }
    try expect(await test.refusal(TestReplica().push(1, zone.generation), of: zone) == nil)
  }

  private static func putBack(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    func refusal(_ lost: Refill) async throws -> ServerError.Code? {
      try await code { _ = try await test.storage.refill([lost], of: test.zone()) }
    }
    func set(_ most: Int?) throws {
      try kind.administer { try $0.changeLimits(of: test.name, ["logEntriesMax": most]) }
    }
    try set(1)
    try expect(await refusal(LostEntry.next(in: test.zone())) == nil)
    try expect(
      await refusal(LostEntry.next(in: test.zone())) == .zoneFull,
      "nothing but the one who sends it says that the log lost it")
    try set(nil)
    let ahead = await test.storage.time() + 10 * 86_400_000
    let late = LostEntry.next(in: try await test.zone(), at: ahead)
    try expect(await refusal(late) == .clockAhead)
    try set(1)
    try kind.administer { administration in
      try expect(administration.markPutBack(test.name).isPutBack)
      try expect(administration.inspectZone(test.name).zone.isPutBack)
    }
    try expect(await refusal(late) == nil)
    try expect(await refusal(LostEntry.next(in: test.zone())) == nil)
    var zone = try await test.zone()
    try expect(zone.head == 3 && zone.isPutBack, "a refill leaves it")
    var replica = TestReplica()
    try expect(
      await test.refusal(replica.push(zone.generation), of: zone) == .zoneFull,
      "a push is bounded all the same")
    try set(4)
    try expect(await test.zone().isPutBack, "so does a bound that is set")
    replica.number = 0
    try expect(await test.refusal(replica.push(zone.generation), of: zone) == nil)
    try expect(await test.zone().isPutBack == false, "a push ends it")
    try expect(await refusal(LostEntry.next(in: test.zone())) == .zoneFull)
    // A log that begins anew, and a zone that is made anew, were not put back.
    try kind.administer { _ = try $0.markPutBack(test.name) }
    try kind.administer { try expect($0.renewZone(test.name, intent: .offer).isPutBack == false) }
    zone = try await test.zone()
    try expect(!zone.isPutBack)
    try kind.administer { administration in
      _ = try administration.markPutBack(test.name)
      try administration.deleteZone(test.name)
      try expect(!administration.createZone(test.name).isPutBack)
    }
    zone = try await test.zone()
    try expect(!zone.isPutBack)
  }

  private static func names(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    func code(_ changes: [String: Int?], of name: String? = nil) throws -> ServerError.Code? {
      do {
        try kind.administer { try $0.changeLimits(of: name ?? test.name, changes) }
        return nil
      } catch let error as ServerError {
        return error.code
      }
    }
    try expect(code(["bodyBytesMax": 1]) == .badLimits)
    try expect(code(["logBytesMax": 0]) == .badLimits)
    try expect(code(["logBytesMax": -1, "replicasMax": 5]) == .badLimits)
    try expect(code(["replicasMax": 5], of: "none") == .noZone)
    try expect(await test.zone().limits == ZoneLimits())
    try expect(code(["logBytesMax": 1 << 40, "replicasMax": 5]) == nil)
    try expect(code(["logBytesMax": nil]) == nil)
    var limits = ZoneLimits()
    limits.replicasMax = 5
    try expect(await test.zone().limits == limits)
    // A zone of another name is the same one; one that is made anew is not.
    try kind.administer { administration in
      _ = try administration.renameZone(test.name, to: test.name + "-b")
      try expect(administration.inspectZone(test.name + "-b").zone.limits == limits)
      let lines = try administration.audit(since: 0).filter { $0.zone == test.name }
      try expect(lines.contains { $0.detail == "logBytesMax 1099511627776 → -" })
      try administration.deleteZone(test.name + "-b")
      _ = try administration.createZone(test.name)
      try expect(administration.inspectZone(test.name).zone.limits == ZoneLimits())
      try expect(administration.verify().damage == [])
    }
  }
}
