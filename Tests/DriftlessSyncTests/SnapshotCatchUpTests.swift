import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// A replica that was away takes what the zone's log came to in place of the log, beside what is pending in it.
struct SnapshotCatchUpTests {
  /// Small pages, so that there is always more of the log, and any snapshot is better than it.
  private static var options: SyncOptions {
    var options = SyncOptions()
    options.pullBytesMax = 1
    options.snapshotShare = .infinity
    return options
  }

  /// A zone with two replicas, of which the second is away.
  private func world() async throws -> World {
    var world = try await World(1)
    world.replicas.append(
      try await TestReplica("away", zone: world.zone, clock: world.clock, options: Self.options))
    return world
  }

  /// A copy of a replica's file on another way to the zone.
  private func copy(_ replica: TestReplica, _ way: any SyncTransport) async throws -> TestReplica {
    let directory = try TemporaryDirectory()
    let file = directory.file("copy.sqlite")
    for suffix in ["", "-wal"] {
      let from = URL(fileURLWithPath: replica.directory.file("away.sqlite").path + suffix)
      guard FileManager.default.fileExists(atPath: from.path) else { continue }
      try FileManager.default.copyItem(
        at: from, to: URL(fileURLWithPath: file.path + suffix))
    }
    let copy = try await TestReplica(
      "away", zone: replica.zone, clock: replica.clock, transport: way, options: Self.options,
      enrolled: false, file: file)
    copies.append(directory)
    return copy
  }

  /// Folders of copies, which live as long as the test.
  private let copies = Folders()

  private final class Folders {
    private var folders: [TemporaryDirectory] = []
    func append(_ folder: TemporaryDirectory) { folders.append(folder) }
  }

  @Test(
    "A value of a snapshot that the model cannot hold is parked as its entry's and its sender's",
    arguments: [false, true])
  func parkedValues(wasAway: Bool) async throws {
    func model(_ type: AttributeType) -> ManagedObjectModel {
      let thing = EntityDescription("Thing")
      thing.properties = [AttributeDescription("size", type)]
      return ManagedObjectModel(entities: [thing])
    }
    let world = try await World(0)
    let (zone, clock) = (world.zone, world.clock)
    let writers = [
      try await TestReplica("one", zone: zone, clock: clock, model: model(.integer64)),
      try await TestReplica("two", zone: zone, clock: clock, model: model(.integer64)),
    ]
    let folded = try FoldedZone(zone)
    let narrow = try await TestReplica(
      "narrow", zone: zone, clock: clock, model: model(.integer16), transport: folded,
      options: Self.options)
    let ids = try writers.map { try $0.insert("Thing", ["size": .integer(1)]) }
    for writer in writers { try await writer.sync() }
    if wasAway { try await narrow.sync() }
    try writers[0].set(ids[0], ["size": .integer(100_000)])
    try await writers[0].sync()
    try writers[1].set(ids[1], ["size": .integer(200_000)])
    try await writers[1].sync()
    try folded.fold()
    try await narrow.sync()
    #expect(folded.pieces > 0)
    let parked = try SyncEngine.parked(of: narrow.store)
    #expect(parked.map(\.object) == ids)
    #expect(parked.map(\.sequence) == [3, 4])
    #expect(try parked.map(\.sender) == writers.map { try $0.status.replica })
    #expect(try SyncEngine.acceptParked(of: narrow.store, sequence: 4) == 1)
    #expect(try narrow.status.parked == 1)
  }

  @Test("F54 Who was away for a year takes the snapshot, and keeps what is pending")
  func away() async throws {
    var world = try await world()
    let (writer, away) = (world[0], world[1])
    var items: [UUID] = []
    for number in 0..<30 {
      items.append(
        try writer.insert("Item", ["title": .string("item \(number)"), "stock": .integer(10)]))
    }
    try await world.settle()

    // What the zone does meanwhile.
    for number in 0..<30 where number % 3 == 0 {
      try writer.set(items[number], ["note": .string("edited \(number)"), "stock": .integer(15)])
      try await writer.sync()
    }
    for number in [1, 4, 7] { try writer.delete(items[number]) }
    try await writer.sync()
    for number in 0..<10 {
      items.append(try writer.insert("Item", ["title": .string("later \(number)")]))
      try await writer.sync()
    }
    // What is pending here.
    try away.set(items[0], ["stock": .integer(13), "tag": .string("mine")])
    try away.set(items[3], ["note": .string("mine")])
    try away.delete(items[6])
    let own = try away.insert("Item", ["title": .string("of who was away")])
    world.clock.advance(milliseconds: 365 * 86_400_000)

    let folded = try FoldedZone(world.zone)
    try folded.fold()
    let back = try await copy(away, folded)
    try await back.pull()
    #expect(folded.pieces > 0)
    #expect(folded.pulled <= 3, "a page, a look at the place, and nothing after it")
    #expect(try back.status.pending.objects == 3)
    #expect(try back.value(items[0], "stock") == .integer(18))
    #expect(try back.value(items[0], "note") == .string("edited 0"))
    #expect(try back.value(items[3], "note") == .string("edited 3"), "the zone's wins")
    #expect(try back.conflicts.contains { $0.local?.contains("mine") == true })
    for number in [1, 4, 7] { #expect(try !back.exists(items[number])) }
    #expect(try back.exists(own))

    world.replicas[1] = back
    try await world.settle()
    #expect(try writer.value(items[0], "stock") == .integer(18))
    #expect(try writer.value(items[0], "tag") == .string("mine"))
    #expect(try !writer.exists(items[6]))
  }

  @Test("F57 Who was away brings nothing back that was deleted meanwhile")
  func deletedMeanwhile() async throws {
    var world = try await world()
    let (writer, away) = (world[0], world[1])
    let items = try (0..<20).map { try writer.insert("Item", ["title": .string("\($0)")]) }
    try await world.settle()
    for item in items.prefix(5) {
      try writer.delete(item)
      try await writer.sync()
    }
    try away.set(items[1], ["title": .string("edited here")])
    let folded = try FoldedZone(world.zone)
    try folded.fold()
    let back = try await copy(away, folded)
    world.replicas[1] = back
    try await world.settle()
    for item in items.prefix(5) { #expect(try !writer.exists(item)) }
    #expect(try back.conflicts.contains { $0.object == items[1] })
  }

  @Test("A download that breaks off goes on where it was, and what is pending stays")
  func brokenOff() async throws {
    var world = try await world()
    let (writer, away) = (world[0], world[1])
    let item = try writer.insert("Item", ["title": .string("first")])
    try await world.settle()
    for number in 0..<60 {
      try writer.insert("Item", ["title": .string("item \(number)")])
      if number % 6 == 0 { try await writer.sync() }
    }
    try await writer.sync()
    try away.set(item, ["tag": .string("mine")])
    let folded = try FoldedZone(world.zone)
    let bytes = try folded.fold().bytes
    let back = try await copy(away, folded)
    var rule = FoldedZone.Rule()
    rule.piecesMax = 2
    var tries = 0
    while true {
      folded.set(rule)
      do {
        try await back.pull()
        break
      } catch is FoldedZone.Cut {
        tries += 1
        rule.piecesMax = folded.pieces + 2
        #expect(try back.status.pending.objects == 1)
        await back.restart()
      }
    }
    #expect(tries > 1)
    #expect(folded.bytes <= bytes, "nothing is fetched twice")
    world.replicas[1] = back
    try await world.settle()
    #expect(try writer.value(item, "tag") == .string("mine"))
  }

  @Test("A snapshot that outweighs the rest of the log is not taken")
  func lighterLog() async throws {
    let world = try await world()
    let (writer, away) = (world[0], world[1])
    for number in 0..<200 { try writer.insert("Item", ["title": .string("\(UUID()) \(number)")]) }
    try await world.settle()
    for _ in 0..<3 {
      try writer.insert("Item", ["title": .string("later")])
      try await writer.sync()
    }
    let folded = try FoldedZone(world.zone)
    try folded.fold()
    var options = Self.options
    options.snapshotShare = 1
    let engine = SyncEngine(store: away.store, transport: folded, options: options)
    await away.engine.close()
    _ = try await engine.sync()
    #expect(folded.pieces == 0)
    #expect(folded.pulled == 3)
    #expect(try away.export == writer.export)
    await engine.close()
  }

  @Test("A snapshot of a log that the server lost is not taken by who has a part of its log")
  func otherLog() async throws {
    var world = try await world()
    let (writer, away) = (world[0], world[1])
    try writer.insert("Item", ["title": .string("first")])
    try await world.settle()
    for _ in 0..<5 {
      try writer.insert("Item", ["title": .string("later")])
      try await writer.sync()
    }
    var rule = FoldedZone.Rule()
    rule.lie = { snapshot in
      var bytes = snapshot.base.place.chain.bytes
      bytes[bytes.startIndex] ^= 1
      if let chain = LogChain(bytes: bytes) { snapshot.base.place.chain = chain }
    }
    let folded = try FoldedZone(world.zone, rule)
    try folded.fold()
    let back = try await copy(away, folded)
    try await back.pull()
    #expect(folded.pulled >= 5)
    world.replicas[1] = back
    try await world.settle()
  }

  @Test("F54 What is pending ends beside a snapshot as it does beside the log", arguments: 1...24)
  func likeReader(seed: UInt64) async throws {
    var numbers = SeededGenerator(seed: seed)
    let world = try await world()
    let (writer, away) = (world[0], world[1])
    var life = RandomLife()
    try life.begin(writer, &numbers)
    try await world.settle()
    var there = life
    for _ in 0..<12 {
      try there.step(writer, &numbers)
      try await writer.sync()
    }
    for _ in 0..<seed % 4 { try life.step(away, &numbers) }
    let folded = try FoldedZone(world.zone)
    try folded.fold(segmentBytes: 600)
    let taker = try await copy(away, folded)
    let reader = try await copy(away, world.zone)
    try await taker.pull()
    try await reader.pull()
    #expect(try taker.export == reader.export)
    #expect(try taker.status.pending == reader.status.pending)
    func told(_ replica: TestReplica) throws -> [String] {
      try replica.conflicts.map {
        "\($0.object) \($0.property ?? "") \($0.local ?? "") \($0.remote ?? "") \($0.kept ?? "")"
      }.sorted()
    }
    #expect(try told(taker) == told(reader))
    #expect(try SyncEngine.check(taker.store).findings == [])
    if seed % 4 == 0 { #expect(folded.pulled <= 3, "with nothing pending it is always taken") }
  }
}
