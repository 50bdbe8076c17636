import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Files of Core Data's, and files that look like them, with something in the way.
struct CoreDataObstacleTests {
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("shop.sqlite")
  }

  @Test("A file is not read as immutable while a log beside it has more than the file")
  func logBeside() throws {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    try store.insert("Item")
    // As a copy of the two files from a running application.
    let copy = directory.file("copy.sqlite")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: url.path + suffix, toPath: copy.path + suffix)
    }
    store.close()
    #expect {
      try PersistentStore.open(url: copy, options: StoreOptions(isImmutable: true))
    } throws: {
      let error = $0 as? StoreError
      return error?.code == .cannotOpen && error?.message.contains("copy.sqlite-wal") == true
    }
    let read = try PersistentStore.open(url: copy, options: StoreOptions(isReadOnly: true))
    #expect(try read.values(ObjectKey(entity: 1, key: 1)) != nil)
    read.close()
    // A log that is done with is no obstacle.
    try Data().write(to: URL(fileURLWithPath: url.path + "-wal"))
    try PersistentStore.open(url: url, options: StoreOptions(isImmutable: true)).close()
  }

  @Test("Rows with an entity number that the model does not have are counted by table")
  func unknownRows() throws {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    try store.insert("Item")
    #expect(try store.unknownRows() == [])
    _ = try store.write(TransactionInfo()) {
      try $0.connection.execute(
        "INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT) VALUES (8, 77, 1), (9, 77, 1), (10, NULL, 1)")
    }
    let unknown = try store.unknownRows()
    #expect(unknown.map(\.entity) == [nil, 77] && unknown.map(\.count) == [1, 2])
    #expect(unknown[1].text.contains("ZITEM has 2 rows with the entity number 77"))
  }

  @Test("A file without history migrates, though its model preserved values of deleted objects")
  func migrationWithoutHistory() throws {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    try store.insert("Tool", ["serial": .string("s")])
    store.close()
    try StrippedFile.make(at: url, history: false)
    // Taken over, the file gets a history whose columns for kept values are then taken away.
    let plain = try Shop.model().copy()
    plain.entitiesByName["Tool"]?.attributesByName["serial"]?
      .preservesValueInHistoryOnDeletion = false
    let tag = try #require(plain.entitiesByName["Tag"])
    tag.properties = tag.ownProperties + [AttributeDescription("color", .string)]
    try PersistentStore.open(url: url, model: Shop.model()).close()
    let raw = try SQLiteConnection(path: url.path, mode: .readWrite)
    try raw.execute("ALTER TABLE ACHANGE DROP COLUMN ZTOMBSTONE0")
    raw.close()
    let migrated = try PersistentStore.open(
      url: url, model: plain, options: StoreOptions(migratesAutomatically: true))
    #expect(try migrated.check().findings == [])
  }

  @Test("A migration leaves the masks that Core Data recorded as they are")
  func adoptedMasks() throws {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let item = try store.insert("Item")
    try store.update(item, "name", .string("n"))
    store.close()
    try StrippedFile.make(
      at: url, "UPDATE ACHANGE SET ZCOLUMNS = x'FF81' WHERE ZCHANGETYPE = 1")
    let adopted = try PersistentStore.open(url: url, model: Shop.model())
    let all = PersistentHistoryChangeRequest.fetchHistory(after: nil as PersistentHistoryToken?)
    let updated = try adopted.fetchHistory(all).last?.changes?.first?.updatedProperties
    #expect(updated?.contains("price") == true, "any property may have changed")
    adopted.close()
    let wider = try Shop.model().copy()
    let entity = try #require(wider.entitiesByName["Item"])
    entity.properties = entity.ownProperties + [AttributeDescription("color", .string)]
    try PersistentStore.migrate(at: url, to: wider)
    let raw = try SQLiteConnection(path: url.path, mode: .readOnly)
    #expect(
      try raw.rows("SELECT ZCOLUMNS FROM ACHANGE WHERE ZCHANGETYPE = 1")
        == [[.blob(Data([0xFF, 0x81]))]])
  }

  @Test(
    "A view in the place of a table is refused by name before it is read",
    arguments: ["ZITEM", "Z_METADATA", "Z_PRIMARYKEY"])
  func view(table: String) throws {
    try PersistentStore.open(url: url, model: Shop.model()).close()
    try StrippedFile.make(
      at: url,
      """
      ALTER TABLE \(table) RENAME TO ZAWAY;
      CREATE VIEW \(table) AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
      SELECT a.* FROM ZAWAY a, n
      """)
    for options in [StoreOptions(), StoreOptions(isImmutable: true)] {
      #expect(throws: StoreError.self) {
        try PersistentStore.open(url: url, model: Shop.model(), options: options)
      }
    }
  }

  @Test(
    "A view in the place of a table is refused in a file of the library's own as well; other views are nobody's",
    arguments: ["ZITEM", "ACHANGE", "ZDL_HISTORY_READER"])
  func ownView(table: String) throws {
    try PersistentStore.open(url: url, model: Shop.model()).close()
    let raw = try SQLiteConnection(path: url.path, mode: .readWrite)
    try raw.execute("CREATE VIEW ZREPORT AS SELECT COUNT(*) FROM ZITEM")
    try PersistentStore.open(url: url).close()
    try raw.execute(
      """
      PRAGMA legacy_alter_table = ON;
      ALTER TABLE \(table) RENAME TO AWAY;
      CREATE VIEW \(table) AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
      SELECT a.* FROM AWAY a, n
      """)
    raw.close()
    for options in [StoreOptions(), StoreOptions(isReadOnly: true)] {
      #expect {
        try PersistentStore.open(url: url, options: options)
      } throws: {
        ($0 as? StoreError)?.message.contains("a view in the place of the table \(table)") == true
      }
    }
  }

  @Test("Metadata of hundreds of megabytes are refused by their size, and not read")
  func hugeMetadata() throws {
    try PersistentStore.open(url: url, model: Shop.model()).close()
    let raw = try SQLiteConnection(path: url.path, mode: .readWrite)
    try raw.execute("UPDATE Z_METADATA SET Z_PLIST = zeroblob(200000000)")
    raw.close()
    #expect {
      try PersistentStore.open(url: url, options: StoreOptions(isReadOnly: true))
    } throws: { ($0 as? StoreError)?.message.contains("200000000") == true }
  }

  @Test("Tables with triggers that tell Core Data's row cache can be written")
  func triggers() throws {
    try PersistentStore.open(url: url, model: Shop.model()).close()
    try StrippedFile.make(
      at: url,
      """
      CREATE TRIGGER T AFTER UPDATE ON ZITEM BEGIN
      SELECT NSCoreDataTriggerUpdateAffectedObjectValue('ZITEM', NEW.Z_ENT, NEW.Z_PK, 'n', 1);
      SELECT NSCoreDataDATriggerUpdatedAffectedObjectValue('ZITEM', 1, NEW.Z_PK, 'n', 1); END
      """)
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let item = try store.insert("Item")
    try store.update(item, "name", .string("n"))
    #expect(try store.values(item)?["name"] == .string("n"))
  }
}
