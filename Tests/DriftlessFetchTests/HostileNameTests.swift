import Driftless
import DriftlessSQLite
import Foundation
import TestSupport
import Testing

/// Names of entities and properties that mean something to SQL, and texts that try to get into it.
@Suite("Odd names and hostile texts")
struct HostileNameTests {
  /// SQL's words, our own columns, format words, letters of any script.
  static let names = [
    "select", "order", "group", "from", "where", "null", "table", "größe", "名前", "count",
    "Z_PK", "Z_ENT", "z_pk", "t0", "rowid", "and", "FETCH", "CAST", "İstanbul", "any", "_1",
  ]

  private static func model() throws -> ManagedObjectModel {
    let item = EntityDescription("Select")
    let owner = EntityDescription("Größe")
    item.properties =
      names.map { AttributeDescription($0, .string) } + [
        RelationshipDescription("to_one", to: owner.name, inverse: "index")
      ]
    owner.properties = [
      AttributeDescription("table", .integer64),
      RelationshipDescription("index", to: item.name, inverse: "to_one", toMany: true),
    ]
    let model = ManagedObjectModel(entities: [item, owner])
    try model.freeze()
    return model
  }

  @Test(
    "Names that could not be written in a predicate are refused with the model",
    arguments: [
      "order by", "it's", "a\"b", "x; DROP TABLE t", "--", "100%", "new\nline", "[a]", "",
    ])
  func refused(name: String) {
    let item = EntityDescription("Item")
    item.properties = [AttributeDescription(name, .string)]
    #expect(throws: (any Error).self) { try ManagedObjectModel(entities: [item]).freeze() }
  }

  @Test("Such names go through predicates, sorts, rows, groups, prefetching and batches")
  func names() throws {
    let directory = try TemporaryDirectory()
    let container = PersistentContainer(
      name: "odd", model: try Self.model(), storeURL: directory.file("odd.sqlite"))
    try container.loadPersistentStores()
    try container.performAndWait { context in
      let entity = "Select"
      let owner = try context.insert(entityNamed: "Größe")
      try owner.setValue(7, forKey: "table")
      for (index, name) in Self.names.enumerated() {
        let item = try context.insert(entityNamed: entity)
        try item.setValue(name, forKey: name)
        if index < 3 { try item.setValue(owner, forKey: "to_one") }
      }
      try context.save()
      context.reset()
      for name in Self.names {
        let predicate = FetchPredicate.comparison(
          FetchComparison(.keyPath([name]), .equal, .constant(.string(name))))
        var request = FetchRequest<ManagedObject>(
          entityName: entity, predicate: predicate,
          sort: [FetchSort(name, selector: .localizedCompare)])
        request.relationshipKeyPathsForPrefetching = ["to_one"]
        let found = try context.fetch(request)
        #expect(found.count == 1, "\(name)")
        #expect(try found.first?.value(forKey: name) as? String == name)
        var rows = FetchRequest<FetchedRow>(entityName: entity, predicate: predicate)
        rows.propertiesToGroupBy = [FetchedProperty(name)]
        rows.propertiesToFetch = [
          FetchedProperty(name),
          .expression(
            "most '\(name)'", .collection(.max, of: .keyPath([]), path: [name])),
        ]
        let row = try #require(try context.fetchRows(rows).first)
        #expect(row[name, as: String.self] == name)
        #expect(row["most '\(name)'", as: String.self] == name)
      }
      let many = try FetchPredicate(
        format: "ANY %K.%K == 'select' AND %K > 3", "index", "select", "table")
      #expect(
        try context.count(
          for: FetchRequest<ManagedObject>(entityName: "Größe", predicate: many)) == 1)
      var update = BatchUpdateRequest(entityName: entity)
      update.propertiesToUpdate = ["null": "'; DROP TABLE x; --"]
      update.predicate = try FetchPredicate(format: "%K == %@", "where", "where")
      try context.execute(update)
      let changed = try FetchPredicate(format: "%K == %@", "null", "'; DROP TABLE x; --")
      #expect(
        try context.count(for: FetchRequest<ManagedObject>(entityName: entity, predicate: changed))
          == 1)
    }
  }

  @Test(
    "A hostile text never gets into SQL: as a value, a key, a sort key or a column",
    arguments: [
      "x' OR '1'='1", "x\"; DROP TABLE ZBOOK; --", "x) UNION SELECT sql FROM sqlite_master --",
      "Z_PK", "\"t0\".\"Z_PK\"", "x\u{0}y", "%s%n", "\\", "ZTITLE\" OR 1=1 --",
    ])
  func hostile(text: String) throws {
    let library = try Library()
    // As a value it is bound.
    for format in [
      "title == %@", "title ==[cdl] %@", "title <[l] %@", "title LIKE %@", "title CONTAINS[c] %@",
      "title IN {%@, 'a', title}", "max:({title, %@}) != 'b'",
      "TERNARY(pages > 1, %@, title) == 'b'",
      "ANY {%@} == title", "ANY tags.name BEGINSWITH %@",
    ] {
      let query = try library.compile(FetchPredicate(format: format, text))
      let known = try library.compile(FetchPredicate(format: format, "harmless"))
      #expect(query.sql == known.sql, "\(format)")
      _ = try library.rows(query)
    }
    // As a name it is unknown, and no statement is made.
    let attempts: [() throws -> Void] = [
      { _ = try library.compile(FetchPredicate(format: "%K == 1", "p" + text)) },
      { _ = try library.compile(FetchPredicate(format: "author.%K == 1", "p" + text)) },
      { _ = try library.compile(FetchPredicate(format: "author.books.@max.%K == 1", "p" + text)) },
      { _ = try library.compile(nil, sort: [FetchSort("p" + text)]) },
      {
        _ = try library.compile(
          .comparison(FetchComparison(.variable(text, path: []), .equal, .constant(.null))))
      },
      {
        let request = FetchRequest<ManagedObject>(entityName: "Book" + text)
        _ = try library.compile(FetchPredicate(format: "SELF IN FETCH(%@)", request))
      },
      {
        var request = FetchRequest<FetchedRow>(entityName: "Book")
        request.propertiesToFetch = [FetchedProperty("p" + text)]
        _ = try library.compileRows(request)
      },
      {
        var request = FetchRequest<FetchedRow>(entityName: "Book")
        request.propertiesToGroupBy = [FetchedProperty("p" + text)]
        _ = try library.compileRows(request)
      },
    ]
    for attempt in attempts { #expect(throws: FetchError.self) { try attempt() } }
    // A column's own name is free, and stays outside.
    var request = FetchRequest<FetchedRow>(entityName: "Book")
    request.propertiesToFetch = [.expression(text, .keyPath(["title"]))]
    let sql = try library.compileRows(request).sql
    #expect(sql == #"SELECT "t0"."ZTITLE" FROM "ZBOOK" "t0""#)
  }
}
