import Driftless
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// What is set aside is tried again: once it is another log's, and once it still cannot be applied.
struct ParkedAgainTests {
  @Test(
    "What was struck by an entry of a log that is gone is set by another entry under its number")
  func struckElsewhere() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let model = shopModel(withNewerParts: true)
    let first = try await TestReplica("first", zone: zone, clock: clock, model: model)
    let directory = try TemporaryDirectory()
    let file = directory.file("older.sqlite")
    let older = try await TestReplica("older", zone: zone, clock: clock, file: file)
    let third = try await TestReplica(
      "third", zone: zone, clock: clock, model: shopModel(withNewerParts: true))
    try first.insert("Shelf", ["name": .string("kept")])
    for replica in [first, third, older] { try await replica.sync() }
    let backup = zone.log
    let lost = try first.insert("Item", ["colour": .string("red")])
    try await first.sync()
    try first.set(lost, ["colour": .string("green")])
    try await first.sync()
    try await older.sync()
    zone.putBack(backup)
    let other = try third.insert("Item", ["colour": .string("blue")])
    try await third.sync()
    try await older.sync()
    await older.engine.close()
    older.store.close()
    let migrated = try await TestReplica(
      "older", zone: zone, clock: clock, model: shopModel(withNewerParts: true), enrolled: false,
      file: file)
    try await migrated.sync()
    #expect(try migrated.value(other, "colour") == .string("blue"))
    #expect(try SyncEngine.parked(of: migrated.store).isEmpty)
  }

  @Test("What cannot be applied stays set aside when it is tried again, and stops nothing else")
  func notApplicable() async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let first = try await TestReplica("first", zone: zone, clock: clock)
    let second = try await TestReplica("second", zone: zone, clock: clock)
    // Somebody's own rule in the file.
    _ = try second.store.write(TransactionInfo()) {
      try $0.connection.execute(
        """
        CREATE TRIGGER own BEFORE INSERT ON ZITEM WHEN NEW.ZTITLE = 'bad'
        BEGIN SELECT RAISE(ABORT, 'no bad titles here'); END
        """)
    }
    let bad = try first.insert("Item", ["title": .string("bad")])
    try await first.sync()
    try await second.sync()
    #expect(try SyncEngine.parked(of: second.store).map(\.code) == ["not-applicable"])
    for number in 0..<2 {
      #expect(try SyncEngine.retryParked(of: second.store) == 1)
      let good = try first.insert("Item", ["title": .string("good")])
      try second.insert("Shelf", ["name": .string("\(number)")])
      try await first.sync()
      try await second.sync()
      #expect(try second.exists(good))
      #expect(try second.status.pending.objects == 0)
      #expect(try second.status.parked == 1)
    }
    _ = try second.store.write(TransactionInfo()) {
      try $0.connection.execute("DROP TRIGGER own")
    }
    #expect(try SyncEngine.retryParked(of: second.store) == 1)
    try await second.sync()
    #expect(try second.exists(bad))
    #expect(try SyncEngine.parked(of: second.store).isEmpty)
  }
}
