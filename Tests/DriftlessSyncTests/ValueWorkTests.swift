import CSQLite
import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation
import TestSupport
import Testing

@testable import DriftlessSQLite
@testable import DriftlessSync

/// What a download of many values costs, by the work of statements.
@Suite("The work of large values")
struct ValueWorkTests {
  /// What the statements of a store's connections have done so far, in instructions of SQLite's machine.
  private static func work(_ store: PersistentStore) throws -> Int64 {
    try sum(store) { Int64(sqlite3_stmt_status($0, SQLITE_STMTSTATUS_VM_STEP, 0)) }
  }

  /// What is counted of each statement of a store's connections.
  private static func sum(
    _ store: PersistentStore, _ count: (OpaquePointer) -> Int64
  ) throws -> Int64 {
    func sum(_ connection: SQLiteConnection) -> Int64 {
      var sum: Int64 = 0
      var statement = sqlite3_next_stmt(connection.handle, nil)
      while let current = statement {
        sum += count(current)
        statement = sqlite3_next_stmt(connection.handle, current)
      }
      return sum
    }
    var all = try store.read { sum($0.connection) }
    let info = TransactionInfo(author: nil, contextName: nil)
    _ = try store.write(info) { all += sum($0.connection) }
    return all
  }

  /// The work of a download of so many values, beside as many objects that wait to be sent.
  private static func download(_ count: UInt64) async throws -> (work: Int64, transactions: Int64) {
    let shop = try await ValueShop(2, firstUse: [1])
    for seed in 1...count {
      try shop[0].insert("Item", ["blob": .data(ValueShop.bytes(1500, seed))])
    }
    try await shop.syncAll()
    for seed in 1...count { try shop[1].insert("Item", ["title": .string("\(seed)")]) }
    func transactions() throws -> Int64 {
      let count = try shop[1].store.read {
        try $0.connection.scalar("SELECT count(*) FROM ATRANSACTION")
      }
      guard case .integer(let number)? = count else { return 0 }
      return number
    }
    let before = try (work(shop[1].store), transactions())
    let report = try await shop[1].engine.downloadAll()
    #expect(report.values == Int(count))
    return (try work(shop[1].store) - before.0, try transactions() - before.1)
  }

  /// How often a store's connections have run statements with some words in them.
  private static func runs(_ store: PersistentStore, _ words: String) throws -> Int {
    let runs = try sum(store) { statement in
      guard let text = sqlite3_sql(statement), String(cString: text).contains(words) else {
        return 0
      }
      return Int64(sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0))
    }
    return Int(runs)
  }

  /// How often entries of a push in parts are read out of those that wait, and how many parts there are. Each comes with a page of its
  /// own, and names large values.
  private static func pulledParts(_ values: UInt64) async throws -> (reads: Int, parts: Int) {
    let clock = ManualClock(milliseconds: 1_800_000_000_000)
    let zone = MemoryZone(clock: clock)
    var options = SyncOptions()
    options.largeValueBytesMin = 1000
    options.partObjectsMax = 1
    options.pullBytesMax = 1
    let first = try await TestReplica("first", zone: zone, clock: clock, options: options)
    let second = try await TestReplica("second", zone: zone, clock: clock, options: options)
    try first.save { context in
      for seed in 1...values {
        let item = try context.insert(entityNamed: "Item")
        try item.setValue(ValueShop.bytes(1500, seed), forKey: "blob")
      }
    }
    try await first.sync()
    try await second.sync()
    #expect(try second.export == first.export)
    #expect(try SyncEngine.check(second.store).isSound)
    return (try runs(second.store, ", frame FROM ZDL_STAGED"), Int(zone.head))
  }

  @Test("A damaged number of a part that waits is no count of those before it")
  func damagedNumber() async throws {
    let replica = try await ValueShop(1)[0]
    try await replica.sync()
    try replica.write { transaction in
      for sequence: Int64 in [1, 1 << 62] {
        try transaction.connection.run(
          "INSERT INTO ZDL_STAGED VALUES (?, 1, ?, 0, ?)",
          .integer(sequence), .blob(Data(count: LogChain.size)), .blob(Data(count: 5)))
      }
      var tally = StagedTally()
      try tally.update(transaction.connection)
      #expect(tally.bytes == 10)
      try transaction.connection.execute("DELETE FROM ZDL_STAGED")
    }
  }

  @Test("The parts of a push are read as often each, however many there are")
  func parts() async throws {
    let few = try await Self.pulledParts(8)
    let many = try await Self.pulledParts(32)
    #expect(few.parts >= 8 && many.parts >= 32 && few.reads > 0)
    #expect(
      many.reads * few.parts <= few.reads * many.parts * 5 / 4,
      "\(few.reads) reads of \(few.parts) parts, \(many.reads) of \(many.parts)")
  }

  /// How many statements a page costs that edits three properties of some objects, beside one that names a large value or none.
  private static func edited(_ isNamed: Bool) async throws -> Int {
    let shop = try await ValueShop(2)
    let ids = try (0..<40).map { number in
      try shop[0].insert("Item", ["title": .string("\(number)")])
    }
    try await shop.syncAll()
    for id in ids {
      try shop[0].set(
        id, ["title": .string("later"), "tag": .string("later"), "blob": .data(Data([1, 2]))])
    }
    try shop[0].insert("Item", ["blob": .data(ValueShop.bytes(isNamed ? 1500 : 15))])
    try await shop[0].sync()
    let before = try runs(shop[1].store, "ZITEM")
    try await shop[1].sync()
    #expect(try shop[1].export == shop[0].export)
    return try runs(shop[1].store, "ZITEM") - before
  }

  @Test("A page that names a large value reads no row for each of its cells")
  func rows() async throws {
    let (plain, named) = (try await Self.edited(false), try await Self.edited(true))
    // A row each, since a photo may be what another object has now.
    #expect(named - plain <= 40 + 10, "\(named) beside a name, \(plain) beside none")
  }

  @Test("A download of many values does as much for each as one of few")
  func linear() async throws {
    let few = try await Self.download(60)
    let many = try await Self.download(240)
    #expect(few.work > 0)
    #expect(
      Double(many.work) / Double(few.work) < 6, "\(few.work) for 60, \(many.work) for 240")
    #expect(many.transactions <= 240 / 16, "\(many.transactions) transactions")
  }
}
