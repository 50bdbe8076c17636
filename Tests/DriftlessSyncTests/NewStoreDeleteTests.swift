import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import TestSupport
import Testing

/// A store that reads a log is asked about deletes of what it had, and of nothing that came and went in that log.
struct NewStoreDeleteTests {
  private var options: SyncOptions {
    var options = SyncOptions()
    options.massDelete.floor = 8
    options.pullBytesMax = 200
    return options
  }

  /// A zone in which somebody made 40 items and deleted 30 of them, one after the other.
  private func world() async throws -> World {
    let world = try await World(1, options: options)
    let items = try (0..<40).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    try await world.settle()
    for id in items.prefix(30) {
      try world[0].delete(id)
      try await world[0].push()
    }
    return world
  }

  @Test(
    "A store that is new in a zone is not asked about what was deleted there before it came",
    arguments: [0, 3])
  func new(own: Int) async throws {
    var world = try await world()
    let late = try await TestReplica("late", zone: world.zone, clock: world.clock, options: options)
    for _ in 0..<own { try late.insert("Label", ["name": .string("mine")]) }
    try await late.sync()
    #expect(try late.identities(of: "Item").count == 10)
    #expect(try late.identities(of: "Label").count == own)
    world.replicas.append(late)
    try await world.settle()
  }

  @Test("So it is where the pull broke off in between")
  func brokenOff() async throws {
    let world = try await world()
    let directory = try TemporaryDirectory()
    func late(_ way: (any SyncTransport)?, isNew: Bool = false) async throws -> TestReplica {
      try await TestReplica(
        "late", zone: world.zone, clock: world.clock, transport: way, options: options,
        enrolled: isNew, file: directory.file("late.sqlite"))
    }
    for requests in [3, 25] {
      let cut = try await late(
        CutTransport(world.zone, after: requests, isAfter: false), isNew: requests == 3)
      if requests == 3 { try cut.insert("Label", ["name": .string("mine")]) }
      await #expect(throws: CutTransport.Cut.self) { try await cut.sync() }
      await cut.engine.close()
      cut.store.close()
    }
    let whole = try await late(nil)
    try await whole.sync()
    #expect(try whole.identities(of: "Item").count == 10)
  }

  @Test("What came and went while a store was away is nothing that it had")
  func cameAndWent() async throws {
    let world = try await World(2, options: options)
    let held = try (0..<20).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    try await world.settle()
    let made = try (0..<60).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    try await world[0].sync()
    for id in made.prefix(50) + held.prefix(5) {
      try world[0].delete(id)
      try await world[0].push()
    }
    try await world[1].sync()
    #expect(try world[1].identities(of: "Item").count == 25)
    // What it had by then counts: 15 of its 25.
    let more = try (0..<9).map { _ in try world[0].insert("Item") }
    try await world[0].sync()
    for id in more + held.suffix(15) {
      try world[0].delete(id)
      try await world[0].push()
    }
    let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
    #expect(error?.code == .massDelete)
    #expect(try world[1].identities(of: "Item").count > 10)
    _ = try await world[1].engine.sync(allowingMassDelete: true)
    try await world.settle()
  }

  @Test("What was made here while more of the log was to come is something that the store had")
  func madeMeanwhile() async throws {
    var world = try await World(1, options: options)
    let way = PageWay(world.zone)
    world.replicas.append(
      try await TestReplica(
        "cut", zone: world.zone, clock: world.clock, transport: way, options: options))
    let held = try (0..<4).map { try world[0].insert("Item", ["low": .integer(Int64($0))]) }
    try await world.settle()
    // Something comes, and the rest does not.
    for number in 0..<30 {
      try world[0].insert("Label", ["name": .string("label \(number)")])
      try await world[0].push()
    }
    try await way.pullTwo(world[1])
    #expect(try (1..<30).contains(world[1].identities(of: "Label").count))
    var own: [UUID] = []
    for _ in 0..<2 {
      own += try (0..<15).map { try world[1].insert("Item", ["low": .integer(Int64($0))]) }
      // They are with the zone by then, which has more for this replica.
      try await world[1].push()
      try await way.pullTwo(world[1])
    }
    #expect(try world[1].identities(of: "Label").count < 30)
    #expect(try SyncEngine.check(world[1].store).findings == [])
    var careless = options
    careless.massDelete.floor = 1000
    let deleter = try await TestReplica(
      "deleter", zone: world.zone, clock: world.clock, options: careless)
    try await deleter.sync()
    #expect(try deleter.identities(of: "Item").count == 34)
    for id in own {
      try deleter.delete(id)
      try await deleter.push()
    }
    let error = await #expect(throws: SyncError.self) { try await world[1].sync() }
    #expect(error?.code == .massDelete)
    #expect(try world[1].exists(held[0]))
    #expect(try own.contains { try world[1].exists($0) })
  }

  @Test("Deletes of a push in several parts count as far as the store had the objects")
  func parts() async throws {
    var options = options
    options.partObjectsMax = 10
    var careless = options
    careless.massDelete.floor = 1000
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let deleter = try await TestReplica("deleter", zone: zone, clock: clock, options: careless)
    let other = try await TestReplica("other", zone: zone, clock: clock, options: options)
    let items = try (0..<40).map { try deleter.insert("Item", ["low": .integer(Int64($0))]) }
    try await deleter.sync()
    try deleter.save { context in
      for id in items.prefix(30) {
        context.delete(try #require(try context.object(withIdentity: id)))
      }
    }
    try await deleter.sync()
    try await other.sync()
    #expect(try other.identities(of: "Item").count == 10)
  }
}

/// A way on which pulls come to an end after some pages, where that is asked for.
private final class PageWay: ForwardingTransport {
  struct Cut: Error {}

  let next: any SyncTransport
  private let left = Mutex<Int?>(nil)

  init(_ next: any SyncTransport) { self.next = next }

  func pull(_ request: PullRequest) async throws -> PullPage {
    let isCut = left.withLock { left in
      defer { left = left.map { $0 - 1 } }
      return left == 0
    }
    if isCut { throw Cut() }
    return try await next.pull(request)
  }

  /// Takes two pages in, and no more.
  func pullTwo(_ replica: TestReplica) async throws {
    left.withLock { $0 = 2 }
    await #expect(throws: Cut.self) { try await replica.pull() }
    left.withLock { $0 = nil }
  }
}
