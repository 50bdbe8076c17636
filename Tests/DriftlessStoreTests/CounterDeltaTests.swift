import DriftlessSQLite
import Foundation
import Testing

@testable import Driftless

/// What sync may need again of values that a save changes: bases and differences of counters.
struct CounterDeltaTests {
  private func syncing() throws -> PersistentStore {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    _ = try store.write(TransactionInfo()) { try $0.setSyncing(true) }
    return store
  }

  private func deltas(_ key: ObjectKey, _ store: PersistentStore) throws -> [PropertyValue] {
    try store.read { try $0.deltas(of: key, "count").map(\.value) }
  }

  private func count(_ table: String, _ store: PersistentStore) throws -> Int64 {
    let count = try store.read { try $0.connection.scalar("SELECT COUNT(*) FROM \(table)") }
    if case .integer(let count)? = count { return count }
    return -1
  }

  @Test("A local transaction keeps what it added to a counter: new minus old, null being zero")
  func kept() throws {
    let store = try syncing()
    let key = try store.insert("Item")
    try store.update(key, "count", .integer(5))
    try store.update(key, "count", .integer(3))
    try store.update(key, "count", .null)
    try store.update(key, "name", .string("n"))
    #expect(try deltas(key, store) == [.integer(5), .integer(-2), .integer(-3)])
    // Two writes of one transaction are one difference; what an import or a merge writes adds nothing.
    _ = try store.write(TransactionInfo()) { transaction in
      let layout = try #require(store.schema.entity(numbered: key.entity)?.layout)
      let slot = try #require(layout.index(named: "count"))
      for value: Int64 in [10, 14] {
        var values = [PropertyValue](repeating: .null, count: layout.slots.count)
        values[slot] = .integer(value)
        try transaction.update(key, PropertyMask([slot]), values: values, expectedVersion: nil)
      }
    }
    try store.update(key, "count", .integer(50), info: TransactionInfo(kind: .imported))
    try store.update(key, "count", .integer(60), info: TransactionInfo(kind: .resolution))
    #expect(try deltas(key, store).dropFirst(3) == [.integer(14)])
    let numbers = try store.read { try $0.deltas(of: key, "count").map(\.transaction) }
    #expect(numbers.count == 4)
    _ = try store.write(TransactionInfo()) { transaction in
      try transaction.dropDelta(of: key, "count", transaction: numbers[3])
      try transaction.dropDeltas(of: key, "count", through: numbers[1])
    }
    #expect(try store.read { try $0.deltas(of: key, "count").map(\.transaction) } == [numbers[2]])
    #expect(try store.read { try $0.propertiesWithDeltas() } == [key: ["count"]])
  }

  @Test("An object that is new in a transaction has no differences; nor has any without sync")
  func none() throws {
    let store = try syncing()
    _ = try store.write(TransactionInfo()) { transaction in
      let item = try #require(store.model.entitiesByName["Item"])
      let key = try transaction.allocateKeys(item, count: 1).lowerBound
      var values = [PropertyValue](repeating: .null, count: item.layout.slots.count)
      try transaction.insert(item, key, values: values)
      let slot = try #require(item.layout.index(named: "count"))
      values[slot] = .integer(3)
      try transaction.update(
        ObjectKey(entity: store.schema.entityNumber(of: item), key: key), PropertyMask([slot]),
        values: values, expectedVersion: nil)
    }
    #expect(try count("ZDL_DELTA", store) == 0)
    let plain = try PersistentStore.open(url: nil, model: Shop.model())
    let key = try plain.insert("Item")
    try plain.update(key, "count", .integer(5))
    #expect(try count("ZDL_DELTA", plain) == 0)
  }

  @Test("Sums and differences stop at the bounds of 64 bits, in the attribute's type")
  func bounds() {
    #expect(CounterDelta.difference(.integer(.max), .integer(-1)) == .integer(.max))
    #expect(CounterDelta.difference(.integer(.min), .integer(1)) == .integer(.min))
    #expect(CounterDelta.difference(.null, .integer(.min)) == .integer(.max))
    #expect(CounterDelta.sum(.integer(.max), .integer(1)) == .integer(.max))
    #expect(CounterDelta.sum(.integer(.min), .integer(-1)) == .integer(.min))
    #expect(CounterDelta.difference(.double(1.5), .null) == .double(1.5))
    #expect(CounterDelta.difference(.null, .decimal(2)) == .decimal(-2))
    #expect(CounterDelta.sum(.null, .decimal(2)) == .decimal(2))
    #expect(CounterDelta.difference(.string("a"), .null) == nil)
    #expect(CounterDelta.sum(.integer(1), .double(1)) == nil)
  }

  @Test("S9 An update that loses its conflict leaves no base, no difference and no cut reference")
  func conflict() throws {
    let store = try syncing()
    let shelf = try store.insert("Shelf")
    let key = try store.insert("Item", ["count": .integer(7), "shelf": .reference(shelf)])
    try store.update(
      key, "count", .integer(25), info: TransactionInfo(kind: .imported))
    for (name, value) in [("count", PropertyValue.integer(21)), ("shelf", .null)] {
      // A caller that goes on after the conflict, as a merge policy does.
      _ = try store.write(TransactionInfo()) { transaction in
        let layout = try #require(store.schema.entity(numbered: key.entity)?.layout)
        let slot = try #require(layout.index(named: name))
        var values = [PropertyValue](repeating: .null, count: layout.slots.count)
        values[slot] = value
        #expect {
          try transaction.update(key, PropertyMask([slot]), values: values, expectedVersion: 1)
        } throws: { ($0 as? StoreError)?.code == .conflict }
        try transaction.recordUpdate(key, PropertyMask([slot]))
      }
    }
    #expect(try count("ZDL_BASE", store) == 0 && count("ZDL_DELTA", store) == 0)
    try store.update(key, "count", .integer(26), version: 2)
    let base = try store.read { try $0.connection.scalar("SELECT value FROM ZDL_BASE") }
    #expect(base == .blob(RowArchive.encode([PropertyValue.integer(25)])))
    #expect(try deltas(key, store) == [.integer(1)])
  }

  @Test("A delete that loses its conflict leaves the object its pairs")
  func deleteConflict() throws {
    let store = try syncing()
    let container = PersistentStoreCoordinator(store: store)
    let context = ManagedObjectContext(container)
    let item = try context.insert(entityNamed: "Item")
    let tag = try context.insert(entityNamed: "Tag")
    item["tags"] = [tag]
    try context.save()
    let other = ManagedObjectContext(container)
    let theirs = try other.existingObject(with: item.objectID)
    theirs["name"] = "theirs"
    try other.save()
    context.mergePolicy = .mergeByPropertyStoreTrump
    context.delete(item)
    try context.save()
    let key = item.objectID.key
    let tags = try #require(
      store.model.entitiesByName["Item"]?.relationshipsByName["tags"])
    #expect(try store.read { try $0.toManyKeys(of: key, tags) }.count == 1)
  }

  @Test("After a failure that is no conflict, a transaction that goes on is not committed")
  func failedWrite() throws {
    let store = try syncing()
    let key = try store.insert("Item", ["count": .integer(1)])
    _ = try store.write(TransactionInfo()) {
      try $0.connection.execute(
        """
        CREATE TRIGGER broken BEFORE INSERT ON ZDL_BASE
        BEGIN SELECT abs(-9223372036854775808); END
        """)
    }
    #expect(throws: (any Error).self) {
      _ = try store.write(TransactionInfo()) { transaction in
        let layout = try #require(store.schema.entity(numbered: key.entity)?.layout)
        let slot = try #require(layout.index(named: "count"))
        var values = [PropertyValue](repeating: .null, count: layout.slots.count)
        values[slot] = .integer(2)
        try? transaction.update(key, PropertyMask([slot]), values: values, expectedVersion: nil)
      }
    }
    #expect(try store.values(key)?["count"] == .integer(1))
  }
}
