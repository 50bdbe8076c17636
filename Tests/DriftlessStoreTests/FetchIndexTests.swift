import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Fetch indexes in a file, and the fetches that SQLite answers with them.
struct FetchIndexTests {
  private static func index(
    _ name: String, _ elements: [FetchIndexElementDescription], where format: String? = nil
  ) -> FetchIndexDescription {
    FetchIndexDescription(name: name, elements: elements, partialIndexPredicateFormat: format)
  }

  private static func element(
    _ name: String, ascending: Bool = true, rTree: Bool = false
  ) -> FetchIndexElementDescription {
    FetchIndexElementDescription(
      propertyName: name, collationType: rTree ? .rTree : .binary, isAscending: ascending)
  }

  private static func expression(_ format: String) -> FetchIndexElementDescription {
    FetchIndexElementDescription(propertyName: "", expressionFormat: format)
  }

  static func model(
    indexed: Bool = true, _ change: (ManagedObjectModel) -> Void = { _ in }
  ) throws -> ManagedObjectModel {
    let place = EntityDescription("Place")
    place.properties = [
      AttributeDescription("name", .string), AttributeDescription("kind", .integer16),
      AttributeDescription("visited", .date), AttributeDescription("isOpen", .boolean),
      AttributeDescription("latitude", .double), AttributeDescription("longitude", .double),
      AttributeDescription("width", .integer32), AttributeDescription("height", .integer32),
      RelationshipDescription("area", to: "Place", inverse: "places"),
      RelationshipDescription("places", to: "Place", inverse: "area", toMany: true),
    ]
    let harbour = EntityDescription("Harbour")
    harbour.superentityName = "Place"
    harbour.properties = [AttributeDescription("depth", .double)]
    if indexed {
      place.indexes = [
        index("byKindAndDate", [element("kind"), element("visited", ascending: false)]),
        index("open", [element("name")], where: "isOpen == YES"),
        index("bySize", [expression("width * height")]),
        index("bySearchName", [expression("canonical:(name)")]),
        index("byPlace", [element("latitude", rTree: true), element("longitude", rTree: true)]),
        index("byAreaName", [expression("area.name")]),
      ]
      harbour.indexes = [index("byDepth", [element("depth", rTree: true)])]
    }
    let model = ManagedObjectModel(entities: [place, harbour])
    change(model)
    try model.freeze()
    return model
  }

  private func open(_ url: URL? = nil) throws -> PersistentStore {
    try PersistentStore.open(url: url, model: Self.model())
  }

  private func plan(
    _ store: PersistentStore, _ predicate: String, sort: [FetchSort] = [],
    entity: String = "Place"
  ) throws -> String {
    try plan(store, FetchPredicate(format: predicate), sort: sort, entity: entity)
  }

  private func plan(
    _ store: PersistentStore, _ predicate: FetchPredicate, sort: [FetchSort] = [],
    entity: String = "Place"
  ) throws -> String {
    let entity = try #require(store.model.entitiesByName[entity])
    let query = try QueryCompiler(schema: store.schema).compile(
      entity: entity, predicate: predicate, sort: sort)
    return try store.read { transaction in
      let statement = try transaction.connection.prepareUncached("EXPLAIN QUERY PLAN " + query.sql)
      statement.bind(query.bindings)
      var lines: [String] = []
      while try statement.step() {
        if case .text(let text) = statement.value(3) { lines.append(text) }
      }
      return lines.joined(separator: "; ")
    }
  }

  @Test("A compound index answers a condition and the descending order after it without sorting")
  func compound() throws {
    let store = try open()
    let plan = try plan(
      store, FetchPredicate(format: "kind == 3 AND visited > %@", Date()),
      sort: [FetchSort("visited", ascending: false)])
    #expect(plan.contains("USING INDEX Z_Place_byKindAndDate (ZKIND=? AND ZVISITED>?)"))
  }

  @Test("A partial index answers fetches that ask for what it is limited to, and no others")
  func partial() throws {
    let store = try open()
    let sql = try store.read {
      try $0.connection.scalar("SELECT sql FROM sqlite_master WHERE name = 'Z_Place_open'")
    }
    #expect(
      sql
        == .text(
          "CREATE INDEX \"Z_Place_open\" ON \"ZPLACE\" (\"ZNAME\" COLLATE BINARY ASC) WHERE \"ZISOPEN\" = 1"
        ))
    #expect(
      try plan(store, "isOpen == YES AND name == 'x'").contains("INDEX Z_Place_open (ZNAME=?)"))
    #expect(try !plan(store, "isOpen == NO AND name == 'x'").contains("Z_Place_open"))
    #expect(try !plan(store, "name == 'x'").contains("Z_Place_open"))
  }

  @Test("An index by an expression answers fetches by the same expression")
  func expressions() throws {
    let store = try open()
    #expect(try plan(store, "width * height > 100").contains("Z_Place_bySize (<expr>>?)"))
    #expect(
      try plan(store, "canonical:(name) == 'aro'").contains("Z_Place_bySearchName (<expr>=?)"))
    // What lies in another row cannot be indexed, and is found all the same.
    #expect(try !plan(store, "area.name == 'x'").contains("byAreaName"))
  }

  @Test("An R-tree answers ranges of all its numbers, for the entity and its subentities")
  func rTree() throws {
    let store = try open()
    let ranges = "latitude BETWEEN {54.1, 55.2} AND longitude > 10 AND longitude < 11.5"
    for entity in ["Place", "Harbour"] {
      let plan = try plan(store, ranges, entity: entity)
      #expect(plan.contains("SCAN Z_RT_Place_byPlace VIRTUAL TABLE INDEX 2"))
      #expect(plan.contains("SEARCH t0 ") && plan.contains("rowid=?"))
    }
    #expect(try plan(store, "depth > 5", entity: "Harbour").contains("Z_RT_Harbour_byDepth"))
    for other in ["latitude > 3", "latitude == 3 OR longitude == 4", "NOT (latitude > 3)"] {
      #expect(try !plan(store, other).contains("Z_RT"))
    }
  }

  @Test("With and without an R-tree a fetch finds the same rows, whatever was written in between")
  func rTreeFollows() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("places.sqlite")
    let store = try open(url)
    var keys: [ObjectKey] = []
    for number in 0..<200 {
      keys.append(
        try store.insert(
          number % 3 == 0 ? "Harbour" : "Place",
          [
            "latitude": number % 7 == 0 ? .null : .double(Double(number) * 0.1 + 0.037),
            "longitude": .double(Double(number % 13) + 0.1), "depth": .double(Double(number)),
          ]))
    }
    for key in keys where key.key % 5 == 0 {
      try store.update(key, "latitude", .double(Double(key.key % 11) + 1.0 / 3))
    }
    _ = try store.write(TransactionInfo()) { transaction in
      for key in keys where key.key % 17 == 0 { try transaction.delete(key, expectedVersion: nil) }
    }
    func found(
      _ store: PersistentStore, _ rTrees: [String: Set<String>]?, _ format: String
    ) throws -> [Int64] {
      let schema = StoreSchema(
        model: store.model, rTrees: rTrees,
        numbers: Dictionary(
          uniqueKeysWithValues: store.schema.numbers.map { ($0.entity.name, $0.number) }))
      let entity = try #require(store.model.entitiesByName["Place"])
      let query = try QueryCompiler(schema: schema).compile(
        entity: entity, predicate: FetchPredicate(format: format), sort: [FetchSort("latitude")])
      return try store.read { try $0.keys(of: query).map(\.key) }
    }
    for format in [
      "latitude BETWEEN {4.13, 4.14} AND longitude >= 0", "latitude <= 7.037 AND longitude == 5.1",
      "latitude BETWEEN {2, 9} AND longitude BETWEEN {3, 8} AND kind == nil",
      "latitude > 1.3333333333333333 AND latitude < 5 AND longitude > -1",
    ] {
      let narrowed = try found(store, nil, format)
      #expect(try narrowed == found(store, [:], format), "\(format)")
      #expect(!narrowed.isEmpty, "\(format)")
    }
    #expect(try store.check().isSound)
    store.close()
    // Others see tables that are none of the model's.
    #expect(try PersistentStore.open(url: url, options: .inspecting(url)).check().isSound)
  }

  @Test("A model that got an index opens a file without one, and the file gets it, filled")
  func completed() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("places.sqlite")
    let plain = try PersistentStore.open(url: url, model: Self.model(indexed: false))
    let key = try plain.insert("Place", ["latitude": .double(54.5), "longitude": .double(10.5)])
    #expect(try !plan(plain, "latitude == 54.5 AND longitude == 10.5").contains("Z_RT"))
    plain.close()
    try open(url).close()
    let store = try open(url)
    let format = "latitude BETWEEN {54, 55} AND longitude > 10"
    #expect(try plan(store, format).contains("Z_RT_Place_byPlace"))
    let place = try #require(store.model.entitiesByName["Place"])
    let query = try QueryCompiler(schema: store.schema).compile(
      entity: place, predicate: FetchPredicate(format: format))
    #expect(try store.read { try $0.keys(of: query) } == [key])
    #expect(try plan(store, "width * height > 100").contains("Z_Place_bySize"))
    #expect(try store.check().isSound)
  }

  @Test("A migration makes the indexes of the new model")
  func migrated() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("places.sqlite")
    let plain = try PersistentStore.open(url: url, model: Self.model(indexed: false))
    try plain.insert("Place", ["latitude": .double(54.5), "longitude": .double(10.5)])
    plain.close()
    let model = try Self.model { model in
      model.entities[0].properties.append(AttributeDescription("note", .string))
    }
    let store = try PersistentStore.open(
      url: url, model: model, options: StoreOptions(migratesAutomatically: true))
    #expect(try plan(store, "latitude > 54 AND longitude > 10").contains("Z_RT_Place_byPlace"))
    #expect(
      try store.read { try $0.connection.scalar("SELECT COUNT(*) FROM Z_RT_Place_byPlace") }
        == .integer(1))
  }

  @Test("An R-tree whose properties are others in a newer model is made anew")
  func otherProperties() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("places.sqlite")
    let store = try open(url)
    let values: [String: PropertyValue] = [
      "latitude": .double(54.5), "longitude": .double(10), "width": .integer(7),
    ]
    let key = try store.insert("Place", values)
    store.close()
    let newer = try Self.model { model in
      model.entitiesByName["Place"]?.indexes = [
        Self.index(
          "byPlace", [Self.element("latitude", rTree: true), Self.element("width", rTree: true)])
      ]
    }
    let format = "latitude BETWEEN {54, 55} AND width BETWEEN {1, 20}"
    func found(_ store: PersistentStore) throws -> [ObjectKey] {
      let place = try #require(store.model.entitiesByName["Place"])
      let query = try QueryCompiler(schema: store.schema).compile(
        entity: place, predicate: FetchPredicate(format: format))
      return try store.read { try $0.keys(of: query) }
    }
    let reading = try PersistentStore.open(
      url: url, model: newer, options: StoreOptions(isReadOnly: true))
    #expect(try found(reading) == [key])
    reading.close()
    let again = try PersistentStore.open(url: url, model: newer)
    #expect(try found(again) == [key])
    let second = try again.insert("Place", values)
    #expect(try found(again) == [key, second])
    again.close()
    let last = try PersistentStore.open(url: url, model: newer)
    #expect(try plan(last, format).contains("Z_RT_Place_byPlace"))
    #expect(try found(last) == [key, second])
    #expect(try last.check().isSound)
  }
}
