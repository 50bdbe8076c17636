import DriftlessProtocol
import Foundation
import Testing

@Suite struct ZoneLogTests {
  private let ship = Samples.uuid("A0000000-0000-4000-8000-00000000000A")
  private let shore = Samples.uuid("A0000000-0000-4000-8000-00000000000B")

  private func zone() -> ZoneLog { ZoneLog(name: "shop", generation: Samples.generation) }

  private func header(_ replica: UUID, _ number: UInt64, on cursor: UInt64) -> ChangeSetHeader {
    Samples.header(pushNumber: number, cursor: cursor, replica: replica)
  }

  @discardableResult
  private func push(_ changeSet: ChangeSet, to zone: inout ZoneLog) throws -> PushReply {
    try zone.append(ChangeSetEncoder().encode(changeSet.placed(in: zone)), nowMilliseconds: 1)
  }

  private func refusal(_ changeSet: ChangeSet, by zone: inout ZoneLog) throws -> ProtocolError? {
    let frame = try ChangeSetEncoder().encode(changeSet.placed(in: zone))
    do {
      _ = try zone.append(frame, nowMilliseconds: 1)
      return nil
    } catch {
      return error
    }
  }

  private func expectStale(
    _ changeSet: ChangeSet, _ zone: inout ZoneLog,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let head = zone.head
    let error = try refusal(changeSet, by: &zone)
    #expect(error?.code == .stale, "\(error as Any)", sourceLocation: location)
    #expect(error?.head == head, sourceLocation: location)
    #expect(zone.head == head, sourceLocation: location)
  }

  @Test("Sequence and object numbers are dense, from 1")
  func numbers() throws {
    var zone = zone()
    let first = try push(Samples.insert(3, header: header(ship, 1, on: 0)), to: &zone)
    let second = try push(
      Samples.insert(2, first: Samples.imported, header: header(shore, 1, on: 0)), to: &zone)
    #expect([first.sequence, second.sequence] == [1, 2])
    #expect([first.firstObjectNumber, second.firstObjectNumber] == [1, 4])
    #expect(zone.info(nowMilliseconds: 9).head == 2)
  }

  @Test("The same push again gets the same answer and has no second effect")
  func repeated() throws {
    var zone = zone()
    let changeSet = Samples.insert(3, header: header(ship, 1, on: 0))
    let reply = try push(changeSet, to: &zone)
    try push(Samples.insert(1, first: Samples.imported, header: header(shore, 1, on: 0)), to: &zone)
    #expect(try push(changeSet, to: &zone) == reply)
    #expect(zone.head == 2)
  }

  @Test("Other bytes under a used push number, or a number below the last, are refused")
  func forked() throws {
    var zone = zone()
    try push(Samples.insert(3, header: header(ship, 1, on: 0)), to: &zone)
    let other = Samples.insert(2, first: Samples.imported, header: header(ship, 1, on: 0))
    #expect(try refusal(other, by: &zone)?.code == .forked)
    let late = Samples.insert(2, first: Samples.imported, header: header(ship, 3, on: 0))
    #expect(try refusal(late, by: &zone)?.code == nil, "a gap is fine")
    let between = Samples.insert(1, header: header(ship, 2, on: 0))
    #expect(try refusal(between, by: &zone)?.code == .forked)
    #expect(zone.head == 2)
  }

  @Test("F60 A cursor of another generation, or beyond the log's end, is refused")
  func generations() throws {
    var zone = zone()
    var changeSet = Samples.insert(1, header: header(ship, 1, on: 0))
    changeSet.header.cursor.generation = UUID()
    #expect(try refusal(changeSet, by: &zone)?.code == .generationChanged)
    let ahead = Samples.insert(1, header: header(ship, 1, on: 1))
    #expect(try refusal(ahead, by: &zone)?.code == .diverged)
    let request = PullRequest(
      cursor: Cursor(generation: Samples.generation, sequence: 5, chain: Samples.chain),
      maxBytes: 0, waitSeconds: 0, replica: ship, ownThrough: 0)
    #expect(throws: ProtocolError.self) { try zone.page(request, nowMilliseconds: 1) }
  }

  @Test("A property that another replica set after the cursor is stale; another property is not")
  func properties() throws {
    var zone = zone()
    try push(Samples.insert(3, header: header(ship, 1, on: 0)), to: &zone)
    try push(Samples.touch(.update, [2], ["pages"], header: header(ship, 2, on: 1)), to: &zone)
    try expectStale(Samples.touch(.update, [2], ["pages"], header: header(shore, 1, on: 1)), &zone)
    try push(Samples.touch(.update, [2], ["title"], header: header(shore, 1, on: 1)), to: &zone)
    try push(Samples.touch(.update, [2], ["pages"], header: header(shore, 2, on: 3)), to: &zone)
    #expect(zone.head == 4)
  }

  @Test(
    "A delete or a revival is stale when anything of the object is news; an edit, after a delete")
  func deletes() throws {
    var zone = zone()
    try push(Samples.insert(3, header: header(ship, 1, on: 0)), to: &zone)
    try push(Samples.touch(.update, [2], ["pages"], header: header(ship, 2, on: 1)), to: &zone)
    try expectStale(Samples.touch(.delete, [2], [], header: header(shore, 1, on: 1)), &zone)
    try push(Samples.touch(.delete, [2], [], header: header(shore, 1, on: 2)), to: &zone)
    try expectStale(Samples.touch(.update, [2], ["title"], header: header(ship, 3, on: 2)), &zone)
    try expectStale(Samples.touch(.revive, [2], ["title"], header: header(ship, 3, on: 2)), &zone)
    try push(Samples.touch(.revive, [2], ["title"], header: header(ship, 3, on: 3)), to: &zone)
    try expectStale(Samples.touch(.update, [2], ["title"], header: header(shore, 2, on: 3)), &zone)
    try push(Samples.touch(.update, [1], ["title"], header: header(shore, 2, on: 3)), to: &zone)
  }

  @Test("A replica's own change sets above its cursor are no news to it")
  func own() throws {
    var zone = zone()
    try push(Samples.insert(3, header: header(ship, 1, on: 0)), to: &zone)
    try push(Samples.insert(1, first: Samples.imported, header: header(shore, 1, on: 0)), to: &zone)
    try push(Samples.touch(.update, [2], ["pages"], header: header(ship, 2, on: 0)), to: &zone)
    try push(Samples.touch(.update, [2], ["pages"], header: header(ship, 3, on: 0)), to: &zone)
    try expectStale(Samples.touch(.update, [4], ["pages"], header: header(ship, 4, on: 0)), &zone)
    try expectStale(Samples.touch(.delete, [2], [], header: header(shore, 2, on: 2)), &zone)
    try push(Samples.touch(.delete, [2], [], header: header(ship, 4, on: 0)), to: &zone)
    #expect(zone.head == 5)
  }

  @Test("An identity that the zone has is stale, in a range or alone")
  func identities() throws {
    var zone = zone()
    try push(Samples.insert(3, header: header(ship, 1, on: 0)), to: &zone)
    let overlap = Samples.insert(
      2, first: Samples.minted.advanced(by: 2), header: header(shore, 1, on: 1))
    try expectStale(overlap, &zone)
    let beside = Samples.insert(
      2, first: Samples.minted.advanced(by: 3), header: header(shore, 1, on: 1))
    #expect(try push(beside, to: &zone).firstObjectNumber == 4)
  }

  @Test("An object number that was never given out is malformed")
  func unknownNumber() throws {
    var zone = zone()
    try push(Samples.insert(3, header: header(ship, 1, on: 0)), to: &zone)
    for number in [0, 4, .max] as [UInt64] {
      let changeSet = Samples.touch(.update, [number], ["a"], header: header(shore, 1, on: 1))
      #expect(try refusal(changeSet, by: &zone)?.code == .malformed, "\(number)")
    }
  }

  @Test("A page gives frames as pushed, the asking replica's own as headers, and at least one")
  func pages() throws {
    var zone = zone()
    let frames = try (1...4).map { number in
      let changeSet = Samples.insert(
        50, first: Samples.minted.advanced(by: UInt64(number) * 100),
        header: header(number % 2 == 0 ? ship : shore, UInt64(number + 1) / 2, on: 0))
      let frame = try ChangeSetEncoder().encode(changeSet.placed(in: zone))
      _ = try zone.append(frame, nowMilliseconds: 1)
      return frame
    }
    var request = PullRequest(
      cursor: .start(generation: Samples.generation), maxBytes: 1 << 20, waitSeconds: 0,
      replica: ship, ownThrough: 2)
    var page = try zone.page(request, nowMilliseconds: 1)
    #expect(page.head == 4)
    #expect(page.entries.map(\.sequence) == [1, 2, 3, 4])
    #expect(page.entries.map(\.firstObjectNumber) == [1, 51, 101, 151])
    #expect(page.entries.map(\.isOwnHeaderOnly) == [false, true, false, false])
    #expect(page.entries[1].frame == frames[1].prefix(ChangeSetHeader.size))
    #expect([0, 2, 3].allSatisfy { page.entries[$0].frame == frames[$0] })

    request.maxBytes = 1
    page = try zone.page(request, nowMilliseconds: 1)
    #expect(page.entries.map(\.sequence) == [1])
    let place = try #require(zone.place(at: 4))
    request.cursor = Cursor(
      generation: Samples.generation, sequence: place.sequence, chain: place.chain)
    #expect(try zone.page(request, nowMilliseconds: 1).entries.isEmpty)
  }
}
