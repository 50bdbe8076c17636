import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// A store leaves its zone, counts, and comes back: what it counted and what others counted add up.
struct LeftCountTests: LeavingStores {
  typealias Way = LeavingWay

  /// A copy of a store's file as a replica of its own.
  private func copy(of replica: TestReplica, _ world: World) async throws -> TestReplica {
    let file = replica.directory.file("copy.sqlite")
    let source = try #require(replica.store.url).path
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: source + suffix) {
      try FileManager.default.copyItem(atPath: source + suffix, toPath: file.path + suffix)
    }
    return try await TestReplica(
      "copy", zone: world.zone, clock: world.clock, enrolled: false, file: file)
  }

  @Test(
    "What others counted since it left, and what it counted there, are added once",
    arguments: Way.allCases, [0, 1])
  func both(way: Way, maker: Int) async throws {
    let world = try await World(2)
    let id = try world[maker].insert("Item", ["title": .string("a"), "stock": .integer(10)])
    try await world.settle()
    try count(id, 2, on: world[0])
    try count(id, 1, on: world[1])
    try await world.settle()
    try await leave(world[0], way)
    try count(id, 3, on: world[0])
    try count(id, 5, on: world[1])
    try await world[1].sync()
    try count(id, -1, on: world[0])
    #expect(try SyncEngine.check(world[0].store).findings == [])
    try await comeBack(world[0])
    try await expectStock(20, of: id, world)
  }

  @Test("A count that was not sent when it left is added with those after it")
  func unsent() async throws {
    let world = try await World(2)
    let id = try world[1].insert("Item", ["stock": .integer(10)])
    try await world.settle()
    try count(id, 4, on: world[0])
    try await leave(world[0])
    try count(id, 3, on: world[0])
    try count(id, 5, on: world[1])
    try await world[1].sync()
    try await comeBack(world[0])
    try await expectStock(22, of: id, world)
  }

  @Test("A count whose answer was lost before it left is added once")
  func unanswered() async throws {
    var world = try await World(1)
    let network = HookedTransport(world.zone)
    world.replicas.insert(
      try await TestReplica("lossy", zone: world.zone, clock: world.clock, transport: network),
      at: 0)
    let id = try world[1].insert("Item", ["stock": .integer(10)])
    try await world.settle()
    try count(id, 4, on: world[0])
    network.afterPush = { throw ProtocolError(.busy, "The answer was lost", suggestion: "") }
    await #expect(throws: (any Error).self) { try await world[0].sync() }
    network.afterPush = nil
    try await leave(world[0])
    try count(id, 3, on: world[0])
    try await world[1].sync()
    try count(id, 5, on: world[1])
    try await world[1].sync()
    try await comeBack(world[0])
    try await expectStock(22, of: id, world)
  }

  @Test("Where only one side counted, nothing is in a journal", arguments: [0, 1])
  func oneSide(counter: Int) async throws {
    let world = try await World(2)
    let ids = try [0, 1].map { try world[$0].insert("Item", ["stock": .integer(10)]) }
    try await world.settle()
    try await leave(world[0])
    for id in ids { try count(id, 3, on: world[counter]) }
    if counter == 1 { try await world[1].sync() }
    try await comeBack(world[0])
    for id in ids { try await expectStock(13, of: id, world) }
    let told = try world.replicas.flatMap { try $0.conflicts }
    #expect(told == [])
  }

  @Test("A store that leaves twice before it has read the log counts once")
  func twice() async throws {
    let world = try await World(2)
    let id = try world[1].insert("Item", ["stock": .integer(10)])
    try await world.settle()
    try await leave(world[0])
    try count(id, 3, on: world[0])
    try await comeBack(world[0])
    try count(id, 2, on: world[0])
    try await leave(world[0])
    try count(id, 1, on: world[0])
    try count(id, 5, on: world[1])
    try await world[1].sync()
    try await comeBack(world[0])
    try await expectStock(21, of: id, world)
  }

  @Test(
    "Copies of a store that left count what both have once, and their own each", arguments: [0, 1])
  func copies(maker: Int) async throws {
    var world = try await World(2)
    let id = try world[maker].insert("Item", ["stock": .integer(10)])
    try await world.settle()
    try await leave(world[0])
    try count(id, 3, on: world[0])
    let copy = try await copy(of: world[0], world)
    try count(id, 1, on: world[0])
    try count(id, 2, on: copy)
    try count(id, 5, on: world[1])
    try await world[1].sync()
    for replica in [world[0], copy] { try await comeBack(replica) }
    world.replicas.append(copy)
    try await expectStock(21, of: id, world)
  }

  @Test(
    "A store that came back, counted, and was copied before it read the log again, counts once",
    arguments: Way.allCases)
  func copiedAfter(way: Way) async throws {
    var world = try await World(2)
    let id = try world[1].insert("Item", ["title": .string("a"), "stock": .integer(5)])
    try await world.settle()
    try await leave(world[0], way)
    try await comeBack(world[0])
    try count(id, 14, on: world[0])
    let copy = try await copy(of: world[0], world)
    try await world[0].sync()
    let report = try await copy.sync()
    #expect(report.push.objects == 0, "all that it has is in the zone")
    world.replicas.append(copy)
    try await expectStock(19, of: id, world)
    let told = try world.replicas.flatMap { try $0.conflicts }
    #expect(told == [])
  }

  @Test("A store that came back and counted on what the zone has sends the count alone")
  func offersNoTotal() async throws {
    let world = try await World(2)
    let id = try world[1].insert("Item", ["title": .string("a"), "stock": .integer(5)])
    try await world.settle()
    try await leave(world[0])
    try await comeBack(world[0])
    try count(id, 14, on: world[0])
    let report = try await world[0].sync()
    #expect(report.push.changeSets == 1)
    try await expectStock(19, of: id, world)
  }

  @Test("What was made since it left is told with its count")
  func madeMeanwhile() async throws {
    let world = try await World(2)
    try world[0].insert("Item", ["stock": .integer(10)])
    try await world.settle()
    try await leave(world[0])
    let id = try world[0].insert("Item", ["stock": .integer(4)])
    try count(id, 3, on: world[0])
    try await comeBack(world[0])
    try await expectStock(7, of: id, world)
  }

  @Test("Of an object that both sides made under one identity, the later total stands")
  func madeTwice() async throws {
    let world = try await World(2)
    try world[0].insert("Item", ["stock": .integer(10)])
    try await world.settle()
    try await leave(world[0])
    let id = UUID()
    try world[0].insert("Item", ["stock": .integer(4)], identity: id)
    try count(id, 3, on: world[0])
    try world[1].insert("Item", ["stock": .integer(20)], identity: id)
    try await world[1].sync()
    try await comeBack(world[0])
    try await expectStock(20, of: id, world)
  }

  @Test("In a zone that began anew since it left, the later total stands")
  func renewed() async throws {
    let world = try await World(2)
    let id = try world[1].insert("Item", ["stock": .integer(10)])
    try await world.settle()
    try await leave(world[0])
    try count(id, 3, on: world[0])
    world.zone.renew()
    try count(id, 5, on: world[1])
    try await world[1].sync()
    try await comeBack(world[0])
    try await world.settle()
    #expect(try world[0].value(id, "stock") == world[1].value(id, "stock"))
  }

  @Test("Counts whose saves history has no more are one, and count once")
  func purgedHistory() async throws {
    let world = try await World(2)
    let id = try world[1].insert("Item", ["title": .string("a"), "stock": .integer(10)])
    try await world.settle()
    try await leave(world[0])
    for _ in 0..<20 { try count(id, 1, on: world[0]) }
    func rows() throws -> SQLiteValue? {
      try world[0].store.read { try $0.connection.scalar("SELECT COUNT(*) FROM ZDL_DELTA") }
    }
    #expect(try rows() == .integer(20))
    _ = try world[0].store.deleteHistory(before: world[0].store.currentHistoryToken())
    #expect(try rows() != .integer(20))
    try count(id, 1, on: world[0])
    _ = try world[0].store.deleteHistory(before: world[0].store.currentHistoryToken())
    #expect(try [.integer(1), .integer(2)].contains(rows()))
    #expect(try SyncEngine.check(world[0].store).findings == [])
    try count(id, 3, on: world[0])
    try count(id, 100, on: world[1])
    try await world[1].sync()
    try await comeBack(world[0])
    try await expectStock(134, of: id, world)
  }

  @Test("Another zone gets the total, and the store keeps nothing of the one before")
  func otherZone() async throws {
    let world = try await World(1)
    let id = try world[0].insert("Item", ["stock": .integer(10)])
    try await world.settle()
    try await leave(world[0])
    try count(id, 3, on: world[0])
    let other = try await World(1)
    let moved = try await TestReplica(
      "moved", zone: other.zone, clock: other.clock, file: world[0].store.url)
    let rows = try moved.store.read { try $0.connection.scalar("SELECT COUNT(*) FROM ZDL_DELTA") }
    #expect(rows == .integer(0))
    try await moved.sync()
    try await other[0].sync()
    #expect(try other[0].value(id, "stock") == .integer(13))
  }
}
