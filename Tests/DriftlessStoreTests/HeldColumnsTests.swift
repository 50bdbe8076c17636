import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// To-many relationships without inverse, join tables of equal names, and entity numbers: as Core Data lays them out.
struct HeldColumnsTests {
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("desk.sqlite")
  }

  /// Folders that hold papers, of which the papers know nothing; binders are folders.
  private static func model(isOrdered: Bool = false, more: Bool = false) -> ManagedObjectModel {
    let folder = EntityDescription("Folder")
    folder.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "papers", to: "Paper", inverse: nil, toMany: true, isOrdered: isOrdered),
    ]
    let binder = EntityDescription("Binder")
    binder.superentityName = "Folder"
    let paper = EntityDescription("Paper")
    paper.properties = [AttributeDescription("text", .string)]
    if more { paper.properties += [AttributeDescription("pages", .integer32)] }
    return ManagedObjectModel(entities: [folder, binder, paper])
  }

  private static let columns = {
    var options = StoreOptions()
    options.holdsToManyInColumns = true
    return options
  }()

  private static func papers(_ store: PersistentStore) throws -> RelationshipDescription {
    try #require(store.model.entitiesByName["Folder"]?.relationshipsByName["papers"])
  }

  private func held(_ store: PersistentStore, _ folder: ObjectKey) throws -> [Int64] {
    try store.read { try $0.toManyKeys(of: folder, Self.papers(store)).map(\.key) }
  }

  private func add(
    _ store: PersistentStore, _ folder: ObjectKey, _ papers: [ObjectKey]
  ) throws {
    _ = try store.write(TransactionInfo()) { transaction in
      let relationship = try Self.papers(store)
      try transaction.addPairs(relationship, folder, papers)
      let slot = try #require(
        store.schema.entity(numbered: folder.entity)?.layout.index(named: "papers"))
      try transaction.recordUpdate(folder, PropertyMask([slot]))
    }
  }

  @Test("A to-many relationship without inverse is a column of the other table, with an index")
  func column() throws {
    let store = try PersistentStore.open(
      url: url, model: Self.model(isOrdered: true), options: Self.columns)
    let columns = try store.read {
      try $0.connection.rows("SELECT name FROM pragma_table_info('ZPAPER')").map { $0[0] }
    }
    let names = ["ZTEXT", "Z1PAPERS", "Z1_1PAPERS", "Z_FOK_1PAPERS"].map { SQLiteValue.text($0) }
    #expect(Set(columns).isSuperset(of: names), "\(columns)")
    let folder = try store.insert("Folder")
    let binder = try store.insert("Binder")
    let papers = try (0..<3).map { try store.insert("Paper", ["text": .string("\($0)")]) }
    try add(store, folder, [papers[2], papers[0]])
    try add(store, folder, [papers[1]])
    #expect(try held(store, folder) == [3, 1, 2], "in the order in which they came")
    _ = try store.write(TransactionInfo()) {
      try $0.setOrder(Self.papers(store), folder, [papers[0], papers[1], papers[2]])
      try $0.recordUpdate(folder, PropertyMask([1]))
    }
    #expect(try held(store, folder) == [1, 2, 3])
    try add(store, binder, [papers[1]])
    #expect(try held(store, binder) == [2])
    #expect(try held(store, folder) == [1, 3], "one folder holds a paper")
    let last = try #require(
      try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?)).last)
    #expect(
      Set(last.changes?.map(\.changedObjectKey) ?? []) == [folder, binder],
      "the one that lost it has changed as well")
    _ = try store.write(TransactionInfo()) {
      try $0.removePairs(Self.papers(store), binder, [papers[1], papers[0]])
      try $0.recordUpdate(binder, PropertyMask([1]))
    }
    #expect(try held(store, binder) == [] && held(store, folder) == [1, 3])
    #expect(try store.check().findings == [])
    store.close()
    let raw = try SQLiteConnection(path: url.path, mode: .readOnly)
    #expect(
      try raw.rows("SELECT Z1PAPERS, Z1_1PAPERS FROM ZPAPER ORDER BY Z_PK") == [
        [.integer(1), .integer(1)], [.null, .null], [.integer(1), .integer(1)],
      ])
    #expect(
      try raw.scalar("SELECT 1 FROM sqlite_master WHERE name = 'ZPAPER_Z1PAPERS_INDEX'") != nil)
  }

  @Test("A file that has such a column opens for reading and writing, and keeps the layout")
  func file() throws {
    try PersistentStore.open(
      url: url, model: Self.model(), options: Self.columns
    ).close()
    try StrippedFile.make(
      at: url, history: false,
      """
      INSERT INTO ZFOLDER (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1), (2, 2, 1);
      INSERT INTO ZPAPER (Z_PK, Z_ENT, Z_OPT, Z1PAPERS, Z1_1PAPERS)
      VALUES (1, 3, 1, 1, 1), (2, 3, 1, 1, 1), (3, 3, 1, NULL, NULL);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 3
      """)
    let store = try PersistentStore.open(
      url: url, model: Self.model(), options: Self.columns)
    let (folder, binder) = (ObjectKey(entity: 1, key: 1), ObjectKey(entity: 2, key: 2))
    #expect(try held(store, folder) == [1, 2])
    try add(store, binder, [ObjectKey(entity: 3, key: 3)])
    #expect(try held(store, binder) == [3])
    let query = try QueryCompiler(schema: store.schema).compile(
      entity: #require(store.model.entitiesByName["Folder"]),
      predicate: FetchPredicate(format: "papers.@count == 2"))
    var found: [Int64] = []
    try store.read { try $0.forEachRow(of: query) { found.append($0.key.key) } }
    #expect(found == [1])
    #expect(try store.check().findings == [])
    store.close()
    let model = try PersistentStore.open(
      url: url, options: StoreOptions(isReadOnly: true))
    #expect(try held(model, folder) == [1, 2], "the model inside finds them too")
  }

  @Test("The model that tables tell has a relationship for such a column")
  func inferred() throws {
    try PersistentStore.open(
      url: url, model: Self.model(), options: Self.columns
    ).close()
    try StrippedFile.make(
      at: url, history: false,
      """
      INSERT INTO ZFOLDER (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      INSERT INTO ZPAPER (Z_PK, Z_ENT, Z_OPT, Z1PAPERS, Z1_1PAPERS) VALUES (1, 3, 1, 1, 1)
      """)
    let store = try PersistentStore.open(url: url, options: StoreOptions(isImmutable: true))
    #expect(store.modelOrigin == .tables)
    #expect(try held(store, ObjectKey(entity: 1, key: 1)) == [1])
  }

  /// A file of an earlier version: a table of pairs, and no column.
  private func makeOlder() throws {
    try PersistentStore.open(
      url: url, model: Self.model(), options: Self.columns
    ).close()
    let raw = try SQLiteConnection(path: url.path, mode: .readWrite)
    try raw.execute(
      """
      DROP INDEX ZPAPER_Z1PAPERS_INDEX; ALTER TABLE ZPAPER DROP COLUMN Z1PAPERS;
      ALTER TABLE ZPAPER DROP COLUMN Z1_1PAPERS;
      CREATE TABLE Z_1PAPERS (Z_1PAPERSSOURCE INTEGER, Z_3PAPERS INTEGER,
      PRIMARY KEY (Z_1PAPERSSOURCE, Z_3PAPERS));
      INSERT INTO ZFOLDER (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1), (2, 2, 1);
      INSERT INTO ZPAPER (Z_PK, Z_ENT, Z_OPT) VALUES (1, 3, 1), (2, 3, 1);
      INSERT INTO Z_1PAPERS VALUES (1, 1), (1, 2), (2, 2); UPDATE Z_PRIMARYKEY SET Z_MAX = 2
      WHERE Z_ENT < 4
      """)
    raw.close()
  }

  @Test("A store that an earlier version made keeps its table of pairs, and what it holds")
  func older() throws {
    try makeOlder()
    let store = try PersistentStore.open(
      url: url, model: Self.model(), options: Self.columns)
    let (folder, binder) = (ObjectKey(entity: 1, key: 1), ObjectKey(entity: 2, key: 2))
    #expect(try held(store, folder) == [1, 2])
    #expect(try held(store, binder) == [2], "several hold one, as they did")
    let paper = try store.insert("Paper")
    try add(store, binder, [paper])
    #expect(try held(store, binder) == [2, 3])
    store.close()
  }

  @Test(
    "Its migration keeps the table of pairs too, in a new file and in place",
    arguments: [false, true])
  func olderMigrated(inPlace: Bool) throws {
    try makeOlder()
    let store = try PersistentStore.open(
      url: url, model: Self.model(more: true),
      options: StoreOptions(migratesAutomatically: true, defersMigrationCleanup: inPlace))
    #expect(try held(store, ObjectKey(entity: 1, key: 1)) == [1, 2])
    #expect(try held(store, ObjectKey(entity: 2, key: 2)) == [2])
    #expect(!store.schema.holdsInColumns)
  }

  @Test("A migration of a store with the column keeps what it holds", arguments: [false, true])
  func migrated(inPlace: Bool) throws {
    let first = try PersistentStore.open(
      url: url, model: Self.model(isOrdered: true), options: Self.columns)
    let folder = try first.insert("Binder")
    let papers = try (0..<3).map { _ in try first.insert("Paper") }
    try add(first, folder, [papers[2], papers[0], papers[1]])
    first.close()
    let store = try PersistentStore.open(
      url: url, model: Self.model(isOrdered: true, more: true),
      options: StoreOptions(migratesAutomatically: true, defersMigrationCleanup: inPlace))
    #expect(try held(store, folder) == [3, 1, 2])
    #expect(store.schema.holdsInColumns)
    #expect(try store.check().findings == [])
  }

  @Test("Columns of equal names in several join tables are numbered, and found by their digits")
  func numbered() throws {
    func model() -> ManagedObjectModel {
      let asset = EntityDescription("Asset")
      let names = ["Memory", "Moment", "Trip"]
      asset.properties = names.map {
        RelationshipDescription("in\($0)", to: $0, inverse: "assets", toMany: true)
      }
      let owners = names.map { name in
        let entity = EntityDescription(name)
        entity.properties = [
          RelationshipDescription(
            "assets", to: "Asset", inverse: "in\(name)", toMany: true, isOrdered: name == "Trip")
        ]
        return entity
      }
      return ManagedObjectModel(entities: [asset] + owners)
    }
    let store = try PersistentStore.open(
      url: url, model: model(), options: Self.columns)
    let columns = try store.read {
      try $0.connection.rows(
        """
        SELECT c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.name GLOB 'Z_1IN*'
        AND c.name GLOB '*ASSETS*' ORDER BY c.name
        """
      ).map { $0[0] }
    }
    #expect(
      columns
        == ["Z_1ASSETS", "Z_1ASSETS1", "Z_1ASSETS2", "Z_FOK_1ASSETS2"].map { .text($0) })
    let trip = try store.insert("Trip")
    let asset = try store.insert("Asset")
    let assets = try #require(store.model.entitiesByName["Trip"]?.relationshipsByName["assets"])
    _ = try store.write(TransactionInfo()) { try $0.addPairs(assets, trip, [asset]) }
    store.close()
    // As a file of Core Data's that gave out its digits in another order.
    try StrippedFile.make(
      at: url,
      """
      ALTER TABLE Z_1INTRIP RENAME COLUMN Z_1ASSETS2 TO Z_1ASSETS12;
      ALTER TABLE Z_1INTRIP RENAME COLUMN Z_FOK_1ASSETS2 TO Z_FOK_1ASSETS12
      """)
    let again = try PersistentStore.open(
      url: url, model: model(), options: Self.columns)
    let relationship = try #require(
      again.model.entitiesByName["Trip"]?.relationshipsByName["assets"])
    #expect(try again.read { try $0.toManyKeys(of: trip, relationship) } == [asset])
  }

  @Test("A new store has a table of pairs, where several objects hold one, and keeps it")
  func tableOfPairs() throws {
    let store = try PersistentStore.open(url: url, model: Self.model())
    let (first, second) = (try store.insert("Folder"), try store.insert("Binder"))
    let paper = try store.insert("Paper")
    try add(store, first, [paper])
    try add(store, second, [paper])
    #expect(try held(store, first) == [1] && held(store, second) == [1])
    store.close()
    let again = try PersistentStore.open(
      url: url, model: Self.model(more: true), options: StoreOptions(migratesAutomatically: true))
    #expect(try held(again, first) == [1] && held(again, second) == [1])
    #expect(again.schema.heldRelationships.isEmpty)
  }

  @Test("Entities are numbered by their names whatever the case")
  func entityNumbers() throws {
    let names = ["Zebra", "apple", "Banana"]
    let store = try PersistentStore.open(
      url: nil, model: ManagedObjectModel(entities: names.map { EntityDescription($0) }))
    #expect(store.schema.numbers.map(\.entity.name) == ["apple", "Banana", "Zebra"])
  }
}
