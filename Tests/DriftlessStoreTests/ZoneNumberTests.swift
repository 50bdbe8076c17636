import DriftlessSQLite
import Foundation
import Testing

@testable import Driftless

/// Zone object numbers, and the bytes that identities begin with.
struct ZoneNumberTests {
  private func store(_ count: Int) throws -> (PersistentStore, [ObjectKey]) {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    return (store, try (0..<count).map { _ in try store.insert("Item") })
  }

  @Test(
    "S1 A zone object number is one object's: ranges that overlap are refused",
    arguments: [(10, 3), (12, 1), (8, 3), (9, 5), (1 << 63, 1), (Int.max, 2)].map {
      (UInt64(bitPattern: Int64(truncatingIfNeeded: $0.0)), Int64($0.1))
    })
  func overlap(_ first: UInt64, _ count: Int64) throws {
    let (store, keys) = try store(9)
    _ = try store.write(TransactionInfo()) {
      try $0.assignNumbers(root: 1, firstKey: 1, count: 3, firstNumber: 10)
    }
    #expect {
      _ = try store.write(TransactionInfo()) {
        try $0.assignNumbers(root: 1, firstKey: 5, count: count, firstNumber: first)
      }
    } throws: { ($0 as? StoreError)?.code == .numberTaken }
    #expect(try store.read { try $0.key(ofNumber: 12) } == keys[2])
    _ = try store.write(TransactionInfo()) { transaction in
      try transaction.assignNumbers(root: 1, firstKey: 5, count: 2, firstNumber: 8)
      try transaction.assignNumbers(root: 1, firstKey: 7, count: 2, firstNumber: 13)
      // The same ones again are no others.
      try transaction.assignNumbers(root: 1, firstKey: 1, count: 3, firstNumber: 10)
    }
    #expect(try store.check().isSound)
    #expect(try store.read { try $0.key(ofNumber: 14) } == keys[7])
  }

  @Test("The check names numbers, keys and identities that two runs have")
  func check() throws {
    let (store, _) = try store(4)
    _ = try store.write(TransactionInfo()) { transaction in
      let identity = UUID()
      for (key, count, number, shift) in [(1, 2, 10, 0), (2, 1, 30, 9), (3, 1, 11, 1)] {
        try transaction.connection.run(
          "INSERT INTO ZDL_IDENTITY VALUES (1, ?, ?, ?, ?)", .integer(Int64(key)),
          .integer(Int64(count)), .integer(Int64(number)),
          .blob(identity.following(by: UInt64(shift)).networkBytes))
      }
    }
    let messages = try store.check().findings.map(\.message)
    #expect(messages.contains { $0.contains("zone object number 11") })
    #expect(messages.contains { $0.contains("key 2") })
    #expect(messages.contains { $0.contains("identity") })
  }

  @Test(
    "With a new prefix, what comes gets other identities, what is there keeps its own",
    arguments: [false, true])
  func prefix(withinOneTransaction: Bool) throws {
    let (store, keys) = try store(4)
    let outside = UUID()
    _ = try store.write(TransactionInfo()) { try $0.assignIdentity(keys[1], outside) }
    let before = try store.read { transaction in try keys.map(transaction.identity(of:)) }
    let former = try store.read { try $0.mintPrefix() }
    var late: (key: ObjectKey, identity: UUID)?
    _ = try store.write(TransactionInfo()) { transaction in
      if withinOneTransaction {
        let item = try #require(store.model.entitiesByName["Item"])
        let key = ObjectKey(
          entity: keys[0].entity, key: try transaction.allocateKeys(item, count: 1).lowerBound)
        try transaction.insert(
          item, key.key, values: Array(repeating: .null, count: item.layout.slots.count))
        late = (key, try transaction.identity(of: key))
      }
      try transaction.renewMintPrefix()
    }
    let next = try store.insert("Item")
    try store.read { transaction throws in
      #expect(try keys.map(transaction.identity(of:)) == before)
      for (key, identity) in zip(keys, before) {
        #expect(try transaction.key(of: identity) == key)
      }
      if let late { #expect(try transaction.identity(of: late.key) == late.identity) }
      #expect(try transaction.mintPrefix() != former)
      let minted = try transaction.identity(of: next)
      #expect([UInt8](minted.networkBytes.prefix(6)) != former)
      #expect(try transaction.key(of: minted) == next)
    }
    #expect(try store.check().isSound)
  }

  @Test("A pending object is given another identity, alone, and again where that is taken too")
  func remint() throws {
    let (store, keys) = try store(5)
    let before = try store.read { transaction in try keys.map(transaction.identity(of:)) }
    var minted: Set<UUID> = Set(before)
    for _ in 0..<3 {
      let identity = try store.write(TransactionInfo()) { try $0.remint(keys[2]) }.0
      #expect(minted.insert(identity).inserted)
      try store.read { transaction throws in
        #expect(try transaction.identity(of: keys[2]) == identity)
        #expect(try transaction.key(of: identity) == keys[2])
        #expect(try transaction.key(of: before[2]) == nil)
        for place in [0, 1, 3, 4] {
          #expect(try transaction.identity(of: keys[place]) == before[place])
          #expect(try transaction.key(of: before[place]) == keys[place])
        }
      }
    }
    let next = try store.insert("Item")
    #expect(try minted.insert(store.read { try $0.identity(of: next) }).inserted)
    // The zone's object comes, under the identity that went.
    let theirs = try store.insert("Item", info: TransactionInfo(kind: .imported))
    _ = try store.write(TransactionInfo()) { try $0.assignIdentity(theirs, before[2]) }
    #expect(try store.read { try $0.key(of: before[2]) } == theirs)
    _ = try store.write(TransactionInfo()) {
      try $0.assignNumbers(root: 1, firstKey: keys[0].key, count: 1, firstNumber: 1)
    }
    #expect(throws: StoreError.self) {
      _ = try store.write(TransactionInfo()) { try $0.remint(keys[0]) }
    }
    #expect(try store.check().isSound)
  }
}
