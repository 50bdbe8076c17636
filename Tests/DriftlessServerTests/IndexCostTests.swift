import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DriftlessServer

/// What a push costs the one writer. Steps are counted; a time bounds only what takes a second, and would take many minutes.
@Suite("The cost of the index") struct IndexCostTests {
  /// A number that counts how often it is compared with another.
  private struct Counted: Comparable, Sendable {
    static let steps = Mutex(0)
    let number: Int

    init(_ number: Int) { self.number = number }

    static func < (left: Counted, right: Counted) -> Bool {
      steps.withLock { $0 += 1 }
      return left.number < right.number
    }

    static func == (left: Counted, right: Counted) -> Bool {
      steps.withLock { $0 += 1 }
      return left.number == right.number
    }
  }

  @Test("Properties are set and looked up in steps that grow as their count, and not as its square")
  func steps() {
    let count = 4_000
    var list = SequenceList<Counted>()
    list.set((0..<count).map { Counted(2 * $0) }, to: 1)
    list.set((0..<count).map { Counted(2 * $0 + 1) }, to: 2)
    for number in 0..<2 * count {
      #expect(list.sequence(of: Counted(number)) == (number % 2 == 0 ? 1 : 2))
    }
    let steps = Counted.steps.withLock { $0 }
    #expect(steps < 60 * count, "\(steps) steps")
  }

  @Test("A list that is set in any ways is as one that is set one by one")
  func merging() throws {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      var list = PropertySequences()
      var expected: [UInt64: UInt64] = [:]
      for sequence in 1...5 as ClosedRange<UInt64> {
        let ids = Set(
          (0..<Int.random(in: 0...12, using: &random)).map { _ in
            UInt64.random(in: 1...20, using: &random)
          })
        list.set(ids.sorted(), to: sequence)
        for id in ids { expected[id] = sequence }
      }
      for id in 0...21 as ClosedRange<UInt64> { #expect(list.sequence(of: id) == expected[id]) }
      #expect(list.count == expected.count)
      #expect(try PropertySequences(encoded: list.encoded) == list)
    }
  }

  @Test(
    "What a replica's own frames inserted is found among many, for each object of a push",
    .timeLimit(.minutes(1)))
  func ownFrames() {
    let count: UInt64 = 20_000
    let frames = OwnFrames(
      (1...count).reversed().map { .init(sequence: $0, firstObject: 10 * $0, count: $0 % 2 * 3) })
    var found = 0
    for object in 10..<10 * count where frames.inserted(object) { found += 1 }
    // Every second frame has three objects; the last frame has none.
    #expect(found == 30_000)
  }

  @Test(
    "An object that many groups of a push touch is read and written once", .timeLimit(.minutes(1)))
  func manyTouches() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var replica = TestReplica()
    let objects = (1...40).map { UInt64($0) }
    _ = try await test.storage.append(
      replica.push(zone.generation, inserts: [.init(first: UUID(), count: 40)]), to: zone)
    let names = (0..<4_000).map { "p\($0)" }
    let wide = replica.push(2, zone.generation, [.update(names, of: objects)])
    _ = try await test.storage.append(wide, to: zone)
    let narrow = replica.push(
      3, zone.generation, names.prefix(1_000).map { .update([$0], of: objects) })
    #expect(try await test.storage.append(narrow, to: zone).sequence == 3)
  }

  @Test("Identities among which the zone has none are written, and not looked for one by one")
  func newIdentities() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var replica = TestReplica()
    func work(_ run: (Int) -> Push.IdentityRun) async throws -> Int {
      let before = try test.storage.writer.run { $0.statementWork }
      let push = replica.push(zone.generation, inserts: (0..<2_000).map(run))
      _ = try await test.storage.append(push, to: zone)
      return try test.storage.writer.run { $0.statementWork } - before
    }
    func identity(_ place: Int, _ number: Int) -> Push.IdentityRun {
      .init(first: UUID(high: UInt64(place), low: UInt64(number)), count: 1)
    }
    let first = try await work { identity($0 * 7 % 2_000, 0) }
    let between = try await work { identity($0, 1) }
    #expect(first * 3 < between * 2, "\(first) to \(between) instructions")
    // Each of them is known: by what was there before, and by those of the same push.
    let known = (0..<2_000).map { identity($0, 0) }
    let twice = (0..<2).map { _ in identity(3_000, 0) }
    for inserts in [Array(known), twice, [.init(first: twice[0].first, count: 5)] + twice] {
      let push = replica.push(zone.generation, inserts: inserts)
      #expect(try await code { _ = try await test.storage.append(push, to: zone) } == .stale)
      replica.number -= 1
    }
    #expect(try await test.zone().nextObject == 4_001)
  }

  @Test("A push's turn is reckoned by its bytes, its identities, and the properties of its objects")
  func cost() {
    let replica = TestReplica()
    let small = replica.push(1, UUID(), size: 300)
    let names = (0..<1_000).map { "p\($0)" }
    let wide = replica.push(1, UUID(), [.update(names, of: Array(1...10))], size: 300)
    #expect(wide.cost >= small.cost + 32 * 10_000)
    let many = replica.push(
      1, UUID(), inserts: (0..<1_000).map { _ in .init(first: UUID(), count: 1) }, size: 300)
    #expect(many.cost >= small.cost + 32 * 1_000)
    #expect(replica.push(1, UUID(), size: 1_300).cost == small.cost + 1_000)
  }

  @Test("A group commit ends when it has taken its time, and the rest comes in its order")
  func groupTime() async throws {
    var limits = ServerLimits()
    limits.groupMillisecondsMax = 1
    let test = try TestZone(limits: limits)
    let zone = try await test.zone()
    // Each takes longer than that, on any machine: two thousand identities.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<6 {
        let push = TestReplica().push(
          1, zone.generation,
          inserts: (0..<2_000).map { _ in .init(first: UUID(), count: 1) })
        group.addTask { _ = try await test.storage.append(push, to: zone) }
      }
      try await group.waitForAll()
    }
    let commits = test.storage.metrics.commits
    #expect(commits.pushes == 6 && commits.groups == 6)
    #expect(try await test.zone().head == 6)
  }

  @Test("What a group had no time for comes first of its zone, after what others have waiting")
  func putBack() {
    var turns = ZoneTurns<String>(credit: 1_000)
    for name in ["a1", "a2", "a3"] { turns.add(name, of: 1, cost: 10) }
    turns.add("b1", of: 2, cost: 10)
    turns.add("c1", of: 3, cost: 10)
    let group = turns.next(most: (64, 1_000)) { _ in false }
    #expect(group == ["a1", "a2", "a3", "b1", "c1"] && turns.count == 0)
    turns.add("a4", of: 1, cost: 10)
    // Only the first was written.
    turns.putBack(
      group.dropFirst().map { ($0, $0.hasPrefix("a") ? 1 : $0.hasPrefix("b") ? 2 : 3, 10) },
      after: 1)
    #expect(turns.count == 5)
    #expect(turns.next(most: (64, 1_000)) { _ in false } == ["b1", "c1", "a2", "a3", "a4"])
    #expect(turns.count == 0)
  }

  @Test("What costs more than a turn, and is put back, has its turn while others never stop")
  func putBackLarge() {
    var turns = ZoneTurns<Int64>(credit: 1_000)
    func cost(of zone: Int64) -> Int { zone == 1 ? 3_000 : 400 }
    turns.add(1, of: 1, cost: cost(of: 1))
    var waiting: [Int64: Int] = [2: 0, 3: 0, 4: 0]
    for _ in 0..<300 {
      for zone in waiting.keys.sorted() {
        for _ in waiting[zone, default: 0]..<4 { turns.add(zone, of: zone, cost: cost(of: zone)) }
        waiting[zone] = 4
      }
      let group = turns.next(most: (64, 100_000)) { _ in false }
      // There is time for so much of it.
      var (written, spent) = (0, 0)
      for zone in group where spent < 1_000 {
        if zone == 1 { return }
        waiting[zone, default: 0] -= 1
        (written, spent) = (written + 1, spent + cost(of: zone))
      }
      turns.putBack(
        group.dropFirst(written).map { ($0, $0, cost(of: $0)) }, after: group[written - 1])
    }
    Issue.record("it never had its turn")
  }

  @Test("More properties of an object than may be are refused before the writer, by their number")
  func tooMany() async throws {
    var limits = ServerLimits()
    limits.propertiesPerObjectMax = 2
    limits.propertiesPerZoneMax = 4
    try await withServer(limits: limits) { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let made = try await server.accepted(maker.insert(1), token: token)
      let number = made.firstObjectNumber
      func push(_ property: String) async throws -> RawConnection.Response {
        maker.cursor = try await server.cursor(at: server.zone().head)
        return try await server.push(maker.update([number], property: property), token: token)
      }
      #expect(try await push("a").status == 200)
      #expect(try await push("b").status == 200)
      #expect(try await push("b").status == 200)
      let refused = try await push("c")
      #expect(refused.status == 413 && refused.code == "too-large")
      let text = String(decoding: refused.body, as: UTF8.self)
      #expect(text.contains("propertiesPerObjectMax"), "\(text)")
    }
  }
}
