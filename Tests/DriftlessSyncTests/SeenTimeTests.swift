import Driftless
import DriftlessSQLite
import DriftlessTesting
import Foundation
import Testing

@testable import DriftlessSync

/// Terms are counted in time that a store saw pass.
struct SeenTimeTests {
  private static let day: UInt64 = 86_400_000

  private func count(_ table: String, _ replica: TestReplica) throws -> SQLiteValue? {
    try replica.store.read { try $0.connection.scalar("SELECT count(*) FROM \(table)") }
  }

  /// A replica with an entry that is kept and a delete that the zone never heard of.
  private func world() async throws -> World {
    let world = try await World(1)
    try world[0].insert("Item", ["title": .string("one")])
    try await world[0].sync()
    let item = try world[0].insert("Item", ["title": .string("made and deleted")])
    try world[0].delete(item)
    try await world[0].sync()
    #expect(try count("ZDL_FRAME", world[0]) == .integer(1))
    #expect(try count("ZDL_DELETED", world[0]) == .integer(1))
    return world
  }

  @Test("Entries are kept for 30 days, and deletes for 90")
  func terms() async throws {
    let world = try await world()
    func pass(days: Int) async throws {
      for _ in 0..<days {
        world.clock.advance(milliseconds: Self.day)
        try await world[0].sync()
      }
    }
    try await pass(days: 29)
    #expect(try count("ZDL_FRAME", world[0]) == .integer(1))
    try await pass(days: 2)
    #expect(try count("ZDL_FRAME", world[0]) == .integer(0))
    try await pass(days: 58)
    #expect(try count("ZDL_DELETED", world[0]) == .integer(1))
    try await pass(days: 2)
    #expect(try count("ZDL_DELETED", world[0]) == .integer(0))
  }

  @Test("A step of the zone's clock is a day at most, and none once it is taken back")
  func steps() async throws {
    let world = try await world()
    for _ in 0..<60 {
      // The server's clock, and this host's with it.
      world.clock.advance(milliseconds: 3650 * Self.day)
      try await world[0].sync()
      world.clock.set(milliseconds: world.clock.milliseconds - 3650 * Self.day)
      try await world[0].sync()
    }
    #expect(try count("ZDL_FRAME", world[0]) == .integer(1))
    #expect(try count("ZDL_DELETED", world[0]) == .integer(1))
  }

  @Test("A host that begins in 1970 keeps what it has when its clock is set")
  func noClock() async throws {
    let clock = ManualClock()
    let host = ManualClock(milliseconds: 0)
    let zone = MemoryZone(clock: clock)
    let replica = try await TestReplica("bare", zone: zone, clock: host)
    try replica.insert("Item", ["title": .string("one")])
    try await replica.sync()
    #expect(try count("ZDL_FRAME", replica) == .integer(1))
    host.set(milliseconds: clock.milliseconds)
    try await replica.sync()
    #expect(try count("ZDL_FRAME", replica) == .integer(1))
    host.set(milliseconds: 0)
    try await replica.sync()
    #expect(try count("ZDL_FRAME", replica) == .integer(1))
  }

  @Test(
    "What an earlier program dated by the host's clock begins its term anew",
    arguments: [0.0, 1e12])
  func dated(by time: Double) async throws {
    let world = try await world()
    _ = try world[0].store.write(TransactionInfo(author: "sync", kind: .imported)) { transaction in
      try transaction.setSetting(SeenTime.setting, nil)
      try transaction.connection.perform("UPDATE ZDL_FRAME SET time = ?", [.real(time)])
      try transaction.connection.perform("UPDATE ZDL_DELETED_SINCE SET noted = ?", [.real(time)])
    }
    try await world[0].sync()
    for table in ["ZDL_FRAME", "ZDL_DELETED"] {
      #expect(try count(table, world[0]) == .integer(1))
    }
    for _ in 0..<92 {
      world.clock.advance(milliseconds: Self.day)
      try await world[0].sync()
    }
    for table in ["ZDL_FRAME", "ZDL_DELETED"] {
      #expect(try count(table, world[0]) == .integer(0))
    }
  }

  @Test("A replica to which nothing happens writes nothing")
  func idle() async throws {
    let world = try await World(2)
    try world[0].insert("Item", ["title": .string("one")])
    try await world.settle()
    let url = try #require(world[1].store.url)
    func bytes() throws -> [Data] {
      try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: url.path + $0)) }
    }
    try await world[1].sync()
    let before = try bytes()
    for _ in 0..<4 {
      world.clock.advance(milliseconds: 60_000)
      try await world[1].sync()
      try await world[1].pull()
      #expect(try bytes() == before)
    }
    world.clock.advance(milliseconds: 120_000)
    try await world[1].sync()
    #expect(try bytes() != before, "now and then it is noted that all is well")
    #expect(try world[1].status.lastSync == world[1].store.now)
  }

  @Test("A sync that sent or received something is the last one, however short after another")
  func lastSync() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("one")])
    try await world.settle()
    for number in 0..<3 {
      world.clock.advance(milliseconds: 20_000)
      try world[0].set(id, ["title": .string("\(number)")])
      for replica in world.replicas {
        try await replica.sync()
        #expect(try replica.status.lastSync == replica.store.now, "\(replica.name)")
      }
    }
    world.clock.advance(milliseconds: 20_000)
    try world[1].set(id, ["title": .string("pushed")])
    _ = try await world[1].engine.push()
    #expect(try world[1].status.lastSync == world[1].store.now)
    try await world[0].pull()
    #expect(try world[0].status.lastSync == world[0].store.now)
  }

  private func sql(_ replica: TestReplica, _ text: String) throws {
    _ = try replica.store.write(TransactionInfo(author: "sync", kind: .imported)) {
      try $0.connection.execute(text)
    }
  }

  @Test(
    "What a program writes that knows no dates of deletes has its term from the next sync on",
    arguments: [false, true])
  func otherProgram(isNewer: Bool) async throws {
    let world = try await world()
    if isNewer {
      // A version between had the dates in a column of the table, and its file comes to this one.
      try sql(
        world[0],
        """
        ALTER TABLE ZDL_DELETED ADD COLUMN noted REAL NOT NULL DEFAULT 0;
        DELETE FROM ZDL_DELETED_SINCE; UPDATE ZDL_STORE SET value = 15 WHERE key = 'sync.tables'
        """)
      await world[0].restart()
    }
    try await world[0].sync()
    // As a program of before does it.
    try sql(
      world[0],
      """
      INSERT INTO ZDL_DELETED SELECT randomblob(16), entity, key, maker, time, 0 FROM ZDL_DELETED;
      UPDATE ZDL_STORE SET value = 14 WHERE key = 'sync.tables'
      """)
    await world[0].restart()
    try await world[0].sync()
    for table in ["ZDL_DELETED", "ZDL_DELETED_SINCE"] {
      #expect(try count(table, world[0]) == .integer(2))
    }
    #expect(try SyncEngine.check(world[0].store).findings == [])
    // What such a program lets go of leaves no date behind.
    try sql(
      world[0],
      "DELETE FROM ZDL_DELETED WHERE identity IN (SELECT identity FROM ZDL_DELETED LIMIT 1)")
    try await world[0].sync()
    #expect(try count("ZDL_DELETED_SINCE", world[0]) == .integer(1))
    for _ in 0..<92 {
      world.clock.advance(milliseconds: Self.day)
      try await world[0].sync()
    }
    #expect(try count("ZDL_DELETED", world[0]) == .integer(0))
  }
}
