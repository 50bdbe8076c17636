import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Files that Core Data wrote, read as they lie and left as they are.
struct CoreDataReadingTests {
  private static let reading = StoreOptions(isImmutable: true)

  @Test(
    "Every file is read without a model, object for object, and not a byte beside or in it changes",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"),
    arguments: SharedData.stores)
  func everyFile(path: String) throws {
    let original = SharedData.url(path)
    let directory = try TemporaryDirectory()
    let url = directory.file("a file?#%.sqlite")
    let bytes = try Data(contentsOf: original)
    try bytes.write(to: url)
    let store = try PersistentStore.open(url: url, options: Self.reading)
    let raw = try SQLiteConnection(path: original.path, mode: .immutable)
    #expect(store.modelOrigin == (path.contains("Recipes") ? .tables : .cache))
    for entity in store.model.entities {
      let number = store.schema.entityNumber(of: entity)
      let table = store.schema.table(for: entity)
      let wanted = try raw.scalar(
        "SELECT COUNT(*) FROM \(table.name) WHERE Z_ENT = ?", .integer(Int64(number)))
      let query = try QueryCompiler(schema: store.schema).compile(entity: entity, predicate: nil)
      var found: Int64 = 0
      try store.read { transaction in
        try transaction.forEachRow(of: query) { row in
          guard row.key.entity == number else { return }
          found += 1
          for (slot, value) in try row.values().enumerated() {
            guard let relationship = entity.layout.slots[slot].relationship else { continue }
            if relationship.isToMany {
              _ = try transaction.toManyKeys(of: row.key, relationship)
            } else if case .reference(let key) = value {
              #expect(try transaction.row(key) != nil, "\(relationship.name) leads nowhere")
            }
          }
        }
      }
      #expect(.integer(found) == wanted, "\(entity.name)")
    }
    #expect(try store.check().findings == [])
    store.close()
    #expect(try Data(contentsOf: url) == bytes)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
        == [url.lastPathComponent])
  }

  @Test(
    "Values, references and to-many relationships come out as Core Data put them in",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func values() throws {
    let url = SharedData.url("core-data-stores/SampleModel2/SampleModel2_V1.sqlite")
    let store = try PersistentStore.open(url: url, options: Self.reading)
    let raw = try SQLiteConnection(path: url.path, mode: .immutable)
    let pages = try #require(store.model.entitiesByName["Book"]?.relationshipsByName["pages"])
    for row in try raw.rows(
      "SELECT Z_PK, Z_ENT, ZTITLE, ZPAGESCOUNT, ZPUBLISHEDAT, ZAUTHOR, ZUNIQUEID FROM ZBOOK")
    {
      guard case .integer(let key) = row[0], case .integer(let entity) = row[1] else { continue }
      let book = ObjectKey(entity: Int32(entity), key: key)
      let values = try #require(try store.values(book))
      if case .text(let title) = row[2] { #expect(values["title"] == .string(title)) }
      if case .integer(let count) = row[3] {
        #expect(values["pagesCount"] == .integer(count), "a derived attribute")
        let found = try store.read { try $0.toManyKeys(of: book, pages) }
        #expect(found.count == Int(count))
      }
      if case .real(let date) = row[4] {
        #expect(values["publishedAt"] == .date(Date(timeIntervalSinceReferenceDate: date)))
      }
      if case .integer(let author) = row[5] {
        #expect(values["author"] == .reference(ObjectKey(entity: 6, key: author)))
      }
      if case .blob(let id) = row[6], let uuid = UUID(networkBytes: id) {
        #expect(values["uniqueID"] == .uuid(uuid))
      }
    }
  }

  @Test(
    "The history that Core Data recorded is read: times, processes, and each change",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func history() throws {
    let url = SharedData.url("core-data-stores/SampleModel2/SampleModel2_V1.sqlite")
    let store = try PersistentStore.open(url: url, options: Self.reading)
    let raw = try SQLiteConnection(path: url.path, mode: .immutable)
    let history = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    let transaction = try #require(history.first)
    #expect(history.count == 1)
    #expect(transaction.author == nil)
    let process = try raw.scalar(
      "SELECT ZNAME FROM ATRANSACTIONSTRING s JOIN ATRANSACTION t ON s.Z_PK = t.ZPROCESSIDTS")
    #expect(transaction.processID.map { .text($0) } == process)
    #expect(transaction.changes?.count == 5468)
    #expect(Set(transaction.changes?.map(\.changeType) ?? []) == [.insert])
    #expect(transaction.hybridTime.date.timeIntervalSince(transaction.timestamp).magnitude < 0.01)
  }

  @Test(
    "A model worked out from the tables finds references, and names what it cannot know",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func inferred() throws {
    let url = SharedData.url("core-data-stores/Recipes.sqlite")
    let store = try PersistentStore.open(url: url, options: Self.reading)
    let recipe = try #require(store.model.entitiesByName["Recipe"])
    #expect(recipe.relationshipsByName["type"]?.destinationEntityName == "RecipeType")
    #expect(recipe.relationshipsByName["image"]?.destinationEntityName == "Image")
    let ingredients = try #require(recipe.relationshipsByName["ingredient_recipe"])
    #expect(ingredients.isToMany)
    #expect(recipe.attributesByName["preptime"]?.type == .string)
    let number = store.schema.entityNumber(of: recipe)
    let found = try store.read { transaction in
      try (1...9).map {
        try transaction.toManyKeys(of: ObjectKey(entity: number, key: $0), ingredients).count
      }
    }
    let raw = try SQLiteConnection(path: url.path, mode: .immutable)
    let wanted = try (1...9).map {
      try raw.scalar("SELECT COUNT(*) FROM ZINGREDIENT WHERE ZRECIPE = ?", .integer($0))
    }
    #expect(found.map { .integer(Int64($0)) } == wanted)
    #expect(
      try store.read { try $0.identity(of: ObjectKey(entity: number, key: 1)) }
        == PersistentStore.open(url: url, options: Self.reading).read {
          try $0.identity(of: ObjectKey(entity: number, key: 1))
        })
  }

  @Test(
    "To write a file without a model, one has to be given",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func noModelToWrite() throws {
    let original = SharedData.url("core-data-stores/Recipes.sqlite")
    let directory = try TemporaryDirectory()
    let url = directory.file("recipes.sqlite")
    let bytes = try Data(contentsOf: original)
    try bytes.write(to: url)
    #expect { try PersistentStore.open(url: url) } throws: {
      ($0 as? StoreError)?.code == .missingModel
    }
    #expect(try Data(contentsOf: url) == bytes)
  }

  @Test(
    "A copy is written: triggers run, keys and versions go on, and the history grows by one",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func writing() throws {
    let original = SharedData.url("core-data-stores/SampleModel2/SampleModel2_V1.sqlite")
    let directory = try TemporaryDirectory()
    let url = directory.file("books.sqlite")
    try Data(contentsOf: original).write(to: url)
    let store = try PersistentStore.open(url: url)
    let (book, page) = (ObjectKey(entity: 1, key: 1), ObjectKey(entity: 4, key: 1))
    let before = try #require(try store.values(book)?["pagesCount"])
    guard case .integer(let count) = before else {
      Issue.record("the book has no count of pages")
      return
    }
    let new = try store.insert("Page", ["number": .integer(7), "book": .reference(book)])
    #expect(new == ObjectKey(entity: 4, key: 4971), "keys go on from Core Data's")
    #expect(try store.values(book)?["pagesCount"] == .integer(count + 1))
    try store.update(page, "number", .integer(99))
    #expect(try store.read { try $0.row(page)?.version } == 2)
    _ = try store.write(TransactionInfo(author: "till")) {
      try $0.delete(new, expectedVersion: 1)
    }
    #expect(try store.values(book)?["pagesCount"] == .integer(count))
    let history = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    #expect(history.map(\.transactionNumber) == [1, 2, 3, 4])
    #expect(history.last?.author == "till")
    #expect(history[1].changes?.first?.changeID == 5469)
    #expect(try store.check().findings == [])
    store.close()
    let raw = try SQLiteConnection(path: url.path, mode: .readOnly)
    #expect(
      try raw.scalar("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Page'") == .integer(4971))
    #expect(
      try raw.scalar("SELECT COUNT(*) FROM sqlite_master WHERE type = 'trigger'") == .integer(5))
  }

  @Test("A join table is found under the name that either age of Core Data gave it")
  func joinTableNames() throws {
    // Entities 3 and 25: as text 25 comes first, as a number 3.
    func model() -> ManagedObjectModel {
      let album = EntityDescription("Album")
      album.properties = [
        RelationshipDescription("lists", to: "List", inverse: "albums", toMany: true)
      ]
      let list = EntityDescription("List")
      list.properties = [
        RelationshipDescription("albums", to: "Album", inverse: "lists", toMany: true)
      ]
      return ManagedObjectModel(entities: [album, list])
    }
    for table in ["Z_25LISTS", "Z_3ALBUMS"] {
      let directory = try TemporaryDirectory()
      let url = directory.file("albums.sqlite")
      try PersistentStore.open(url: url, model: model()).close()
      let raw = try SQLiteConnection(path: url.path, mode: .readWrite)
      let hashes = try PropertyListSerialization.data(
        fromPropertyList: ["NSStoreModelVersionHashes": [String: Data]()], format: .binary,
        options: 0)
      try raw.execute(
        """
        UPDATE Z_PRIMARYKEY SET Z_ENT = 25 WHERE Z_NAME = 'Album';
        UPDATE Z_PRIMARYKEY SET Z_ENT = 3 WHERE Z_NAME = 'List';
        DROP TABLE Z_1LISTS; DELETE FROM ZDL_MODEL;
        CREATE TABLE \(table) (Z_25ALBUMS INTEGER, Z_3LISTS INTEGER, PRIMARY KEY (Z_25ALBUMS, Z_3LISTS));
        INSERT INTO ZALBUM VALUES (1, 25, 1); INSERT INTO ZLIST VALUES (1, 3, 1), (2, 3, 1);
        INSERT INTO \(table) VALUES (1, 2), (1, 1)
        """)
      try raw.run("UPDATE Z_METADATA SET Z_PLIST = ?", .blob(hashes))
      raw.close()
      let store = try PersistentStore.open(url: url, model: model())
      let lists = try #require(store.model.entitiesByName["Album"]?.relationshipsByName["lists"])
      #expect(
        try store.read { try $0.toManyKeys(of: ObjectKey(entity: 25, key: 1), lists) }
          == [ObjectKey(entity: 3, key: 1), ObjectKey(entity: 3, key: 2)])
    }
  }

  @Test(
    "Packed bytes that are damaged unpack to something or to nothing, never to a trap",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func damagedCache() throws {
    #expect(Inflate.unpack(Data([0x03, 0x00])) == Data())
    let url = SharedData.url("core-data-stores/Bookmarks/Bookmarks_V1.sqlite")
    let raw = try SQLiteConnection(path: url.path, mode: .immutable)
    guard case .blob(let packed)? = try raw.scalar("SELECT Z_CONTENT FROM Z_MODELCACHE") else {
      Issue.record("the file has no model cache")
      return
    }
    #expect(Inflate.unpack(packed)?.prefix(8) == Data("bplist00".utf8))
    #expect(Inflate.unpack(packed, bytesMax: 100) == nil)
    for index in stride(from: 0, to: packed.count, by: 7) {
      #expect(Inflate.unpack(packed.prefix(index)) == nil)
      var flipped = packed
      flipped[flipped.startIndex + index] ^= 0x55
      _ = Inflate.unpack(flipped)
    }
  }
}
