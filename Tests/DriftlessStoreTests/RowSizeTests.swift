import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Rows whose values are fewer than an entity has.
struct RowSizeTests {
  private let directory: TemporaryDirectory
  private let store: PersistentStore

  init() throws {
    directory = try TemporaryDirectory()
    store = try PersistentStore.open(url: directory.file("shop.sqlite"), model: Shop.model())
  }

  private func entity(_ name: String) throws -> EntityDescription {
    try #require(store.model.entitiesByName[name])
  }

  @Test("An update without a value for what it writes is refused; an insert has null for it")
  func short() throws {
    let item = try entity("Item")
    let sold = try #require(item.layout.index(named: "sold"))
    let key = ObjectKey(
      entity: store.schema.entityNumber(of: item),
      key: try store.write(TransactionInfo()) { transaction in
        let keys = try transaction.allocateKeys(item, count: 2)
        try transaction.insert(item, keys.lowerBound, values: [.null])
        return keys.lowerBound
      }.0)
    #expect(try store.values(key)?["name"] == .null)
    let error = #expect(throws: StoreError.self) {
      _ = try store.write(TransactionInfo()) { transaction in
        try transaction.update(key, PropertyMask([sold]), values: [.null], expectedVersion: nil)
      }
    }
    #expect(error?.code == .invalidArgument)
  }

  @Test("New rows of fewer values than the entity has are refused")
  func newRows() throws {
    let item = try entity("Item")
    let values = [PropertyValue](repeating: .null, count: item.layout.slots.count)
    for (count, isRight) in [(values.count, true), (values.count - 1, false)] {
      let insert = {
        try Array(values.prefix(count)).withRow { row in
          _ = try store.write(TransactionInfo()) { transaction in
            var rows = NewRows()
            for key in try transaction.allocateKeys(item, count: 3) {
              rows.append(key, row)
            }
            try transaction.insert(item, rows)
          }
        }
      }
      if isRight { try insert() } else { #expect(throws: StoreError.self) { try insert() } }
    }
  }

  @Test("A reference that no object can have leads to none of the new objects")
  func strangeReferences() {
    let naming = NewRows.Naming(newKeys: [ObjectKey(entity: 1, key: 7)], base: 1 << 36)
    func name(_ key: Int64) -> PropertyValue {
      naming.name(.reference(ObjectKey(entity: 1, key: key)))
    }
    #expect(name(-(1 << 36) - 1) == .reference(ObjectKey(entity: 1, key: 7)))
    let strange: [Int64] = [.min, .min + 1, -1, -(1 << 36), -(1 << 36) - 2]
    for key in strange { #expect(name(key) == .null) }
  }

  @Test("A row is not read into the memory of an object of another entity")
  func otherRoom() throws {
    let (item, tool) = (try entity("Item"), try entity("Tool"))
    try store.insert("Tool", ["serial": .string("s")])
    let query = try QueryCompiler(schema: store.schema).compile(entity: item)
    for (entity, count) in [(item, 64), (tool, item.layout.slots.count)] {
      var room = [PropertyValue](repeating: .null, count: count)
      let error = #expect(throws: StoreError.self) {
        try store.read { transaction in
          try transaction.forEachRow(of: query) { row in
            try room.withRoom { try row.decode(into: $0, count, of: entity) }
          }
        }
      }
      #expect(error?.code == .damaged && room.allSatisfy(\.isNull))
    }
  }
}
