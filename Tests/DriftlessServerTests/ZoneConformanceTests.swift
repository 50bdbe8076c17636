import DriftlessProtocol
import DriftlessServer
import DriftlessStorageConformance
import Foundation
import Synchronization
import TestSupport
import Testing

/// The rules of a zone, the same cases for the zone in memory and for the server's storage.
@Suite("A zone's rules, in memory and in the server")
struct ZoneConformanceTests {
  typealias Kind = TestedZone.Kind

  // MARK: - Places

  @Test(
    "An entry's chain follows from what is before it and from the entry", arguments: Kind.allCases)
  func chains(kind: Kind) async throws {
    let world = try await ZoneWorld(kind)
    let start = Cursor.start(generation: world.zone.generation).mark
    var place = start
    var writer = ZoneWriter(world.zone.generation)
    writer.cursor = try await world.zone.head
    _ = try await world.zone.push(writer.frame { $0.inserts = 2 })
    for entry in try await world.zone.entries(after: start) {
      #expect(entry.follows(place))
      place = entry.mark
    }
    #expect(place == (try await world.zone.head))
    #expect(place.sequence == 2)
  }

  @Test(
    "A push again gets its answer; its number with other bytes, or a passed one, is a fork",
    arguments: Kind.allCases)
  func repeats(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    world.b.number = 4
    let frame = try world.b.frame { $0.inserts = 1 }
    let reply = try await world.zone.push(frame)
    #expect(reply.pushNumber == 5)
    try await world.a { $0.known = [1: .update(["a"])] }
    #expect(try await world.zone.push(frame).mark == reply.mark)
    for number in [4, 2] as [UInt64] {
      world.b.number = number
      #expect(try await world.b { $0.inserts = 1 }?.code == .forked)
    }
    world.b.number = 100
    #expect(try await world.b { $0.inserts = 1 } == nil, "a gap is fine")
  }

  @Test(
    "A push whose mark lies below an entry of the same replica above its cursor is a fork",
    arguments: Kind.allCases)
  func unknownToItself(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    var copy = world.a
    let first = world.a.cursor
    copy.mark = first
    let second = try await world.a { $0.known = [3: .update(["a"])] }.mark
    copy.number = 7
    let frame = try copy.frame { $0.known = [4: .update(["a"])] }
    #expect(try await world.zone.refusal(frame)?.code == .forked)
    // Who has acknowledged the entry, or read it, knows of it; so does who shows no mark.
    copy.mark = second
    #expect(try await world.zone.refusal(copy.frame { $0.known = [4: .update(["a"])] }) == nil)
    copy.mark = nil
    #expect(try await world.zone.refusal(copy.frame { $0.known = [4: .update(["b"])] }) == nil)
    copy.mark = first
    copy.cursor = try await world.zone.head
    #expect(try await world.zone.refusal(copy.frame { $0.known = [4: .update(["a"])] }) == nil)
  }

  @Test(
    "A push whose mark is the beginning of the log knows no entry of its replica: one above its cursor makes it a fork",
    arguments: Kind.allCases)
  func knowsNoneOfItsOwn(kind: Kind) async throws {
    let world = try await ZoneWorld(kind)
    var copy = world.a
    copy.mark = Cursor.start(generation: world.zone.generation).mark
    #expect(try await world.zone.refusal(copy.frame { $0.known = [3: .update(["a"])] }) == nil)
    copy.number = 7
    copy.mark = Cursor.start(generation: world.zone.generation).mark
    let frame = try copy.frame { $0.known = [4: .update(["a"])] }
    #expect(try await world.zone.refusal(frame)?.code == .forked)
    copy.cursor = try await world.zone.head
    #expect(try await world.zone.refusal(copy.frame { $0.known = [4: .update(["a"])] }) == nil)
  }

  @Test("S2 A cursor or a mark that is not the log's own is diverged", arguments: Kind.allCases)
  func diverged(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    let good = world.b.cursor
    let wrong = LogMark(sequence: 1, chain: .start(generation: UUID()))
    let beyond = LogMark(sequence: 9, chain: good.chain)
    for place in [wrong, beyond] {
      world.b.cursor = place
      #expect(try await world.b { $0.inserts = 1 }?.code == .diverged)
      world.b.cursor = good
      world.b.mark = place
      #expect(try await world.b { $0.inserts = 1 }?.code == .diverged)
      world.b.mark = nil
      await #expect(throws: ProtocolError.self) { try await world.zone.entries(after: place) }
      await #expect(throws: ProtocolError.self) {
        try await world.zone.entries(after: good, mark: place)
      }
    }
    world.b.mark = good
    #expect(try await world.b { $0.inserts = 1 } == nil)
    var stranger = ZoneWriter(UUID())
    #expect(
      try await world.zone.refusal(stranger.frame { $0.inserts = 1 })?.code == .generationChanged)
  }

  @Test(
    "S2 A log that was put back takes back what it lost, byte for byte, and nothing else",
    arguments: Kind.allCases)
  func refill(kind: Kind) async throws {
    var limits = ServerLimits()
    // However slow the host is, so few are written together.
    limits.groupMillisecondsMax = 600_000
    let zone = try await TestedZone(kind, limits: limits)
    // The log as it was before the zone lost its end.
    var whole = ZoneLog(name: "shop", generation: zone.generation)
    var writer = ZoneWriter(zone.generation)
    for step in 0..<5 {
      let frame = try writer.frame {
        if step == 0 {
          $0.inserts = 3
          $0.emails = [(.new(0), "one@")]
        } else {
          $0.known = step == 4 ? [1: .delete] : [1: .update(["a"]), 2: .named]
        }
      }
      _ = try whole.append(frame, nowMilliseconds: 0)
      if step < 2 { _ = try await zone.push(frame) }
      writer.cursor = LogMark(sequence: whole.head, chain: whole.chain)
    }
    let request = PullRequest(
      cursor: .start(generation: zone.generation), maxBytes: 1 << 30, waitSeconds: 0,
      replica: UUID(), ownThrough: 0)
    let entries = try whole.page(request, nowMilliseconds: 0).entries
    let before = try await zone.head
    func refused(_ entries: [PullPage.Entry]) async throws {
      let error = await #expect(throws: ProtocolError.self) { try await zone.refill(entries) }
      #expect(error?.code == .diverged)
      #expect(try await zone.head == before, "none of what is written together")
    }
    try await refused([entries[3]])
    var changed = entries
    changed[3].chain = .start(generation: UUID())
    try await refused(Array(changed[2...]))
    changed = entries
    changed[4].firstObjectNumber += 1
    try await refused(changed)
    #expect(try await zone.refill(entries) == entries[4].mark)
    #expect(try await zone.refill(Array(entries[3...])) == entries[4].mark, "again: all known")
    let start = Cursor.start(generation: zone.generation).mark
    #expect(try await zone.entries(after: start) == entries)
    // The index is as it was: the key of the deleted user is free, an old cursor is stale.
    var late = ZoneWriter(zone.generation)
    late.cursor = entries[1].mark
    #expect(try await zone.refusal(late.frame { $0.known = [1: .update(["a"])] })?.code == .stale)
    #expect(
      try await zone.refusal(
        late.frame {
          $0.inserts = 1
          $0.emails = [(.new(0), "one@")]
        }) == nil)
  }

  @Test("The highest place that two logs share is found", arguments: Kind.allCases)
  func common(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    let first = try await world.zone.head
    let second = try await world.a { $0.inserts = 1 }.mark
    let foreign = LogMark(sequence: 2, chain: first.chain)
    let start = Cursor.start(generation: world.zone.generation).mark
    let beyond = LogMark(sequence: 8, chain: second.chain)
    #expect(try await world.zone.commonPlace(of: [start, foreign, first, beyond]) == first)
    #expect(try await world.zone.commonPlace(of: [first, second, start]) == second)
    #expect(try await world.zone.commonPlace(of: [foreign]) == nil)
    #expect(try await world.zone.commonPlace(of: []) == nil)
  }

  // MARK: - Guards

  @Test(
    "A property that is set or relied on and was set since is stale; another is not",
    arguments: Kind.allCases)
  func properties(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    try await world.a { $0.known = [3: .update(["a"])] }
    let stale = try await world.b { $0.known = [3: .update(["a"])] }
    #expect(stale?.code == .stale)
    #expect(stale?.objects == [3])
    #expect(stale?.head == 2)
    let relying = try await world.b {
      $0.known = [4: .update(["a"])]
      $0.relied = [3: ["b", "a"]]
    }
    #expect(relying?.objects == [3])
    #expect(try await world.b { $0.relied = [3: ["b"]] } == nil)
    #expect(try await world.b { $0.known = [3: .update(["b"])] } == nil)
  }

  @Test(
    "An object that a push names and that was deleted since makes it stale",
    arguments: Kind.allCases)
  func namedDeleted(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    try await world.a { $0.known = [3: .delete] }
    let stale = try await world.b {
      $0.inserts = 1
      $0.known = [3: .named]
    }
    #expect(stale?.code == .stale)
    #expect(stale?.objects == [3])
    world.b.cursor = try await world.zone.head
    let known = try await world.b { $0.known = [3: .named, 4: .update(["a"])] }
    #expect(known == nil, "who knows of the delete may name it")
  }

  @Test(
    "A delete or a revival of what another named since is stale, one's own naming is not",
    arguments: Kind.allCases)
  func deletedNamed(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    try await world.a { $0.known = [3: .named] }
    #expect(try await world.b { $0.known = [3: .delete] }?.objects == [3])
    // Named by b itself above its cursor: the other's naming below is not forgotten.
    #expect(try await world.b { $0.known = [3: .named, 4: .named] } == nil)
    #expect(try await world.b { $0.known = [3: .delete] }?.objects == [3])
    #expect(try await world.b { $0.known = [4: .delete] } == nil)
    world.b.cursor = try await world.zone.head
    #expect(try await world.b { $0.known = [3: .delete] } == nil)
    world.b.cursor = try await world.zone.head
    try await world.a { $0.known = [3: .named] }
    #expect(try await world.b { $0.known = [3: .revive] }?.objects == [3])
  }

  @Test("An identity that the zone has is answered with its number", arguments: Kind.allCases)
  func identities(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    let first = UUID()
    try await world.a {
      $0.inserts = 10
      $0.first = first
    }
    let stale = try await world.b {
      $0.inserts = 1
      $0.first = first.advanced(by: 4)
    }
    #expect(stale?.code == .stale)
    #expect(stale?.objects == [9])
    let tombstone = try await world.b { $0.tombstones = [first.advanced(by: 2)] }
    #expect(tombstone?.objects == [7])
    #expect(try await world.b { $0.tombstones = [UUID()] } == nil)
  }

  @Test(
    "An insert of what was deleted before the zone knew it is stale until its replica has heard of the delete",
    arguments: Kind.allCases)
  func tombstones(kind: Kind) async throws {
    var world = try await ZoneWorld(kind)
    let first = UUID()
    try await world.a { $0.tombstones = [first.advanced(by: 2)] }
    let stale = try await world.b {
      $0.inserts = 4
      $0.first = first
    }
    #expect(stale?.code == .stale)
    let apart = try await world.b {
      $0.inserts = 2
      $0.first = first
    }
    #expect(apart == nil)
    world.b.cursor = try await world.zone.head
    let known = try await world.b {
      $0.inserts = 1
      $0.first = first.advanced(by: 2)
    }
    #expect(known == nil)
    // Its own tombstones are no news to a replica.
    let own = UUID()
    #expect(try await world.b { $0.tombstones = [own] } == nil)
    let again = try await world.b {
      $0.inserts = 1
      $0.first = own
    }
    #expect(again == nil)
  }

  // MARK: - At random

  @Test(
    "Random pushes with guards and keys get the same answers of both",
    arguments: Kind.allCases.filter { $0 != .memory }, 0..<12 as Range<UInt64>)
  func random(kind: Kind, seed: UInt64) async throws {
    var random = SeededNumbers(seed: seed)
    let storage = try await TestedZone(kind)
    var log = ZoneLog(name: "shop", generation: storage.generation)
    var writers = (0..<3).map { _ in ZoneWriter(storage.generation) }
    var seen: [String: Int] = [:]
    for step in 0..<120 {
      let place = random.number(below: 3)
      let oldest = max(
        writers[place].cursor.sequence, log.head - min(log.head, UInt64(random.number(below: 5))))
      writers[place].cursor = try #require(log.place(at: oldest))
      let before = writers[place].number
      let head = log.head
      let frame = try writers[place].frame { content in
        guard head > 0 else { return content.inserts = 8 }
        if random.chance(20) { content.inserts = 1 + random.number(below: 2) }
        for number in 1...8 as ClosedRange<UInt64> where random.chance(25) {
          content.known[number] =
            switch random.number(below: 8) {
            case 0: .delete
            case 1: .revive
            case 2, 3: .named
            default: .update(["a", "b", "email"].filter { _ in random.chance(50) } + ["title"])
            }
          if random.chance(15) { content.relied[number] = ["a"] }
        }
        var keys = (0..<6).map { "key \($0)" }.shuffled(using: &random)
        for (number, change) in content.known.sorted(by: { $0.key < $1.key }) {
          if case .delete = change { continue }
          if random.chance(40), let key = keys.popLast() {
            content.emails.append((.known(number), key))
          }
        }
        for new in 0..<content.inserts where random.chance(60) {
          if let key = keys.popLast() { content.emails.append((.new(new), key)) }
        }
      }
      var expected = "taken"
      var objects: [UInt64] = []
      do {
        _ = try log.append(frame, nowMilliseconds: 0)
      } catch {
        expected = error.code.rawValue
        objects = error.objects
      }
      let actual = try await storage.refusal(frame)
      #expect(actual?.code.rawValue ?? "taken" == expected, "seed \(seed), step \(step)")
      #expect(Set(actual?.objects ?? []) == Set(objects), "seed \(seed), step \(step)")
      if actual != nil { writers[place].number = before }
      seen[expected, default: 0] += 1
    }
    #expect(try await storage.head == LogMark(sequence: log.head, chain: log.chain))
    #expect(seen["taken", default: 0] > 10 && seen["stale", default: 0] > 10, "\(seen)")
  }
}
