import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Numbers in a file that no store comes to by itself, and masks that another program wrote.
struct DamagedNumberTests {
  private let all = PersistentHistoryChangeRequest.fetchHistory(
    after: nil as PersistentHistoryToken?)

  private func store(_ damage: String) throws -> PersistentStore {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    let key = try store.insert("Item")
    try store.update(key, "name", .string("n"))
    _ = try store.write(TransactionInfo()) { try $0.connection.execute(damage) }
    return store
  }

  @Test(
    "L4 Keys and numbers at the end of what there is give an error that says so, and the check names it",
    arguments: ["1", "16001", "16002", "16003"], [Int64.max, Int64.max - 1, 1 << 62])
  func greatest(entity: String, last: Int64) throws {
    let store = try store("UPDATE Z_PRIMARYKEY SET Z_MAX = \(last) WHERE Z_ENT = \(entity)")
    #expect {
      try store.insert("Item", info: TransactionInfo(author: "someone new"))
    } throws: {
      let error = $0 as? StoreError
      return error?.code == .damaged && error?.message.contains("Z_PRIMARYKEY") == true
    }
    #expect(try store.check().findings.contains { $0.message.contains("\(last)") })
    #expect(try store.fetchHistory(all).count == 2)
  }

  @Test(
    "L4 A row that says that it was written more often than can be counted is an error that names it",
    arguments: [Int64.max, Int64.max - 1, 1 << 62])
  func versions(version: Int64) throws {
    let store = try store("UPDATE ZITEM SET Z_OPT = \(version)")
    let item = try #require(store.model.entitiesByName["Item"])
    let key = ObjectKey(entity: store.schema.entityNumber(of: item), key: 1)
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    let object = try #require(
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")).first)
    object["name"] = "other"
    let save: () throws -> Void = { try context.save() }
    let update: () throws -> Void = { try store.update(key, "name", .string("other")) }
    for work in [save, update] {
      #expect {
        try work()
      } throws: {
        let error = $0 as? StoreError
        return error?.code == .damaged && error?.message.contains("Row 1 of Item") == true
          && error?.message.contains("Z_OPT") == true
      }
    }
    #expect(
      try store.check().findings.contains {
        $0.table == "ZITEM" && $0.message.contains("Z_OPT")
      })
    let stored = try store.read { try $0.connection.scalar("SELECT Z_OPT FROM ZITEM") }
    #expect(stored == .integer(version))
    // Reading and deleting go on.
    context.rollback()
    context.delete(object)
    try context.save()
  }

  @Test(
    "A file that names none of its entities is not migrated, by any way, and stays as it is",
    arguments: [0, 1, 2])
  func namelessEntities(way: Int) throws {
    let folder = try TemporaryDirectory()
    let (url, old) = (folder.file("a.sqlite"), try Shop.model())
    let store = try PersistentStore.open(url: url, model: old)
    try store.update(try store.insert("Item"), "name", .string("n"))
    store.close()
    do {
      let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
      defer { connection.close() }
      try connection.execute("UPDATE Z_PRIMARYKEY SET Z_NAME = ''")
    }
    let new = try old.copy()
    let item = try #require(new.entitiesByName["Item"])
    item.properties.append(AttributeDescription("rank", .string))
    let mapping = try MappingModel.inferredMappingModel(
      forSourceModel: old, destinationModel: new)
    let error = #expect(throws: StoreError.self) {
      switch way {
      case 0: try PersistentStore.migrate(at: url, to: new)
      case 1: try PersistentStore.migrate(at: url, to: new, mapping: mapping)
      default:
        let options = StoreOptions(migratesAutomatically: true, defersMigrationCleanup: true)
        try PersistentStore.open(url: url, model: new, options: options).close()
      }
    }
    #expect(error?.code == .damaged, "\(String(describing: error))")
    #expect(error?.message.contains("has no number for the entity ") == true)
    let connection = try SQLiteConnection(path: url.path, mode: .readOnly)
    defer { connection.close() }
    #expect(try connection.scalar("SELECT ZNAME FROM ZITEM") == .text("n"))
  }

  @Test("A row of Core Data's without a version is written as before")
  func noVersion() throws {
    let store = try store("UPDATE ZITEM SET Z_OPT = NULL")
    let item = try #require(store.model.entitiesByName["Item"])
    let key = ObjectKey(entity: store.schema.entityNumber(of: item), key: 1)
    try store.update(key, "name", .string("other"))
    #expect(try store.values(key)?["name"] == .string("other"))
  }

  @Test("L4 A largest key below zero is none: keys begin at 1")
  func negative() throws {
    let store = try store("UPDATE Z_PRIMARYKEY SET Z_MAX = -1 WHERE Z_NAME = 'Shelf'")
    #expect(try store.check().isSound)
    #expect(try store.insert("Shelf").key == 1)
  }

  @Test("L4 A last change before the first is an error, whoever reads, and the check names it")
  func range() throws {
    // Past the schema's own rule, as a disk does it.
    let store = try store(
      """
      PRAGMA ignore_check_constraints = ON;
      UPDATE ZDL_TRANSACTION SET last_change = 0 WHERE number = 2;
      PRAGMA ignore_check_constraints = OFF
      """)
    #expect(throws: StoreError.self) { try store.fetchHistory(all) }
    #expect(throws: StoreError.self) {
      try store.read { try $0.forEachChange(after: 0) { _, _, _, _ in } }
    }
    #expect(try store.check().findings.contains { $0.message.contains("transaction 2") })
  }

  @Test("L3 A row that says it is of an entity of another table is an error, and no other object")
  func strangeEntity() throws {
    let store = try store(
      "UPDATE ZITEM SET Z_ENT = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Shelf')")
    let item = try #require(store.schema.model.entitiesByName["Item"])
    let key = ObjectKey(entity: store.schema.entityNumber(of: item), key: 1)
    #expect {
      try store.read { try $0.row(key) }
    } throws: { ($0 as? StoreError)?.code == .damaged }
    #expect(try !store.check().isSound)
  }

  @Test("L4 A token of the least number purges nothing")
  func token() throws {
    let store = try store("")
    let token = PersistentHistoryToken(numbers: [store.identifier: .min])
    #expect(try store.deleteHistory(before: token) == 0)
    #expect(try store.fetchHistory(.fetchHistory(after: token)).count == 2)
  }

  @Test("S25 Of an update that Core Data recorded, any property may have changed")
  func adopted() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let key = try store.insert("Item")
    try store.update(key, "name", .string("n"))
    var plist = store.metadata
    store.close()
    // What a file is that nobody here has written yet.
    plist.values["DriftlessFormat"] = nil
    let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
    let tables = try connection.rows("SELECT name FROM sqlite_master WHERE name GLOB 'ZDL_*'")
    for row in tables {
      if case .text(let name) = row[0] {
        try connection.execute("DROP TABLE IF EXISTS \(name)")
      }
    }
    try connection.run("UPDATE Z_METADATA SET Z_PLIST = ?", .blob(plist.plist()))
    connection.close()
    let adopted = try PersistentStore.open(url: url, model: Shop.model())
    try adopted.update(key, "name", .string("ours"))
    let updates = try adopted.fetchHistory(all).flatMap { $0.changes ?? [] }
      .filter { $0.changeType == .update }
    #expect(
      updates[0].updatedProperties?.isSuperset(of: ["name", "count", "shelf", "tags"]) == true)
    #expect(updates[1].updatedProperties == ["name"])
    try adopted.read { transaction throws in
      var masks: [Int] = []
      try transaction.forEachChange(after: 0) { header, type, _, mask in
        if type == .update { masks.append(mask?.count ?? 0) }
        #expect(header.name != 0)
      }
      #expect(masks[0] == 11 && masks[1] == 1)
    }
  }
}
