import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// What the check of a store says of single kinds of damage: the table, the row, what is wrong and what to do.
struct StoreCheckTests {
  /// A store that syncs, with something pending.
  private func store(_ directory: TemporaryDirectory) async throws -> PersistentStore {
    let item = EntityDescription("Item")
    item.properties = [
      AttributeDescription("name", .string), AttributeDescription("small", .integer16),
      AttributeDescription("stock", .integer64, conflictPolicy: .counter),
      RelationshipDescription("above", to: "Item", inverse: "below"),
      RelationshipDescription("below", to: "Item", inverse: "above", toMany: true),
    ]
    let store = try PersistentStore.open(
      url: directory.file("items.sqlite"), model: ManagedObjectModel(entities: [item]))
    let zone = MemoryZone()
    try SyncEngine.enroll(
      store: store, server: MemoryZone.url, zone: zone.name, info: try await zone.zoneInfo())
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    let objects = try (0..<3).map { index in
      let object = try context.insert(entityNamed: "Item")
      try object.setValue("item \(index)", forKey: "name")
      try object.setValue(Int64(5), forKey: "stock")
      return object
    }
    try objects[1].setValue(objects[0], forKey: "above")
    try context.save()
    let engine = SyncEngine(store: store, transport: zone)
    _ = try await engine.sync()
    await engine.close()
    try objects[0].setValue(Int64(7), forKey: "stock")
    context.delete(objects[2])
    try context.save()
    #expect(try SyncEngine.check(store).findings == [])
    return store
  }

  private func damage(_ store: PersistentStore, _ sql: String) throws {
    // As a disk does it, which knows no rules.
    _ = try store.write(TransactionInfo()) {
      try $0.connection.execute(
        "PRAGMA ignore_check_constraints = ON; \(sql); PRAGMA ignore_check_constraints = OFF")
    }
  }

  @Test(
    "Each kind of damage is named with its table, its row and what to do",
    arguments: [
      ("UPDATE ZITEM SET ZNAME = x'ff' WHERE Z_PK = 2", "ZITEM", "Z_PK 2"),
      ("UPDATE ZITEM SET ZNAME = CAST(x'41ff' AS TEXT) WHERE Z_PK = 2", "ZITEM", "UTF-8"),
      ("UPDATE ZITEM SET ZSMALL = 40000 WHERE Z_PK = 1", "ZITEM", "out of the range"),
      ("UPDATE ZITEM SET ZABOVE = 99 WHERE Z_PK = 2", "ZITEM", "is not there"),
      ("UPDATE ZITEM SET Z_ENT = 9 WHERE Z_PK = 2", "ZITEM", "no entity"),
      ("UPDATE ZITEM SET ZSTOCK = 9 WHERE Z_PK = 1", "ZDL_DELTA", "what was added"),
      ("DELETE FROM ZDL_GRAVE", "ZDL_GRAVE", "is not kept"),
      ("UPDATE ZDL_GRAVE SET row = x'00'", "ZDL_GRAVE", "cannot be read"),
      ("UPDATE ACHANGE SET ZTRANSACTIONID = 1 WHERE Z_PK = 5", "ACHANGE", "Z_PK 5"),
      ("DELETE FROM ZDL_TRANSACTION WHERE number = 2", "ATRANSACTION", "Z_PK 2"),
      ("UPDATE ZDL_IDENTITY SET count = 7", "ZDL_IDENTITY", "never given out"),
      ("UPDATE ZDL_REPLICA SET cursor = 7", "ZDL_REPLICA", "cursor"),
      ("UPDATE ZDL_CHAIN SET chain = randomblob(16)", "ZDL_REPLICA", "another chain"),
      ("DELETE FROM ZDL_STORE WHERE key = 'syncing'", "ZDL_STORE", "syncs"),
      ("DROP TABLE ZDL_KEPT", "ZDL_KEPT", "missing"),
      ("DELETE FROM Z_METADATA", "Z_METADATA", "0 rows"),
    ])
  func named(sql: String, table: String, words: String) async throws {
    let directory = try TemporaryDirectory()
    let store = try await store(directory)
    try damage(store, sql)
    let findings = try SyncEngine.check(store).findings
    #expect(
      findings.contains {
        $0.table == table && $0.message.contains(words) && !$0.suggestion.isEmpty
      },
      "\(findings.map(\.message))")
  }

  @Test("A definition that a writer cannot read is found by a check that only reads")
  func definition() async throws {
    let directory = try TemporaryDirectory()
    let store = try await store(directory)
    try damage(
      store,
      """
      PRAGMA writable_schema = ON;
      UPDATE sqlite_master SET sql = replace(sql, 'transaction_number > 0', 'transaction_numbmr > 0')
      WHERE name = 'ZDL_DELTA'; PRAGMA writable_schema = OFF
      """)
    store.close()
    let url = directory.file("items.sqlite")
    let looking = try PersistentStore.open(url: url, options: .inspecting(url))
    let finding = try #require(
      try SyncEngine.check(looking).findings.first { $0.table == "ZDL_DELTA" })
    #expect(finding.weight == .damage && finding.message.contains("transaction_numbmr"))
  }

  @Test("Many rows that break one rule are one finding, with how many there are")
  func many() async throws {
    let directory = try TemporaryDirectory()
    let store = try await store(directory)
    try damage(store, "UPDATE ZITEM SET Z_OPT = NULL")
    let finding = try #require(try store.check().findings.first)
    #expect(finding.count == 2 && finding.message.contains("Z_PK 1; Z_PK 2"))
  }

  @Test("A pending object with the greatest key is no trap, and the check names it")
  func greatestPendingKey() async throws {
    let directory = try TemporaryDirectory()
    let store = try await store(directory)
    try damage(
      store,
      """
      INSERT INTO ZDL_PENDING VALUES (1, 9223372036854775807, 1, CAST('{"whole":"insert",
      "wholeTransaction":1,"edits":[]}' AS BLOB))
      """)
    #expect(try SyncEngine.status(of: store).pending.objects == 2)
    #expect(try SyncEngine.check(store).findings.contains { $0.table == "ZDL_PENDING" })
  }

  @Test("A transaction with a number that was never given out does not keep a push going for ever")
  func numberAhead() async throws {
    let directory = try TemporaryDirectory()
    let store = try await store(directory)
    try damage(store, "UPDATE ZDL_TRANSACTION SET number = 1 << 40 WHERE number = 2")
    let engine = SyncEngine(store: store, transport: MemoryZone())
    await #expect(throws: StoreError.self) { try await engine.push() }
    await engine.close()
    #expect(try SyncEngine.check(store).findings.contains { $0.table == "ZDL_TRANSACTION" })
  }

  @Test("Runs of more objects than a change set has are no change set in flight")
  func endlessRuns() async throws {
    let directory = try TemporaryDirectory()
    let store = try await store(directory)
    let runs = [KeyRun(entity: 1, first: 1, count: .max)].bytes.map { String(format: "%02x", $0) }
    try damage(
      store, "INSERT INTO ZDL_OUTBOX VALUES (2, 2, 1, 1, x'\(runs.joined())', x'00')")
    #expect(try SyncEngine.check(store).findings.contains { $0.table == "ZDL_OUTBOX" })
    let zone = MemoryZone()
    let engine = SyncEngine(store: store, transport: zone)
    await #expect(throws: SyncError.self) { try await engine.push() }
    await engine.close()
  }

  @Test(
    "A row that says another entity than the object has that is asked for has a place for each property"
  )
  func otherEntity() throws {
    let plain = EntityDescription("Plain")
    let wide = EntityDescription("Wide")
    wide.properties = (0..<9).map { AttributeDescription("p\($0)", .string) }
    let root = EntityDescription("Root")
    root.subentities = [plain, wide]
    let store = try PersistentStore.open(
      url: nil, model: ManagedObjectModel(entities: [root, plain, wide]))
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    try context.insert(entityNamed: "Wide").setValue("x", forKey: "p8")
    try context.save()
    let numbers = (store.schema.entityNumber(of: plain), store.schema.entityNumber(of: wide))
    try damage(store, "UPDATE ZROOT SET Z_ENT = \(numbers.0)")
    let row = try store.read { try $0.row(ObjectKey(entity: numbers.1, key: 1)) }
    #expect(row?.values.count == 9)
  }
}
