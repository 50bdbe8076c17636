import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Who read a row knows it by its key and its version.
struct RowVersionTests {
  @Test("No two rows of one key have the same version, however often it is deleted and comes back")
  func everyVersion() throws {
    let directory = try TemporaryDirectory()
    let store = try PersistentStore.open(url: directory.file("shop.sqlite"), model: Shop.model())
    let key = try store.insert("Tag", ["name": .string("first")])
    let entity = try #require(store.schema.entity(numbered: key.entity))
    let slot = try #require(entity.layout.index(named: "name"))
    var values = [PropertyValue](repeating: .null, count: entity.layout.slots.count)
    var numbers = SeededNumbers(seed: 11)
    var seen: Set<Int64> = [1]
    for round in 0..<300 {
      values[slot] = .string("\(round)")
      // A transaction may do several of them.
      var versions: [Int64] = []
      _ = try store.write(TransactionInfo()) { transaction in
        for _ in 0...numbers.number(below: 3) {
          guard let row = try transaction.row(key) else {
            let version = try transaction.insert(entity, key.key, values: values)
            #expect(try transaction.row(key)?.version == version)
            versions.append(version)
            continue
          }
          if numbers.chance(30) {
            try transaction.delete(key, expectedVersion: row.version)
          } else {
            try transaction.update(
              key, PropertyMask([slot]), values: values, expectedVersion: row.version)
            versions.append(row.version + 1)
          }
        }
      }
      for version in versions { #expect(seen.insert(version).inserted, "\(version)") }
    }
    #expect(seen.count > 200)
    // A new object begins at 1, as in Core Data.
    let new = try store.insert("Tag")
    #expect(try store.read { try $0.row(new)?.version } == 1)
  }
}
