import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// The store's file: layout, rows, errors.
struct StoreTests {
  @Test("A fresh file has Core Data's tables, columns and numbers")
  func layout() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(url: url, model: Shop.model())
    try store.insert("Item")
    store.close()
    let file = try SQLiteConnection(path: url.path, mode: .readOnly)
    func columns(_ table: String) throws -> [SQLiteValue] {
      try file.rows("SELECT name FROM pragma_table_info('\(table)')").map { $0[0] }
    }
    #expect(
      try file.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT < 100")
        == [
          [.integer(1), .text("Item"), .integer(0), .integer(1)],
          [.integer(2), .text("Tool"), .integer(1), .integer(0)],
          [.integer(3), .text("Shelf"), .integer(0), .integer(0)],
          [.integer(4), .text("Tag"), .integer(0), .integer(0)],
        ])
    #expect(
      try columns("ZITEM")
        == [
          "Z_PK", "Z_ENT", "Z_OPT", "ZCOUNT", "ZSOLD", "Z1_SPARE", "ZSHELF", "ZSPARE",
          "Z_FOK_SHELF", "ZWEIGHT", "ZMADE", "ZPRICE", "ZNAME", "ZPAGE", "ZSERIAL", "ZCODE",
          "ZPICTURE",
        ].map { .text($0) })
    #expect(try columns("Z_1TAGS") == ["Z_1ITEMS", "Z_4TAGS"].map { .text($0) })
    #expect(try columns("ACHANGE").contains(.text("ZTOMBSTONE0")))
    #expect(try file.scalar("PRAGMA journal_mode") == .text("wal"))
    #expect(try file.scalar("PRAGMA integrity_check") == .text("ok"))
  }

  @Test("A decimal is what it was, whatever its digits; a number where a double holds it")
  func decimals() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    var texts = ["0", "-0.000000000000001", "1e40", "9007199254740993", "0.30000000000000004"]
    for digits in 1...20 {
      let number = String("98765432109876543219".prefix(digits))
      texts += [number, "-0.\(number)", "\(number.prefix(digits / 2))0.\(number)"]
    }
    for text in texts {
      let value = try #require(Decimal(string: text))
      let key = try store.insert("Item", ["price": .decimal(value)])
      let stored = try store.read {
        try $0.connection.scalar(
          "SELECT typeof(ZPRICE) FROM ZITEM WHERE Z_PK = ?", .integer(key.key))
      }
      #expect(try store.values(key)?["price"] == .decimal(value), "\(text)")
      let isDouble = Double("\(value)").flatMap { Decimal(string: "\($0)") } == value
      #expect((stored == .text("blob")) != isDouble, "\(text)")
    }
    // Nor does what is no number become null.
    let key = try store.insert("Item", ["price": .decimal(.nan)])
    #expect(try store.values(key)?["price"] == .decimal(.nan))
    #expect(try RowArchive.decodeValues(RowArchive.encode([.decimal(.nan)])) == [.decimal(.nan)])
  }

  @Test("F77 Values of every type come back bit for bit")
  func valuesRoundTrip() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    let shelf = try store.insert("Shelf", ["label": .string("top")])
    let decimals = ["0.1", "12345678901234567890.123", "-0.000000000000000000001", "99.99", "7"]
    let doubles = [Double.nan, -0.0, 0.0, .infinity, -.infinity, .leastNonzeroMagnitude, 0.1]
    for index in 0..<7 {
      let values: [String: PropertyValue] = [
        "name": .string(["", "a\u{0}b", "é", "e\u{301}", "👩‍👩‍👧", "\u{202e}rtl", "x"][index]),
        "count": .integer([.min, .max, 0, -1, 1, 2, 3][index]),
        "price": .decimal(Decimal(string: decimals[index % 5]) ?? 0),
        "weight": .double(doubles[index]),
        "made": .date(Date(timeIntervalSinceReferenceDate: doubles[(index + 1) % 7])),
        "picture": .data(Data(repeating: UInt8(index), count: index * 100)),
        "code": .uuid(UUID()),
        "page": .uri(try #require(URL(string: "https://example.org/a?b=\(index)#c"))),
        "sold": .bool(index % 2 == 0),
        "shelf": .reference(shelf), "tags": .null,
      ]
      let key = try store.insert("Item", values)
      #expect(try store.values(key) == values)
    }
  }

  @Test("A reference to an entity with subentities keeps the concrete one")
  func concreteReference() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    let spare = try store.insert("Tool", ["serial": .string("1")])
    let tool = try store.insert("Tool", ["spare": .reference(spare)])
    #expect(try store.values(tool)?["spare"] == .reference(spare))
    #expect(spare.entity == 2)
  }

  @Test("The model travels inside: a store opens without one")
  func modelInside() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let first = try PersistentStore.open(url: url, model: Shop.model())
    let key = try first.insert("Item", ["name": .string("hammer")])
    first.close()
    let second = try PersistentStore.open(url: url)
    #expect(second.identifier == first.identifier)
    #expect(try second.values(key)?["name"] == .string("hammer"))
    #expect(
      second.model.entitiesByName["Item"]?.layout.slots.first { $0.name == "count" }?.policy
        == .counter)
  }

  @Test("A policy that changed in the application's model reaches those who open without it")
  func changedPolicyTravels() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    func model(_ policy: ConflictPolicy) -> ManagedObjectModel {
      let entity = EntityDescription("Item")
      entity.properties = [AttributeDescription("name", .string, conflictPolicy: policy)]
      return ManagedObjectModel(entities: [entity])
    }
    for policy in [ConflictPolicy.serverWins, .clientWins] {
      try PersistentStore.open(url: url, model: model(policy)).close()
      let store = try PersistentStore.open(url: url)
      #expect(store.model.entitiesByName["Item"]?.layout.slots.first?.policy == policy)
      #expect(try store.read { try $0.maximumTransactionNumber() } == 0)
    }
  }

  @Test("A file that is no store is refused with its own error, and the path is free again")
  func refusals() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("x.sqlite")
    func code(_ model: ManagedObjectModel?) -> StoreError.Code? {
      do {
        _ = try PersistentStore.open(url: url, model: model)
        return nil
      } catch { return (error as? StoreError)?.code }
    }
    try Data(repeating: 1, count: 8192).write(to: url)
    #expect(code(try Shop.model()) == .notADatabase)
    try FileManager.default.removeItem(at: url)
    let other = try SQLiteConnection(path: url.path, mode: .readWriteCreate)
    try other.execute("CREATE TABLE t (x)")
    other.close()
    #expect(code(try Shop.model()) == .notAStore)
    try FileManager.default.removeItem(at: url)
    try Data().write(to: url)
    #expect(code(nil) == .missingModel)
    let small = EntityDescription("Item")
    small.properties = [AttributeDescription("name", .string)]
    #expect(code(ManagedObjectModel(entities: [small])) == nil)
    #expect(code(try Shop.model()) == .incompatibleModel)
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }
    #expect(!open.contains { $0.hasPrefix(url.path) }, "nothing is left open")
  }

  @Test("A store opened for reading refuses writes")
  func readOnly() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    try PersistentStore.open(url: url, model: Shop.model()).close()
    let store = try PersistentStore.open(url: url, options: StoreOptions(isReadOnly: true))
    #expect { try store.insert("Item") } throws: { ($0 as? StoreError)?.code == .readOnly }
  }

  @Test("An update of a row that changed meanwhile is a conflict, and changes nothing")
  func optimisticLock() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    let key = try store.insert("Item", ["name": .string("a")])
    try store.update(key, "name", .string("b"), version: 1)
    #expect {
      try store.update(key, "name", .string("c"), version: 1)
    } throws: { error in
      (error as? StoreError)?.code == .conflict && (error as? StoreError)?.keys == [key]
    }
    #expect(try store.values(key)?["name"] == .string("b"))
    #expect(try store.read { try $0.row(key)?.version } == 2)
  }

  @Test("When a write fails half way, neither rows nor history nor keys are left")
  func failedWrite() throws {
    struct Stop: Error {}
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    try store.insert("Item")
    #expect(throws: Stop.self) {
      _ = try store.write(TransactionInfo()) { transaction in
        let item = try #require(store.model.entitiesByName["Item"])
        let key = try transaction.allocateKeys(item, count: 1).lowerBound
        try transaction.insert(item, key, values: [PropertyValue]())
        throw Stop()
      }
    }
    #expect(try store.insert("Item").key == 2)
    #expect(try store.read { try $0.maximumTransactionNumber() } == 2)
  }

  @Test("Many-to-many pairs are seen from both ends; an ordered relationship keeps its order")
  func relationships() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    let shelf = try store.insert("Shelf")
    let items = try (0..<3).map { _ in try store.insert("Item", ["shelf": .reference(shelf)]) }
    let tag = try store.insert("Tag")
    let tags = try #require(store.model.entitiesByName["Item"]?.relationshipsByName["tags"])
    let tagged = try #require(tags.inverseRelationship)
    let shelved = try #require(store.model.entitiesByName["Shelf"]?.relationshipsByName["items"])
    _ = try store.write(TransactionInfo()) { transaction in
      try transaction.addPairs(tags, items[0], [tag])
      try transaction.addPairs(tagged, tag, [items[2], items[0]])
      try transaction.setOrder(shelved, shelf, [items[2], items[0], items[1]])
    }
    try store.read { transaction throws in
      #expect(try transaction.toManyKeys(of: tag, tagged) == [items[0], items[2]])
      #expect(try transaction.toManyKeys(of: items[0], tags) == [tag])
      #expect(try transaction.toManyKeys(of: shelf, shelved) == [items[2], items[0], items[1]])
    }
    _ = try store.write(TransactionInfo()) { try $0.removePairs(tags, items[0], [tag]) }
    #expect(try store.read { try $0.toManyKeys(of: tag, tagged) } == [items[2]])
  }
}
