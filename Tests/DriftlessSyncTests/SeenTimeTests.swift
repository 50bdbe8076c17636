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
      try transaction.connection.perform("UPDATE ZDL_DELETED SET noted = ?", [.real(time)])
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

  @Test("A store of an earlier version gets the dates of its deletes with its next sync")
  func upgraded() async throws {
    let world = try await world()
    _ = try world[0].store.write(TransactionInfo(author: "sync", kind: .imported)) { transaction in
      try transaction.setSetting(SeenTime.setting, nil)
      try transaction.setSetting(EngineTables.versionSetting, .integer(14))
      try transaction.connection.execute(
        """
        ALTER TABLE ZDL_DELETED RENAME TO ZDL_NOTED;
        CREATE TABLE ZDL_DELETED(
          identity BLOB PRIMARY KEY, entity INTEGER NOT NULL, key INTEGER NOT NULL,
          maker INTEGER NOT NULL, time INTEGER NOT NULL, has_come INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO ZDL_DELETED SELECT identity, entity, key, maker, time, has_come FROM ZDL_NOTED;
        DROP TABLE ZDL_NOTED
        """)
    }
    await world[0].restart()
    try await world[0].sync()
    #expect(try count("ZDL_DELETED", world[0]) == .integer(1))
    let dated = try world[0].store.read {
      try $0.connection.scalar("SELECT count(*) FROM ZDL_DELETED WHERE noted > 0")
    }
    #expect(dated == .integer(1))
    #expect(try SyncEngine.check(world[0].store).findings == [])
  }
}
