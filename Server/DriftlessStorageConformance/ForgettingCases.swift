import DriftlessProtocol
import DriftlessServer
import Foundation

/// Replicas that an operator has forgotten, and format levels that are raised.
enum ForgettingCases {
  static let all = [
    StorageCase("A replica that is forgotten makes room, and goes on where it was", goesOn),
    StorageCase("A replica that is forgotten knows what is its own and what is a copy's", own),
    StorageCase("A replica that only reads is listed until it is forgotten or seen again", readers),
    StorageCase("Nothing is forgotten by a dry run, or by a name that nobody has", nothing),
    StorageCase("What a refill brings of others is taken where the zone is full", refill),
    StorageCase("A zone's format level is raised, never lowered, and holds for pushes", format),
  ]

  private static func forget(
    _ kind: StorageUnderTest, _ name: String, _ replicas: UUID..., isDryRun: Bool = false
  ) throws -> ForgettingReport {
    let made = Made<ForgettingReport>()
    try kind.administer {
      made.value = try $0.forgetReplicas(of: name, .named(replicas), isDryRun: isDryRun)
    }
    guard let report = made.value else { throw ConformanceFailure("no report") }
    return report
  }

  private static func listed(_ kind: StorageUnderTest, _ name: String) throws -> Set<UUID> {
    let made = Made<[ReplicaReport]>()
    try kind.administer { made.value = try $0.replicas(of: name) }
    return Set((made.value ?? []).map(\.replica))
  }

  /// The frames of these replicas are none; all else is as it is to be.
  private static func expectWhole(_ administration: any ZoneAdministration) throws {
    let damage = try administration.verify().damage.filter { $0.table != "log" }
    try expect(damage.isEmpty, "\(damage)")
  }

  private final class Made<Value> { var value: Value? }

  private static func goesOn(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    try kind.administer { try $0.changeLimits(of: test.name, ["replicasMax": 2]) }
    var (first, second, third) = (TestReplica(), TestReplica(), TestReplica())
    let sent = first.push(zone.generation, inserts: [.init(first: UUID(), count: 2)])
    let answer = try await test.storage.append(sent, to: zone)
    _ = try await test.storage.append(second.push(zone.generation), to: zone)
    let waiting = third.push(zone.generation)
    try expect(await test.refusal(waiting, of: zone) == .zoneFull)
    let report = try forget(kind, test.name, first.id)
    try expect(report.replicas.map(\.report.replica) == [first.id] && report.before.isEmpty)
    try expect(try listed(kind, test.name) == [second.id])
    try expect(await test.refusal(waiting, of: zone) == nil)
    try expect(try listed(kind, test.name) == [second.id, third.id])
    try expect(try forget(kind, test.name, first.id).before == [first.id])
    // It comes back: what it sent before gets its answer, and what is new waits for room.
    let again = try await test.storage.append(sent, to: zone)
    try expect(again.isRepeat && again.sequence == answer.sequence && again.chain == answer.chain)
    try expect(try listed(kind, test.name) == [second.id, third.id], "a repeat is no return")
    let next = first.push(zone.generation)
    try expect(await test.refusal(next, of: zone) == .zoneFull)
    _ = try forget(kind, test.name, third.id)
    try expect(await test.refusal(next, of: zone) == nil)
    try expect(try listed(kind, test.name) == [first.id, second.id])
    try expect(await test.refusal(third.push(zone.generation), of: zone) == .zoneFull)
    try expect(await test.refusal(first.push(zone.generation), of: zone) == nil)
    try kind.administer { administration in
      try expectWhole(administration)
      let log = try administration.log(of: test.name, from: 1, count: 10).map(\.replica)
      try expect(log == [first.id, second.id, third.id, first.id, first.id])
      let lines = try administration.audit(since: 0).filter { $0.act == .replicaForgotten }
      try expect(
        lines.filter { $0.zone == test.name }.compactMap(\.subject)
          == [first.id, third.id].map { $0.uuidString.lowercased() })
      try expect(administration.inspectZone(test.name).replicas == 2)
    }
    // A new generation knows nothing of them.
    try kind.administer { _ = try $0.renewZone(test.name, intent: .offer) }
    let renewed = try await test.zone()
    for _ in 0..<2 {
      try expect(
        await test.refusal(TestReplica().push(1, renewed.generation), of: renewed) == nil)
    }
    try expect(
      await test.refusal(TestReplica().push(1, renewed.generation), of: renewed) == .zoneFull)
  }

  private static func own(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    var (first, other) = (TestReplica(), TestReplica())
    _ = try await test.storage.append(
      first.push(zone.generation, inserts: [.init(first: UUID(), count: 3)]), to: zone)
    first.cursor = try await test.place(at: 1)
    let before = first.cursor
    _ = try await test.storage.append(
      first.push(zone.generation, .update(["title"], of: [1])), to: zone)
    _ = try forget(kind, test.name, first.id)
    // Another one takes no number that the log has for it.
    other.cursor = try await test.place(at: 1)
    try expect(
      await test.refusal(other.push(zone.generation, .update(["title"], of: [1])), of: zone)
        == .stale, "what the forgotten one sent is news to another")
    // Its own entry above its cursor is none to itself.
    first.cursor = before
    try expect(
      await test.refusal(first.push(zone.generation, .update(["title"], of: [1])), of: zone) == nil)
    _ = try forget(kind, test.name, first.id)
    let copy = first.push(2, zone.generation, [.update(["size"], of: [2])], fill: 9)
    try expect(await test.refusal(copy, of: zone) == .forked, "a copy sent something else")
    var request = PageRequest(after: zone.beginning, bytesMax: 1 << 20, entriesMax: 10)
    request.own = (first.id, 3)
    let page = try await test.storage.page(of: test.zone(), request)
    try expect(page.entries.allSatisfy(\.isHeaderOnly), "its own entries come as headers")
    let name = test.name + "-b"
    try kind.administer { _ = try $0.createZone(name) }
    let elsewhere = try await test.zone(name)
    first.cursor = elsewhere.beginning
    try expect(
      await test.refusal(first.push(elsewhere.generation), of: elsewhere) == .forbidden,
      "the log of its zone names it")
  }

  private static func readers(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    let reader = UUID()
    func see() async throws {
      await test.storage.noteSeen(
        reader, in: zone, generation: zone.generation, at: 0, given: 0, token: "token", name: nil,
        address: nil, format: 3)
      // What is seen is written when somebody looks.
      _ = try await test.storage.look(from: "", count: 1)
    }
    try await see()
    try kind.administer { administration in
      let report = try administration.replicas(of: test.name)
      try expect(report.map(\.replica) == [reader] && report.map(\.formatLevel) == [3])
    }
    _ = try forget(kind, test.name, reader)
    try expect(try listed(kind, test.name).isEmpty)
    try await see()
    try expect(try listed(kind, test.name) == [reader])
  }

  private static func nothing(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    var replica = TestReplica()
    _ = try await test.storage.append(replica.push(zone.generation), to: zone)
    let report = try forget(kind, test.name, replica.id, isDryRun: true)
    try expect(report.isDryRun && report.replicas.map(\.report.replica) == [replica.id])
    let refused = try await code {
      _ = try forget(kind, test.name, replica.id, UUID())
    }
    try expect(refused == .notFound, "one that nobody has")
    try expect(
      try await code { _ = try forget(kind, "no-\(test.name)", replica.id) } == .noZone)
    try kind.administer { administration in
      let report = try administration.forgetReplicas(
        of: test.name, .unseen(days: 1), isDryRun: false)
      try expect(report.replicas.isEmpty, "it was seen now")
      try expect(!administration.audit(since: 0).contains { $0.act == .replicaForgotten })
    }
    try expect(try listed(kind, test.name) == [replica.id])
  }

  private static func refill(kind: StorageUnderTest) async throws {
    var limits = ServerLimits()
    limits.replicasPerZoneMax = 1
    let test = try await StorageWorld(kind, limits: limits)
    var replica = TestReplica()
    _ = try await test.storage.append(
      replica.push(test.zone().generation), to: test.zone())
    for number in 2...3 as ClosedRange<UInt64> {
      let zone = try await test.zone()
      let (entry, push) = LostEntry.next(in: zone)
      let place = try await test.storage.refill([(entry: entry, push: push)], of: zone)
      try expect(place.sequence == number)
      try expect(
        await test.refusal(
          TestReplica().push(1, zone.generation), of: zone) == .zoneFull)
      // Whose entry it was is known: what it sends next waits for room.
      let next = Push(
        replica: push.replica, number: 2, cursor: push.cursor, mark: nil, frame: Data(count: 300),
        digest: Data("next".utf8), contents: Push.Contents())
      try expect(await test.refusal(next, of: zone) == .zoneFull)
    }
    try expect(try listed(kind, test.name) == [replica.id])
    try expect(await test.refusal(replica.push(test.zone().generation), of: test.zone()) == nil)
    try kind.administer { try expectWhole($0) }
  }

  private static func format(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    try expect(zone.formatLevel == ChangeSetHeader.formatLevel)
    let replica = TestReplica()
    func push(_ number: UInt64, level: UInt16) -> Push {
      let made = replica.push(number, zone.generation)
      return Push(
        replica: made.replica, number: number, cursor: made.cursor, mark: nil, formatLevel: level,
        frame: made.frame, digest: made.digest, contents: made.contents)
    }
    func raise(_ level: UInt16, highest: UInt16) async throws -> ServerError.Code? {
      try await code {
        try kind.administer {
          _ = try $0.raiseFormat(of: test.name, to: level, highest: highest)
        }
      }
    }
    let next = ChangeSetHeader.formatLevel + 1
    do {
      _ = try await test.storage.append(push(1, level: next), to: zone)
      throw ConformanceFailure("it is of a level that the zone does not take")
    } catch let error as ServerError {
      try expect(error.code.name == "unsupported", error.code.name)
      try expect(
        error.suggestion.contains("driftless-server zone format \(test.name) --raise \(next)"))
    }
    try expect(try await raise(next, highest: next - 1) == .badFormat, "the program reads less")
    try expect(try await raise(next, highest: next + 3) == nil)
    try expect(try await raise(next, highest: next + 3) == nil, "it has it")
    try expect(try await raise(next - 1, highest: next + 3) == .badFormat, "it is not lowered")
    try expect(await test.refusal(push(1, level: next), of: zone) == nil)
    try expect(await test.zone().formatLevel == next)
    try kind.administer { administration in
      try expect(administration.inspectZone(test.name).zone.formatLevel == next)
      let lines = try administration.audit(since: 0).filter { $0.act == .formatRaised }
      try expect(lines.filter { $0.zone == test.name }.map(\.detail) == ["\(next - 1) → \(next)"])
      _ = try administration.renewZone(test.name, intent: .offer)
    }
    try expect(await test.zone().formatLevel == next, "a new generation keeps it")
  }
}
