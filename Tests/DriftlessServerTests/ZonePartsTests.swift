import DriftlessProtocol
import Foundation
import Synchronization
import Testing

@testable import DriftlessServer

/// Pushes in several parts, by every kind of zone that takes them.
@Suite("Pushes in several parts")
struct ZonePartsTests {
  static let kinds = TestedZone.Kind.allCases
  /// Those of the server.
  static let storages = TestedZone.Kind.allCases.filter { $0 != .memory }

  /// So many frames as the parts of one push.
  static func numbered(_ frames: [Data], mebibytes: UInt16 = 1) -> [Data] {
    var before: Data?
    return frames.enumerated().map { place, frame in
      var frame = frame
      ChangeSetEncoder.number(
        &frame, part: UInt16(place + 1), of: UInt16(frames.count),
        mebibytes: place == 0 ? mebibytes : 0, after: before)
      before = frame
      return frame
    }
  }

  /// Three parts that make 2, 2 and 1 users; the last names the first object of the first one.
  static func parts(_ writer: inout ZoneWriter, email: String? = nil) throws -> [Data] {
    let first = try writer.frame { $0.inserts = 2 }
    var others: [Data] = []
    for (inserts, distance) in [(2, 0), (1, 4)] {
      var content = ZoneWriter.Content()
      content.inserts = inserts
      if distance > 0 {
        content.known = [ChangeSetIndex.name(madeBefore: UInt64(distance)): .update(["title"])]
      }
      if let email, distance > 0 { content.emails = [(.new(0), email)] }
      others.append(try writer.frame(content))
    }
    return numbered([first] + others)
  }

  @Test("A part says by a flag that it is one, and names the one before it")
  func flag() throws {
    var writer = ZoneWriter(UUID())
    let parts = try Self.parts(&writer)
    let decoder = ChangeSetDecoder()
    var before: Data?
    for part in parts {
      // A reader that does not know the flag leaves the change set alone.
      #expect(part[part.startIndex + 8] & 4 == 4)
      #expect(try decoder.decodeHeader(part).digestBefore == before)
      before = ChangeSetHeader.storedDigest(of: part)
      var other = part
      other[other.startIndex + 8] ^= 4
      ChangeSetEncoder.seal(&other)
      #expect(throws: ProtocolError.self) { try decoder.decodeHeader(other) }
    }
    let single = try writer.frame { $0.inserts = 1 }
    #expect(single[single.startIndex + 8] & 4 == 0)
  }

  @Test("All parts come into the log with the last one, one after the other", arguments: kinds)
  func publish(kind: TestedZone.Kind) async throws {
    var world = try await ZoneWorld(kind)
    let before = try await world.zone.head
    let parts = try Self.parts(&world.b)
    for part in parts.dropLast() {
      let reply = try await world.zone.stage(part)
      #expect(reply.digest == ChangeSetHeader.storedDigest(of: part))
      #expect(try await world.zone.head == before)
    }
    let reply = try await world.zone.push(parts[2])
    #expect(reply.sequence == before.sequence + 3)
    #expect(reply.chainBefore == before.chain)
    let entries = try await world.zone.entries(after: before)
    #expect(entries.map(\.frame) == parts)
    #expect(entries.map(\.firstObjectNumber) == [5, 7, 9])
    #expect(entries.last?.mark == reply.mark)
    // The same again has the same answer, and parts of it are not kept.
    _ = try await world.zone.stage(parts[0])
    var again = try await world.zone.push(parts[2])
    again.serverTimeMilliseconds = reply.serverTimeMilliseconds
    #expect(again == reply)
    #expect(try await world.zone.head == reply.mark)
    // What the last part set of what the first made is known: who knows nothing of it is stale.
    #expect(try await world.b { $0.known = [5: .update(["title"])] } == nil)
  }

  @Test("In any order, twice, and by their headers where the bytes are there", arguments: kinds)
  func repeats(kind: TestedZone.Kind) async throws {
    var world = try await ZoneWorld(kind)
    let parts = try Self.parts(&world.b)
    let header = Data(parts[0].prefix(ChangeSetHeader.size))
    #expect(try await world.zone.refusal(staging: header)?.code == .notStaged)
    for part in [parts[1], parts[0], parts[1], header] { _ = try await world.zone.stage(part) }
    _ = try await world.zone.push(parts[2])
    #expect(try await world.zone.head.sequence == 4)
    // They went with the push.
    let other = try Self.parts(&world.b)
    let former = other[0].prefix(ChangeSetHeader.size)
    #expect(try await world.zone.refusal(staging: Data(former))?.code == .notStaged)
  }

  @Test(
    "A push that comes again late leaves the parts of a later one where they are", arguments: kinds)
  func lateRepeat(kind: TestedZone.Kind) async throws {
    var world = try await ZoneWorld(kind)
    let former = try Self.parts(&world.b)
    for part in former.dropLast() { _ = try await world.zone.stage(part) }
    let reply = try await world.zone.push(former[2])
    world.b.cursor = reply.mark
    let parts = try Self.parts(&world.b)
    for part in parts.dropLast() { _ = try await world.zone.stage(part) }
    #expect(try await world.zone.push(former[2]).mark == reply.mark)
    _ = try await world.zone.push(parts[2])
    #expect(try await world.zone.entries(after: reply.mark).map(\.frame) == parts)
    // They went with the push.
    let later = try Self.parts(&world.b)[0].prefix(ChangeSetHeader.size)
    #expect(try await world.zone.refusal(staging: Data(later))?.code == .notStaged)
  }

  @Test("Without a part, or with another's, nothing comes into the log", arguments: kinds)
  func missing(kind: TestedZone.Kind) async throws {
    var world = try await ZoneWorld(kind)
    world.a.cursor = world.b.cursor
    let parts = try Self.parts(&world.b)
    let others = try Self.parts(&world.a)
    let head = try await world.zone.head
    #expect(try await world.zone.refusal(parts[2])?.code == .notStaged)
    _ = try await world.zone.stage(parts[1])
    _ = try await world.zone.stage(others[0])
    #expect(try await world.zone.refusal(parts[2])?.code == .notStaged)
    // A header of one replica does not get at bytes of another.
    var forged = Data(parts[0].prefix(ChangeSetHeader.size))
    #expect(try await world.zone.refusal(staging: forged)?.code == .notStaged)
    forged[forged.endIndex - 1] ^= 1
    #expect(try await world.zone.refusal(staging: forged)?.code == .notStaged)
    // Bytes that do not fit their digest.
    var damaged = parts[0]
    damaged[damaged.endIndex - 1] ^= 1
    #expect(try await world.zone.refusal(staging: damaged)?.code == .damaged)
    // A part of as many parts, but of another push.
    let later = try Self.parts(&world.b)
    _ = try await world.zone.stage(later[0])
    #expect(try await world.zone.refusal(parts[2])?.code == .notStaged)
    // A part in the middle does not end a push, nor is the last one kept.
    #expect(try await world.zone.refusal(parts[0])?.code == .malformed)
    #expect(try await world.zone.refusal(staging: parts[2])?.code == .malformed)
    #expect(try await world.zone.head == head)
    _ = try await world.zone.stage(parts[0])
    _ = try await world.zone.push(parts[2])
    #expect(try await world.zone.head.sequence == head.sequence + 3)
  }

  @Test(
    "A part that names what no part before it makes is refused, and all with it", arguments: kinds)
  func beyond(kind: TestedZone.Kind) async throws {
    var world = try await ZoneWorld(kind)
    let first = try world.b.frame { $0.inserts = 2 }
    var content = ZoneWriter.Content()
    content.known = [ChangeSetIndex.name(madeBefore: 3): .update(["title"])]
    let parts = Self.numbered([first, try world.b.frame(content)])
    _ = try await world.zone.stage(parts[0])
    #expect(try await world.zone.refusal(parts[1])?.code == .malformed)
    #expect(try await world.zone.refusal(world.b.frame(content))?.code == .malformed)
    #expect(try await world.zone.head.sequence == 1)
  }

  @Test("Stale by any part: nothing comes in, and the bytes are used again", arguments: kinds)
  func stale(kind: TestedZone.Kind) async throws {
    for place in 0..<2 {
      var world = try await ZoneWorld(kind)
      var contents = [ZoneWriter.Content(), ZoneWriter.Content()]
      contents[0].inserts = 1
      contents[1].inserts = 1
      contents[place].known = [2: .update(["title"])]
      world.b.number += 1
      let frames = try contents.map { try world.b.frame($0) }
      let parts = Self.numbered(frames)
      // In the second round the part is kept before another replica is faster.
      if place == 1 { _ = try await world.zone.stage(parts[0]) }
      try await world.a { $0.known = [2: .update(["title"])] }
      if place == 0, kind != .memory {
        // Told with the first part already.
        #expect(try await world.zone.refusal(staging: parts[0])?.code == .stale)
      } else {
        _ = try await world.zone.stage(parts[0])
        let refusal = try await world.zone.refusal(parts[1])
        #expect(refusal?.code == .stale)
        #expect(refusal?.objects == [2])
      }
      let head = try await world.zone.head
      #expect(head.sequence == 2)
      // Made anew behind that, the part without news has the bytes that it had.
      world.b.cursor = head
      world.b.number += 1
      var again = Self.numbered(try contents.map { try world.b.frame($0) })
      if place == 1 {
        // These frames say their number in their values, so a header of the same bytes is made by hand.
        let moved = Self.moved(parts[0], to: again[0])
        _ = try await world.zone.stage(Data(moved.prefix(ChangeSetHeader.size)))
        ChangeSetEncoder.number(&again[1], part: 2, of: 2, mebibytes: 0, after: moved)
      } else {
        _ = try await world.zone.stage(again[0])
      }
      _ = try await world.zone.push(again[1])
      #expect(try await world.zone.head.sequence == 4)
    }
  }

  /// The bytes of a part under the header of another.
  private static func moved(_ part: Data, to other: Data) -> Data {
    var moved = part
    // Push number, generation, cursor and mark.
    moved.replaceSubrange(32..<104, with: other[32..<104])
    ChangeSetEncoder.seal(&moved)
    return moved
  }

  @Test("A key that one part lets go of another may take, whichever comes first", arguments: kinds)
  func keys(kind: TestedZone.Kind) async throws {
    var world = try await ZoneWorld(kind)
    // User 1 takes two@ in the first part, user 2 takes one@ in the second.
    world.b.number += 1
    var first = ZoneWriter.Content()
    first.known = [1: .update(["email"])]
    first.emails = [(.known(1), "two@")]
    var second = ZoneWriter.Content()
    second.known = [2: .update(["email"])]
    second.emails = [(.known(2), "one@")]
    let parts = Self.numbered([try world.b.frame(first), try world.b.frame(second)])
    _ = try await world.zone.stage(parts[0])
    _ = try await world.zone.push(parts[1])
    // One that nobody lets go of is taken.
    var third = try Self.parts(&world.b, email: "one@")
    third = Array(third)
    for part in third.dropLast() { _ = try await world.zone.stage(part) }
    let refusal = try await world.zone.refusal(third[2])
    #expect(refusal?.code == .stale)
    #expect(refusal?.objects == [2])
    #expect(try await world.zone.head.sequence == 3)
  }

  @Test(
    "Two copies of a replica that send parts under one number are told apart, and nothing is mixed",
    arguments: kinds)
  func copies(kind: TestedZone.Kind) async throws {
    for isSecondFaster in [false, true] {
      var world = try await ZoneWorld(kind)
      var copy = world.b
      let parts = try Self.parts(&world.b)
      let others = try Self.parts(&copy, email: "copy@")
      try #require(parts[1] != others[1])
      let head = try await world.zone.head
      let (kept, late) = isSecondFaster ? (others, parts) : (parts, others)
      for part in kept.dropLast() { _ = try await world.zone.stage(part) }
      #expect(try await world.zone.refusal(staging: late[1])?.code == .forked)
      // One that believes its own parts to be there.
      #expect(try await world.zone.refusal(late[2])?.code == .forked)
      #expect(try await world.zone.head == head)
      _ = try await world.zone.push(kept[2])
      #expect(try await world.zone.entries(after: head).map(\.frame) == kept)
      #expect(try await world.zone.refusal(late[2])?.code == .forked)
    }
  }

  @Test("A log that was put back gets all parts of a push, or none", arguments: kinds)
  func refill(kind: TestedZone.Kind) async throws {
    let zone = try await TestedZone(kind)
    var whole = ZoneLog(name: "shop", generation: zone.generation)
    var writer = ZoneWriter(zone.generation)
    let first = try writer.frame { $0.inserts = 4 }
    _ = try whole.append(first, nowMilliseconds: 0)
    _ = try await zone.push(first)
    let before = try await zone.head
    writer.cursor = before
    let parts = try Self.parts(&writer)
    for part in parts.dropLast() { _ = try whole.stage(part, nowMilliseconds: 0) }
    _ = try whole.append(parts[2], nowMilliseconds: 0)
    let request = PullRequest(
      cursor: .start(generation: zone.generation), maxBytes: 1 << 30, waitSeconds: 0,
      replica: UUID(), ownThrough: 0)
    let lost = try whole.page(request, nowMilliseconds: 0).entries
    #expect(lost.count == 4)
    #expect(try await zone.refill([lost[0], lost[1]]) == before)
    await #expect(throws: ProtocolError.self) { try await zone.refill([lost[3]]) }
    #expect(try await zone.refill([lost[2]]) == before)
    // Another one who does the same at the same time does no harm.
    #expect(try await zone.refill([lost[0], lost[1]]) == before)
    #expect(try await zone.entries(after: before).isEmpty)
    #expect(try await zone.refill([lost[3]]) == lost[3].mark)
    #expect(try await zone.refill(Array(lost[2...])) == lost[3].mark)
    #expect(try await zone.entries(after: before) == Array(lost[1...]))
  }

  @Test("A replica whose last push went in parts is listed once", arguments: storages)
  func listed(kind: TestedZone.Kind) async throws {
    var world = try await ZoneWorld(kind)
    let parts = try Self.parts(&world.b)
    for part in parts.dropLast() { _ = try await world.zone.stage(part) }
    _ = try await world.zone.push(parts[2])
    let listed = try await world.zone.replicas(seen: world.b.replica)
    #expect(listed.operator.filter { $0.replica == world.b.replica }.count == 1)
    #expect(listed.page.map(\.replica) == [world.b.replica])
  }

  #if PostgreSQL
    /// A zone on PostgreSQL, and a second node that serves it.
    private static func nodes(
      _ test: (ZoneWorld, PostgresZoneStorage) async throws -> Void
    ) async throws {
      let world = try await ZoneWorld(.postgres)
      let other = try PostgresZoneStorage(database: #require(world.zone.database))
      defer { other.close() }
      try await test(world, other)
    }

    @Test("Parts that two nodes are given come into the log once, by whichever has the last one")
    func twoNodes() async throws {
      try await Self.nodes { world, other in
        var world = world
        let reader = PushReader(limits: .init())
        let zone = try #require(try await other.zone(named: "shop"))
        let parts = try Self.parts(&world.b)
        _ = try await world.zone.stage(parts[0])
        try await other.stage(reader.read(parts[1]), of: zone)
        let last = try reader.read(parts[2])
        let replies = try await withThrowingTaskGroup(of: Appended.self) { group in
          for _ in 0..<4 { group.addTask { try await other.append(last, to: zone) } }
          return try await group.reduce(into: [Appended]()) { $0.append($1) }
        }
        let mine = try await world.zone.push(parts[2])
        #expect(replies.filter { !$0.isRepeat }.count == 1)
        #expect(Set(replies.map(\.sequence)) == [mine.sequence])
        #expect(replies.allSatisfy { $0.chainBefore == mine.chainBefore })
        #expect(try await other.zone(named: "shop")?.head == zone.head + 3)
      }
    }

    @Test("Another part under a number that is kept is a fork, and the kept one stays")
    func fork() async throws {
      try await Self.nodes { world, _ in
        var world = world
        let parts = try Self.parts(&world.b)
        _ = try await world.zone.stage(parts[0])
        let other = Self.numbered(try (0..<3).map { _ in try world.b.frame(.init()) })
        #expect(
          try await world.zone.refusal(staging: other[0])?.code
            == ProtocolError.Code(rawValue: "forked"))
        _ = try await world.zone.stage(parts[1])
        _ = try await world.zone.push(parts[2])
      }
    }

    @Test("A zone that begins anew, or is deleted, leaves no part of a push behind")
    func renewed() async throws {
      try await Self.nodes { world, other in
        var world = world
        let administration = try PostgresAdministration(database: #require(world.zone.database))
        defer { administration.close() }
        func left() throws -> Int64 {
          try administration.connection.run(
            "SELECT (SELECT count(*) FROM staged) + (SELECT count(*) FROM staging)"
          ).int64(0, 0)
        }
        let before = try #require(try await other.zone(named: "shop"))
        let parts = try Self.parts(&world.b)
        _ = try await world.zone.stage(parts[0])
        #expect(try left() == 2)
        _ = try administration.renewZone("shop", intent: .offer)
        #expect(try left() == 0)
        let late = try await code {
          try await other.stage(PushReader(limits: .init()).read(parts[1]), of: before)
        }
        #expect(late == .generationChanged)
        #expect(try left() == 0)
      }
    }
  #endif
}
