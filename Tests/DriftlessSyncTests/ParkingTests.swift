import Driftless
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

@testable import DriftlessProtocol

/// What a replica cannot take in is set aside; everything else goes on.
struct ParkingTests {
  /// A model whose attributes hold only some values, or all.
  private func model(_ isStrict: Bool) -> ManagedObjectModel {
    let thing = EntityDescription("Thing")
    let name = AttributeDescription("name", .string)
    let size = AttributeDescription("size", isStrict ? .integer16 : .integer64)
    if isStrict {
      name.isOptional = false
      name.defaultValue = .string("nameless")
      size.isOptional = false
    }
    thing.properties = [name, size, AttributeDescription("note", .string)]
    return ManagedObjectModel(entities: [thing])
  }

  private func pair() async throws -> (loose: TestReplica, strict: TestReplica) {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    return (
      try await TestReplica("loose", zone: zone, clock: clock, model: model(false)),
      try await TestReplica("strict", zone: zone, clock: clock, model: model(true))
    )
  }

  @Test("F76 S24 A value that the model cannot hold is set aside, and the object stays usable")
  func invalidValue() async throws {
    let (loose, strict) = try await pair()
    let id = try loose.insert("Thing", ["size": .integer(500_000), "note": .string("a")])
    try await loose.sync()
    try await strict.sync()
    #expect(try strict.value(id, "size") == .integer(0))
    #expect(try strict.value(id, "name") == .string("nameless"))
    let parked = try SyncEngine.parked(of: strict.store)
    #expect(parked.map(\.property) == ["size"])
    #expect(parked.first?.code == "invalid-value")
    #expect(parked.first?.object == id)
    // The next edit of the object is saved.
    try strict.save { context in
      try #require(try context.object(withIdentity: id)).setValue("b", forKey: "note")
    }
    try await strict.sync()
    try await loose.sync()
    #expect(try loose.value(id, "size") == .integer(500_000))
    #expect(try loose.value(id, "note") == .string("b"))
    // A later value strikes the parked one.
    try loose.set(id, ["size": .integer(7), "name": .string("named")])
    try await loose.sync()
    try await strict.sync()
    #expect(try strict.value(id, "size") == .integer(7))
    #expect(try SyncEngine.parked(of: strict.store).isEmpty)
    // So does null, which shows as the default.
    try loose.set(id, ["name": .null])
    try await loose.sync()
    try await strict.sync()
    #expect(try strict.value(id, "name") == .string("nameless"))
  }

  @Test(
    "What a person has accepted of what is parked waits for nobody, stays kept, and is taken in later"
  )
  func accepted() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let newer = try await TestReplica(
      "newer", zone: zone, clock: clock, model: shopModel(withNewerParts: true))
    let directory = try TemporaryDirectory()
    let file = directory.file("older.sqlite")
    let older = try await TestReplica("older", zone: zone, clock: clock, file: file)
    let id = try newer.insert("Item", ["title": .string("t"), "colour": .string("red")])
    try await newer.sync()
    try await older.sync()
    #expect(try older.status.parked == 1)
    let sequence = try #require(try SyncEngine.parked(of: older.store).first?.sequence)
    #expect(try SyncEngine.acceptParked(of: older.store, sequence: sequence) == 1)
    #expect(try older.status.parked == 0)
    #expect(try SyncEngine.parked(of: older.store).map(\.isAccepted) == [true])
    // What the model does not know is accepted in what comes later as well; another reason is not.
    try newer.set(id, ["colour": .string("green")])
    try await newer.sync()
    try await older.sync()
    #expect(try SyncEngine.parked(of: older.store).allSatisfy(\.isAccepted))
    try newer.insert("Offer", ["percent": .integer(5)])
    try await newer.sync()
    try await older.sync()
    #expect(try older.status.parked == 1)
    #expect(throws: SyncError.self) { try SyncEngine.acceptParked(of: older.store, sequence: 99) }
    #expect(try SyncEngine.check(older.store).findings == [])
    // Another try takes it back.
    try SyncEngine.retryParked(of: older.store)
    #expect(try older.status.parked == SyncEngine.parked(of: older.store).count)
    try SyncEngine.acceptParked(of: older.store)
    #expect(try older.status.parked == 0)
    await older.engine.close()
    older.store.close()
    let migrated = try await TestReplica(
      "older", zone: zone, clock: clock, model: shopModel(withNewerParts: true), enrolled: false,
      file: file)
    try await migrated.sync()
    #expect(try migrated.value(id, "colour") == .string("green"))
    #expect(try SyncEngine.parked(of: migrated.store).isEmpty)
  }

  @Test("What was accepted at a place of a log that is gone is not what another entry there is")
  func acceptedElsewhere() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let spoiler = SpoilingTransport(zone)
    let first = try await TestReplica("first", zone: zone, clock: clock)
    let second = try await TestReplica("second", zone: zone, clock: clock, transport: spoiler)
    try first.insert("Item", ["title": .string("kept")])
    try await first.sync()
    try await second.sync()
    let backup = zone.log
    try first.insert("Item", ["title": .string("lost")])
    try await first.sync()
    spoiler.spoiled = [zone.head]
    try await second.sync()
    #expect(try SyncEngine.acceptParked(of: second.store, sequence: zone.head) == 1)
    #expect(try second.status.parked == 0)
    let place = zone.head
    zone.putBack(backup)
    let third = try await TestReplica("third", zone: zone, clock: clock)
    try third.insert("Item", ["title": .string("another")])
    try await third.sync()
    #expect(zone.head == place)
    #expect(try await second.sync().reconciliations.map(\.kind) == [.offered])
    // The one that is gone stays kept as well, and waits for a person anew.
    let parked = try SyncEngine.parked(of: second.store)
    #expect(parked.map(\.sequence) == [place, place])
    #expect(parked.count { $0.code == "former-log" } == 1)
    #expect(try second.status.parked == 2)
    // Once they are accepted and taken in, what is kept of the next log that goes is another entry.
    #expect(try SyncEngine.acceptParked(of: second.store) == 2)
    #expect(try second.status.parked == 0)
    _ = try second.store.write(TransactionInfo(kind: .imported)) {
      try $0.connection.execute("DELETE FROM ZDL_PARKED_FORMER")
    }
    clock.advance(milliseconds: 2 * 86_400_000)
    zone.putBack(backup)
    let fourth = try await TestReplica("fourth", zone: zone, clock: clock)
    try fourth.insert("Item", ["title": .string("a third one")])
    try await fourth.sync()
    #expect(try await second.sync().reconciliations.map(\.kind) == [.offered])
    let next = try SyncEngine.parked(of: second.store)
    #expect(next.count { $0.code == "former-log" } == 1)
    #expect(try second.status.parked == next.count)
  }

  @Test("F72 S21 An entry that cannot be read is set aside, and everything else goes on")
  func unreadable() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let spoiler = SpoilingTransport(zone)
    let first = try await TestReplica("first", zone: zone, clock: clock)
    let second = try await TestReplica(
      "second", zone: zone, clock: clock, transport: spoiler)
    let kept = try first.insert("Item", ["title": .string("kept")])
    try await first.sync()
    try await second.sync()
    let lost = try first.insert("Item", ["title": .string("lost")])
    try first.set(kept, ["title": .string("later"), "weight": .double(1)])
    try await first.sync()
    spoiler.spoiled = [zone.head]
    try first.set(lost, ["weight": .double(2)])
    try first.set(kept, ["weight": .double(3)])
    let other = try first.insert("Item", ["title": .string("other")])
    try await first.sync()
    try await second.sync()
    #expect(try second.exists(other))
    #expect(try !second.exists(lost))
    #expect(try second.value(kept, "weight") == .double(3))
    let parked = try SyncEngine.parked(of: second.store)
    #expect(parked.map(\.code) == ["unreadable", "needs-parked"])
    #expect(try second.status.parked == 2)
    // Another try: what was set later stays.
    try second.store.unspoil(try await zone.entry(parked[0].sequence))
    #expect(try SyncEngine.retryParked(of: second.store) == 2)
    try await second.sync()
    #expect(try second.value(lost, "title") == .string("lost"))
    #expect(try second.value(lost, "weight") == .double(2))
    #expect(try second.value(kept, "title") == .string("later"))
    #expect(try second.value(kept, "weight") == .double(3))
    #expect(try SyncEngine.parked(of: second.store).isEmpty)
    #expect(try second.export == first.export)
  }

  @Test(
    "An entry that is damaged on the server's disk is set aside, and fetched again when it is whole"
  )
  func damagedThere() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let spoiler = SpoilingTransport(zone)
    let first = try await TestReplica("first", zone: zone, clock: clock)
    let second = try await TestReplica("second", zone: zone, clock: clock, transport: spoiler)
    try first.insert("Item", ["title": .string("before")])
    try await first.sync()
    let lost = try first.insert("Item", ["title": .string("lost")])
    try await first.sync()
    spoiler.damaged = [zone.head]
    let after = try first.insert("Item", ["title": .string("after")])
    try await first.sync()
    // Once it may have been the way.
    let error = await #expect(throws: ProtocolError.self) { try await second.sync() }
    #expect(error?.code == .damaged)
    try await second.sync()
    #expect(try second.exists(after))
    #expect(try !second.exists(lost))
    #expect(try SyncEngine.parked(of: second.store).map(\.code) == ["damaged"])
    // In vain, as long as it is damaged.
    #expect(try SyncEngine.retryParked(of: second.store) == 1)
    try await second.sync()
    #expect(try SyncEngine.parked(of: second.store).map(\.code) == ["damaged"])
    // A server that cannot hand it over alone keeps nobody from the rest.
    spoiler.refusesOneEntry = true
    #expect(try SyncEngine.retryParked(of: second.store) == 1)
    let later = try first.insert("Item", ["title": .string("later")])
    try await first.sync()
    try await second.sync()
    #expect(try second.exists(later))
    spoiler.refusesOneEntry = false
    spoiler.damaged = []
    // Nobody asks, and not each sync does.
    try await second.sync()
    #expect(try SyncEngine.parked(of: second.store).map(\.code) == ["damaged"])
    clock.advance(milliseconds: 3_600_001)
    try await second.sync()
    #expect(try SyncEngine.parked(of: second.store).isEmpty)
    #expect(try second.export == first.export)
  }

  @Test("A reference to an object of an entity that the relationship does not hold is none")
  func referenceOfAnotherEntity() async throws {
    func model(_ destination: String) -> ManagedObjectModel {
      let note = EntityDescription("Note")
      note.properties = [RelationshipDescription("place", to: destination, inverse: nil)]
      let shelf = EntityDescription("Shelf")
      shelf.properties = [AttributeDescription("name", .string)]
      let room = EntityDescription("Room")
      room.properties = [AttributeDescription("name", .string)]
      return ManagedObjectModel(entities: [note, shelf, room])
    }
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let odd = try await TestReplica("odd", zone: zone, clock: clock, model: model("Room"))
    let replica = try await TestReplica("right", zone: zone, clock: clock, model: model("Shelf"))
    let room = try odd.insert("Room", ["name": .string("a room")])
    let note = try odd.insert("Note")
    try odd.set(
      note, ["place": .reference(try #require(try odd.store.read { try $0.key(of: room) }))])
    try await odd.sync()
    let shelf = try replica.insert("Shelf", ["name": .string("a shelf")])
    try await replica.sync()
    #expect(try replica.value(note, "place") == .null)
    // Nor is one beside an edit that is pending here.
    try replica.set(
      note, ["place": .reference(try #require(try replica.store.read { try $0.key(of: shelf) }))])
    clock.advance(milliseconds: 1000)
    let other = try odd.insert("Room", ["name": .string("another")])
    try odd.set(
      note, ["place": .reference(try #require(try odd.store.read { try $0.key(of: other) }))])
    try await odd.sync()
    try await replica.sync()
    #expect(try replica.value(note, "place") == .null)
    #expect(try replica.store.check().isSound)
  }

  @Test(
    "S22 One identity under two entities is two objects, the same on every replica",
    arguments: [0, 1])
  func oneIdentityOfTwoEntities(first: Int) async throws {
    let world = try await World(3)
    let identity = UUID()
    try world[0].insert("Item", ["title": .string("item")], identity: identity)
    try world[1].insert("Label", ["name": .string("label")], identity: identity)
    try await world[first].sync()
    try await world[1 - first].sync()
    try await world.settle()
    #expect(try world[2].identities(of: "Item").count == 1)
    #expect(try world[2].identities(of: "Label").count == 1)
  }
}

/// Shows a log in which nobody can read the values of some entries: their digests are others, and so are all chains from
/// the first of them on.
private final class SpoilingTransport: ForwardingTransport, @unchecked Sendable {
  let next: any SyncTransport
  /// Set by the test's only task.
  var spoiled: Set<UInt64> = []
  /// Entries of which a byte is another one, under the digest that they were pushed with.
  var damaged: Set<UInt64> = []
  /// Whether a page of one entry alone is an answer that cannot be read.
  var refusesOneEntry = false
  /// The zone's chains and those that are shown instead, by sequence number.
  private var chains: [UInt64: (zone: LogChain, shown: LogChain)] = [:]

  init(_ zone: any SyncTransport) { next = zone }

  /// The log goes on from what it spoiled, as one does that a server took so.
  func pull(_ request: PullRequest) async throws -> PullPage {
    if refusesOneEntry, request.maxBytes == 1 {
      throw ProtocolError(.malformed, "No page", suggestion: "")
    }
    var asked = request
    if let chain = chains[request.cursor.sequence] { asked.cursor.chain = chain.zone }
    var page = try await next.pull(asked)
    var chain = request.cursor.chain
    for place in page.entries.indices {
      var entry = page.entries[place]
      if damaged.contains(entry.sequence) { entry.frame[entry.frame.endIndex - 1] ^= 1 }
      let isSpoiled = spoiled.contains(entry.sequence)
      if isSpoiled { entry.frame = try ChangeSetDecoder().spoil(entry.frame) }
      if isSpoiled || chains[entry.sequence - 1] != nil {
        chain = chain.next(
          digest: try #require(ChangeSetHeader.storedDigest(of: entry.frame)),
          sequence: entry.sequence, firstObjectNumber: entry.firstObjectNumber)
        chains[entry.sequence] = (entry.chain, chain)
        entry.chain = chain
      }
      chain = entry.chain
      page.entries[place] = entry
    }
    return page
  }
}

extension ChangeSetDecoder {
  /// The frame with a values section that nobody can read, under a digest that fits.
  fileprivate func spoil(_ frame: Data) throws -> Data {
    let header = try decodeHeader(frame)
    var bytes = Data(frame)
    for place in (bytes.count - header.valuesSize.stored)..<bytes.count { bytes[place] = 0xFF }
    bytes.replaceSubrange(176..<192, with: ChangeSetHeader.digest(of: bytes))
    return bytes
  }
}

extension MemoryZone {
  /// One entry of the log as it was pushed.
  fileprivate func entry(_ sequence: UInt64) async throws -> PullPage.Entry {
    let info = try await zoneInfo()
    let page = try await pull(
      PullRequest(
        cursor: .start(generation: info.generation), maxBytes: .max, waitSeconds: 0,
        replica: UUID(), ownThrough: 0))
    return try #require(page.entries.first { $0.sequence == sequence })
  }
}

extension PersistentStore {
  /// As after an update to a program that can read a parked entry.
  fileprivate func unspoil(_ entry: PullPage.Entry) throws {
    _ = try write(TransactionInfo(kind: .imported)) { transaction in
      try transaction.connection.run(
        "UPDATE ZDL_PARKED SET frame = ? WHERE sequence = ?", .blob(entry.frame),
        .integer(Int64(entry.sequence)))
    }
  }
}
