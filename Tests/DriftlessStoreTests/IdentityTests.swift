import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Identities, runs of them, and what sync keeps.
struct IdentityTests {
  @Test("An object made here has an identity that nothing stores, and that leads back to it")
  func minted() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    let key = try store.insert("Tool")
    try store.read { transaction throws in
      let identity = try transaction.identity(of: key)
      #expect(identity.uuidString.dropFirst(14).first == "8", "RFC 9562 version 8")
      #expect("89AB".contains(try #require(identity.uuidString.dropFirst(19).first)))
      #expect(try transaction.key(of: identity) == key)
      #expect(try transaction.key(of: UUID()) == nil)
      #expect(try transaction.connection.scalar("SELECT COUNT(*) FROM ZDL_IDENTITY") == .integer(0))
    }
  }

  @Test("An identity from outside belongs to one object only")
  func given() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    let first = try store.insert("Item")
    let second = try store.insert("Item")
    let identity = UUID()
    _ = try store.write(TransactionInfo()) { try $0.assignIdentity(first, identity) }
    #expect(try store.read { try $0.key(of: identity) } == first)
    #expect(try store.read { try $0.identity(of: first) } == identity)
    #expect {
      _ = try store.write(TransactionInfo()) { try $0.assignIdentity(second, identity) }
    } throws: { ($0 as? StoreError)?.code == .constraint }
  }

  @Test(
    "Many identities at once lead to what each leads to alone, and those of no living object to nothing"
  )
  func many() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    let (given, other) = (UUID(), UUID())
    let minted = try store.insert("Tool")
    let deleted = try store.insert("Item")
    let named = try (0..<3).map { _ in try store.insert("Item") }
    let gone = try store.read { try $0.identity(of: deleted) }
    _ = try store.write(TransactionInfo()) { transaction in
      try transaction.assignIdentity(named[0], given)
      try transaction.assignIdentities(
        root: 1, firstKey: named[1].key, count: 2, firstIdentity: other, firstNumber: nil)
      try transaction.delete(deleted, expectedVersion: nil)
    }
    try store.read { transaction throws in
      let identities = [
        given, other, other.following(by: 1), other.following(by: 2), gone, UUID(),
        try transaction.identity(of: minted),
      ]
      let keys = try transaction.livingKeys(of: identities)
      #expect(
        keys == [
          given: named[0], other: named[1], other.following(by: 1): named[2],
          identities[6]: minted,
        ])
      for identity in identities where identity != gone {
        #expect(try transaction.key(of: identity) == keys[identity])
      }
      var known: Set<UUID> = []
      try transaction.forEachKnown(identities) { known.insert($0) }
      #expect(known.isSuperset(of: Set(keys.keys).union([gone])))
      #expect(known.count == 5)
    }
  }

  @Test("Runs number keys that follow each other, split where numbers differ, and lead back")
  func runs() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    let keys = try (0..<10).map { _ in try store.insert("Item") }
    let identities = try store.read { transaction in try keys.map(transaction.identity(of:)) }
    let outside = UUID()
    _ = try store.write(TransactionInfo()) { transaction in
      try transaction.assignIdentity(keys[4], outside)
      try transaction.assignNumbers(root: 1, firstKey: 1, count: 10, firstNumber: 100)
    }
    func check(_ expected: [Int: UInt64]) throws {
      try store.read { transaction throws in
        for (index, number) in expected {
          #expect(try transaction.key(ofNumber: number)?.key == keys[index].key)
          let identity = index == 4 ? outside : identities[index]
          #expect(try transaction.identity(of: keys[index]) == identity)
          #expect(try transaction.key(of: identity) == keys[index])
        }
      }
    }
    try check(Dictionary(uniqueKeysWithValues: (0..<10).map { ($0, UInt64(100 + $0)) }))
    #expect(
      try store.read { try $0.connection.scalar("SELECT COUNT(*) FROM ZDL_IDENTITY") }
        == .integer(3))
    _ = try store.write(TransactionInfo()) {
      try $0.assignNumbers(root: 1, firstKey: 7, count: 2, firstNumber: 500)
    }
    try check([5: 105, 6: 500, 7: 501, 8: 108, 9: 109])
    #expect(try store.read { try $0.key(ofNumber: 110) } == nil)
    #expect(try store.read { try $0.key(ofNumber: 99) } == nil)
  }

  @Test("Runs from outside are numbered where they make up the keys, and only there")
  func runsFromOutside() throws {
    func numbered(
      _ runs: [(first: Int64, count: Int64)], _ first: Int64, _ count: Int64
    ) throws -> [UInt64?] {
      let store = try PersistentStore.open(url: nil, model: Shop.model())
      let keys = try (0..<6).map { _ in try store.insert("Item") }
      _ = try store.write(TransactionInfo()) { transaction in
        for (first, count) in runs {
          try transaction.assignIdentities(
            root: 1, firstKey: first, count: count, firstIdentity: UUID(), firstNumber: nil)
        }
      }
      let identities = try store.read { transaction in try keys.map(transaction.identity(of:)) }
      _ = try store.write(TransactionInfo()) {
        try $0.assignNumbers(root: 1, firstKey: first, count: count, firstNumber: 100)
      }
      return try store.read { transaction in
        #expect(try keys.map(transaction.identity(of:)) == identities)
        var numbers = [UInt64?](repeating: nil, count: 6)
        for number in 100..<106 as Range<UInt64> {
          guard let key = try transaction.key(ofNumber: number) else { continue }
          numbers[Int(key.key) - 1] = number
        }
        return numbers
      }
    }
    #expect(try numbered([(2, 1), (3, 1), (4, 2)], 2, 4) == [nil, 100, 101, 102, 103, nil])
    // As many keys in runs, but one has no run, and the last run goes on.
    #expect(try numbered([(1, 2), (4, 3)], 1, 5) == [100, 101, 102, 103, 104, nil])
    // The first run began before.
    #expect(try numbered([(1, 2), (3, 2)], 2, 3) == [nil, 100, 101, 102, nil, nil])
  }

  @Test("While a store syncs, a delete keeps the row and a counter keeps its base")
  func graveAndBase() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    let before = try store.insert("Item", ["count": .integer(1)])
    try store.update(before, "count", .integer(2))
    #expect(
      try store.read { try $0.connection.scalar("SELECT COUNT(*) FROM ZDL_BASE") } == .integer(0))
    _ = try store.write(TransactionInfo()) { try $0.setSyncing(true) }
    try store.update(before, "count", .integer(5))
    try store.update(before, "count", .integer(6))
    let base = try store.read { try $0.connection.scalar("SELECT value FROM ZDL_BASE") }
    guard case .blob(let bytes)? = base else {
      Issue.record("no base was kept")
      return
    }
    #expect(try RowArchive.decodeValues(bytes) == [.integer(2)])
    let values = try #require(try store.read { try $0.row(before)?.values })
    _ = try store.write(TransactionInfo()) { try $0.delete(before, expectedVersion: nil) }
    #expect(try store.read { try $0.grave(of: before) } == values)
  }

  @Test("Kept rows that are damaged give an error, whatever their bytes")
  func damagedRows() throws {
    let values: [PropertyValue] = [.string("abc"), .integer(1), .null, .uuid(UUID())]
    let bytes = RowArchive.encode(values)
    #expect(try RowArchive.decodeValues(bytes) == values)
    for count in 0..<bytes.count {
      #expect(throws: StoreError.self) { try RowArchive.decodeValues(bytes.prefix(count)) }
    }
    for index in 0..<bytes.count {
      var flipped = bytes
      flipped[index] ^= 0xff
      // Another value or an error: never a trap.
      _ = try? RowArchive.decodeValues(flipped)
    }
  }
}
