import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Derived attributes, which the file keeps by triggers.
struct DerivedAttributeTests {
  private static func derived(
    _ name: String, _ type: AttributeType, _ format: String
  ) -> DerivedAttributeDescription {
    let attribute = DerivedAttributeDescription()
    (attribute.name, attribute.type, attribute.derivationExpressionFormat) = (name, type, format)
    return attribute
  }

  /// - Parameter texts: Whether there are some that need functions of ours.
  static func model(
    texts: Bool = false, _ change: (ManagedObjectModel) -> Void = { _ in }
  ) throws -> ManagedObjectModel {
    let author = EntityDescription("Author")
    author.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("books", to: "Book", inverse: "author", toMany: true),
      derived("bookCount", .integer64, "books.@count"),
      derived("pageSum", .integer64, "books.pages.@sum"),
      derived("longest", .integer64, "books.pages.@max"),
      derived("worth", .double, "books.price.@sum"),
    ]
    let book = EntityDescription("Book")
    book.properties = [
      AttributeDescription("title", .string), AttributeDescription("pages", .integer32),
      AttributeDescription("price", .decimal),
      RelationshipDescription("author", to: "Author", inverse: "books"),
      RelationshipDescription("tags", to: "Tag", inverse: "books", toMany: true),
      derived("authorName", .string, "author.name"), derived("twin", .string, "title"),
      derived("tagCount", .integer64, "tags.@count"),
      derived("tagWeight", .double, "tags.weight.@sum"),
      derived("written", .date, "now()"),
    ]
    let series = EntityDescription("Series")
    series.superentityName = "Book"
    series.properties = [
      RelationshipDescription("parts", to: "Series", inverse: "whole", toMany: true),
      RelationshipDescription("whole", to: "Series", inverse: "parts"),
      derived("partCount", .integer64, "parts.@count"),
    ]
    let tag = EntityDescription("Tag")
    tag.properties = [
      AttributeDescription("weight", .double),
      RelationshipDescription("books", to: "Book", inverse: "tags", toMany: true),
    ]
    if texts {
      book.properties += [
        derived("loud", .string, "uppercase:(title)"),
        derived("search", .string, "canonical:(title)"),
        derived("authorKey", .string, "lowercase:(author.name)"),
      ]
    }
    let model = ManagedObjectModel(entities: [author, book, series, tag])
    change(model)
    try model.freeze()
    return model
  }

  /// What each derived value should be, told from the rows alone, against what the file has.
  private func differences(_ file: SQLiteConnection) throws -> [[SQLiteValue]] {
    let price = """
      CASE typeof(ZPRICE) WHEN 'blob' THEN CAST(CAST(ZPRICE AS TEXT) AS REAL) ELSE ZPRICE END
      """
    let books = "FROM ZBOOK b WHERE b.ZAUTHOR = a.Z_PK"
    return try file.rows(
      """
      SELECT 'Author', Z_PK FROM ZAUTHOR a WHERE
      ZBOOKCOUNT IS NOT (SELECT COUNT(*) \(books)) OR
      ZPAGESUM IS NOT (SELECT IFNULL(SUM(ZPAGES), 0) \(books)) OR
      ZLONGEST IS NOT (SELECT MAX(ZPAGES) \(books)) OR
      abs(ZWORTH - (SELECT TOTAL(\(price)) \(books))) > 1e-6
      UNION ALL
      SELECT 'Book', Z_PK FROM ZBOOK b WHERE
      ZAUTHORNAME IS NOT (SELECT ZNAME FROM ZAUTHOR a WHERE a.Z_PK = b.ZAUTHOR) OR
      ZTWIN IS NOT ZTITLE OR
      ZTAGCOUNT IS NOT (SELECT COUNT(*) FROM Z_2TAGS j WHERE j.Z_2BOOKS = b.Z_PK) OR
      abs(ZTAGWEIGHT - (SELECT TOTAL(ZWEIGHT) FROM Z_2TAGS j JOIN ZTAG t ON t.Z_PK = j.Z_4TAGS
      WHERE j.Z_2BOOKS = b.Z_PK)) > 1e-6 OR ZWRITTEN IS NULL OR
      (Z_ENT = 3) <> (ZPARTCOUNT NOT NULL) OR
      ZPARTCOUNT <> (SELECT COUNT(*) FROM ZBOOK p WHERE p.ZWHOLE = b.Z_PK)
      """)
  }

  @Test("A program that knows SQL alone changes rows in any order, and every derived value follows")
  func otherWriters() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("library.sqlite")
    try PersistentStore.open(url: url, model: Self.model()).close()
    // No function of ours is known to it.
    let file = try SQLiteConnection(path: url.path, mode: .readWrite)
    defer { file.close() }
    var generator = SeededGenerator(seed: 7)
    func random(_ count: Int) -> Int { Int.random(in: 1...count, using: &generator) }
    func maybe(_ count: Int) -> String { random(4) == 1 ? "NULL" : "\(random(count))" }
    for step in 0..<1500 {
      let statement =
        switch random(11) {
        case 1:
          "INSERT OR IGNORE INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (\(random(6)), 1, 1, 'n\(step)')"
        case 2:
          """
          INSERT OR IGNORE INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZPAGES, ZPRICE, ZAUTHOR)
          VALUES (\(random(20)), 2, 1, 't\(step)', \(maybe(500)), x'39392e35', \(maybe(6)))
          """
        case 3:
          """
          INSERT OR IGNORE INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZWHOLE, ZPRICE)
          VALUES (20 + \(random(8)), 3, 1, 20 + \(random(8)), \(maybe(9)).25)
          """.replacing("NULL.25", with: "NULL")
        case 4:
          "INSERT OR IGNORE INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZWEIGHT) VALUES (\(random(5)), 4, 1, \(maybe(9)))"
        case 5: "INSERT OR IGNORE INTO Z_2TAGS VALUES (\(random(28)), \(random(5)))"
        case 6:
          "UPDATE ZBOOK SET ZAUTHOR = \(maybe(6)), ZPAGES = \(maybe(900)) WHERE Z_PK = \(random(28))"
        case 7: "UPDATE ZAUTHOR SET ZNAME = 'm\(step)' WHERE Z_PK < \(random(6))"
        case 8: "UPDATE ZTAG SET ZWEIGHT = \(maybe(9)) WHERE Z_PK = \(random(5))"
        case 9:
          "UPDATE ZBOOK SET ZWHOLE = 20 + \(random(8)), ZTITLE = 'u\(step)' WHERE Z_PK = 20 + \(random(8))"
        case 10: "DELETE FROM Z_2TAGS WHERE Z_2BOOKS = \(random(28))"
        default:
          ["DELETE FROM ZBOOK", "DELETE FROM ZAUTHOR", "DELETE FROM ZTAG"][random(3) - 1]
            + " WHERE Z_PK = \(random(12))"
        }
      try file.execute(statement)
      #expect(try differences(file) == [], "\(step): \(statement)")
    }
  }

  @Test(
    "Saves, imports and deletes through the store keep them as well, and tell whose values changed")
  func ownWriters() throws {
    let store = try PersistentStore.open(url: nil, model: Self.model(texts: true))
    let author = try store.insert("Author", ["name": .string("Örsted")])
    let (told, _) = try store.write(TransactionInfo()) { transaction in
      let entity = try #require(store.model.entitiesByName["Book"])
      let key = try transaction.allocateKeys(entity, count: 1).lowerBound
      var values = [PropertyValue](repeating: .null, count: entity.layout.slots.count)
      values[try #require(entity.layout.index(named: "title"))] = .string("Éclair")
      values[try #require(entity.layout.index(named: "pages"))] = .integer(12)
      values[try #require(entity.layout.index(named: "author"))] = .reference(author)
      try transaction.insert(entity, key, values: values)
      return transaction.derivedKeys
    }
    let book = ObjectKey(entity: 2, key: 1)
    #expect(told == [author, book])
    #expect(try store.values(author)?["bookCount"] == .integer(1))
    #expect(try store.values(author)?["pageSum"] == .integer(12))
    let values = try #require(try store.values(book))
    #expect(values["loud"] == .string("ÉCLAIR"))
    #expect(values["search"] == .string("eclair"))
    #expect(values["authorKey"] == .string("örsted"))
    #expect(values["authorName"] == .string("Örsted"))
    guard case .date(let written) = values["written"] else {
      Issue.record("no time")
      return
    }
    #expect(abs(written.timeIntervalSinceNow) < 60)
    try store.update(author, "name", .string("Ærø"))
    #expect(try store.values(book)?["authorKey"] == .string("ærø"))
    let toldLast = try store.write(TransactionInfo()) { transaction in
      try transaction.delete(book, expectedVersion: nil)
      return transaction.derivedKeys
    }.0
    #expect(toldLast == [author])
    #expect(try store.values(author)?["bookCount"] == .integer(0))
    #expect(try store.read { try differences($0.connection) } == [])
    #expect(try store.check().isSound)
  }

  @Test("What a write that failed changed is not told with the next one")
  func rolledBack() throws {
    struct Stop: Error {}
    let store = try PersistentStore.open(url: nil, model: Self.model())
    let author = try store.insert("Author")
    #expect(throws: Stop.self) {
      _ = try store.write(TransactionInfo()) { transaction in
        try transaction.connection.execute(
          "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZAUTHOR) VALUES (9, 2, 1, \(author.key))")
        throw Stop()
      }
    }
    let told = try store.write(TransactionInfo()) { $0.derivedKeys }.0
    #expect(told == [])
  }

  @Test(
    "A file of Core Data's and a fresh one of its model have triggers of the same names",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func sameNames() throws {
    let url = SharedData.url("core-data-stores/SampleModel2/SampleModel2_V1.sqlite")
    func triggers(_ url: URL) throws -> [[SQLiteValue]] {
      let file = try SQLiteConnection(path: url.path, mode: .immutable)
      defer { file.close() }
      return try file.rows(
        "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger' ORDER BY name")
    }
    let original = try PersistentStore.open(url: url, options: .inspecting(url))
    let directory = try TemporaryDirectory()
    let fresh = directory.file("fresh.sqlite")
    try PersistentStore.open(url: fresh, model: original.model.copy()).close()
    #expect(try triggers(fresh) == triggers(url))
  }

  @Test("A file without the triggers gets them, and the values, when it is opened for writing")
  func completed() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("library.sqlite")
    try PersistentStore.open(url: url, model: Self.model()).close()
    let file = try SQLiteConnection(path: url.path, mode: .readWrite)
    for row in try file.rows("SELECT name FROM sqlite_master WHERE type = 'trigger'") {
      if case .text(let name) = row[0] { try file.execute("DROP TRIGGER \"\(name)\"") }
    }
    try file.execute(
      """
      INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'A');
      INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZAUTHOR, ZPAGES) VALUES (1, 2, 1, 1, 5)
      """)
    #expect(try !differences(file).isEmpty)
    try PersistentStore.open(url: url).close()
    #expect(try differences(file).isEmpty)
    try file.execute("DELETE FROM ZBOOK")
    #expect(try differences(file).isEmpty)
    file.close()
  }

  @Test("A derived attribute that a migration brings has its values at once, and keeps them")
  func migrated() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("library.sqlite")
    let plain = try Self.model { model in
      for entity in model.entities {
        entity.properties = entity.ownProperties.filter { !($0 is DerivedAttributeDescription) }
      }
    }
    let store = try PersistentStore.open(url: url, model: plain)
    let author = try store.insert("Author", ["name": .string("A")])
    for pages in 1...3 {
      try store.insert("Book", ["author": .reference(author), "pages": .integer(Int64(pages))])
    }
    store.close()
    let migrated = try PersistentStore.open(
      url: url, model: Self.model(texts: true), options: StoreOptions(migratesAutomatically: true))
    #expect(try migrated.values(author)?["pageSum"] == .integer(6))
    #expect(try migrated.read { try differences($0.connection) } == [])
    try migrated.insert("Book", ["author": .reference(author), "pages": .integer(4)])
    #expect(try migrated.values(author)?["pageSum"] == .integer(10))
  }

  @Test(
    "When an object was written last stays through a migration, whoever writes the rows anew",
    arguments: [false, true])
  func lastWritten(isMapped: Bool) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("library.sqlite")
    let store = try PersistentStore.open(url: url, model: Self.model())
    let author = try store.insert("Author", ["name": .string("A")])
    let book = try store.insert("Book", ["author": .reference(author), "pages": .integer(2)])
    let written = try #require(try store.values(book)?["written"])
    let file = try SQLiteConnection(path: url.path, mode: .readWrite)
    while try file.scalar(
      "SELECT (julianday('now') - 2451910.5) * 86400.0 < ZWRITTEN + 0.05 FROM ZBOOK")
      == .integer(1)
    { usleep(1_000) }
    file.close()
    let former = store.model
    store.close()
    let next = try Self.model { model in
      model.entities[1].properties += [
        AttributeDescription("stars", .integer16, isOptional: false, defaultValue: .integer(1)),
        Self.derived("moved", .date, "now()"),
      ]
    }
    let mappings =
      isMapped
      ? [try MappingModel.inferredMappingModel(forSourceModel: former, destinationModel: next)] : []
    let migrated = try PersistentStore.open(
      url: url, model: next,
      options: StoreOptions(migratesAutomatically: true, mappingModels: mappings))
    let values = try #require(try migrated.values(book))
    #expect(values["written"] == written)
    #expect(values["stars"] == .integer(1) && values["authorName"] == .string("A"))
    #expect(values["moved"] != .null && values["moved"] != written)
    #expect(try migrated.read { try differences($0.connection) } == [])
    #expect(try migrated.check().isSound)
    try migrated.update(book, "pages", .integer(3))
    #expect(try migrated.values(book)?["written"] != written)
  }

  @Test(
    "An expression that triggers cannot follow is refused by name, with those that they can",
    arguments: ["books.author.name", "author.books.@count", "title + 1", "nothing", "books.title"])
  func unknown(format: String) throws {
    let model = try Self.model { model in
      model.entities[1].properties.append(Self.derived("odd", .string, format))
    }
    let error = #expect(throws: StoreError.self) {
      try PersistentStore.open(url: nil, model: model)
    }
    #expect(error?.code == .cannotDerive)
    #expect(error?.message.contains("Book.odd") == true)
    #expect(error?.message.contains(format) == true)
  }
}

/// Numbers that are the same in each run.
private struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
