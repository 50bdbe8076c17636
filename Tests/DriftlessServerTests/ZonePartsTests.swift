import DriftlessProtocol
import DriftlessServer
import Foundation
import Synchronization
import Testing

/// Pushes in several parts, by every kind of zone that takes them.
@Suite("Pushes in several parts")
struct ZonePartsTests {
  static let kinds: [TestedZone.Kind] = [.memory, .storage]

  /// So many frames as the parts of one push.
  static func numbered(_ frames: [Data], mebibytes: UInt16 = 1) -> [Data] {
    frames.enumerated().map { place, frame in
      var frame = frame
      ChangeSetEncoder.number(
        &frame, part: UInt16(place + 1), of: UInt16(frames.count),
        mebibytes: place == 0 ? mebibytes : 0)
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
      if place == 0, kind == .storage {
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
      let again = Self.numbered(try contents.map { try world.b.frame($0) })
      if place == 1 {
        // These frames say their number in their values, so a header of the same bytes is made by hand.
        let moved = Self.moved(parts[0], to: again[0])
        _ = try await world.zone.stage(Data(moved.prefix(ChangeSetHeader.size)))
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

  @Test("Parts that nobody goes on with go after a week, and count until then")
  func room() async throws {
    var limits = ServerLimits()
    limits.stagedBytesPerReplicaMax = 3000
    let clock = TestedZone.Clock()
    let test = try TestZone(limits: limits, now: { clock.now })
    let reader = PushReader(limits: limits)
    let generation = try await test.zone().generation
    var writer = ZoneWriter(generation)
    let parts = try Self.parts(&writer)
    func stage(_ part: Data) async throws -> ServerError.Code? {
      try await code {
        try await test.storage.stage(reader.read(part), of: test.zone())
      }
    }
    // As much as the first one declares, though it is small.
    #expect(try await stage(parts[0]) == .tooLarge)
    let small = Self.numbered(parts, mebibytes: 0)
    for part in small.dropLast() { #expect(try await stage(part) == nil) }
    let large = try writer.frame { $0.inserts = 4000 }
    #expect(
      try await stage(Self.numbered([large, large], mebibytes: 0)[0]) == .tooLarge)
    clock.ahead.withLock { $0 = 6 * 86_400_000 }
    var other = ZoneWriter(generation)
    #expect(try await stage(Self.numbered(try Self.parts(&other), mebibytes: 0)[0]) == nil)
    let header = Data(small[0].prefix(ChangeSetHeader.size))
    #expect(try await !test.storage.stagedFrame(of: header, in: test.zone()).isEmpty)
    clock.ahead.withLock { $0 = 8 * 86_400_000 }
    #expect(try await stage(Self.numbered(try Self.parts(&other), mebibytes: 0)[0]) == nil)
    let gone = try await code {
      _ = try await test.storage.stagedFrame(of: header, in: test.zone())
    }
    #expect(gone == .notStaged)
  }

  #if PostgreSQL
    @Test("A zone on PostgreSQL says that it takes none")
    func postgres() async throws {
      var world = try await ZoneWorld(.postgres)
      let parts = try Self.parts(&world.b)
      #expect(try await world.zone.refusal(staging: parts[0])?.code == .unsupported)
      #expect(try await world.zone.refusal(parts[2])?.code == .notStaged)
      #expect(try await world.zone.head.sequence == 1)
    }
  #endif
}
