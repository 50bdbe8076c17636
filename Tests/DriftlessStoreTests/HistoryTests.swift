import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// The change log: one transaction a write, tokens, filters, purging, and what other processes see.
struct HistoryTests {
  private func store() throws -> PersistentStore {
    try PersistentStore.open(url: nil, model: Shop.model())
  }

  @Test("Each write is one transaction with author, context name and the changed properties")
  func transactions() throws {
    let store = try store()
    let key = try store.insert(
      "Tool", ["serial": .string("s1")],
      info: TransactionInfo(author: "till", contextName: "main"))
    try store.update(key, "name", .string("drill"), info: TransactionInfo(author: "ship"))
    _ = try store.write(TransactionInfo()) { try $0.delete(key, expectedVersion: 2) }
    let history = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    #expect(history.map(\.transactionNumber) == [1, 2, 3])
    #expect(history.map(\.author) == ["till", "ship", nil])
    #expect(history.first?.contextName == "main")
    #expect(history.map { $0.changes?.map(\.changeType) } == [[.insert], [.update], [.delete]])
    #expect(history[1].changes?.first?.updatedProperties == ["name"])
    #expect(history[0].changes?.first?.updatedProperties == nil)
    #expect(history[2].changes?.first?.tombstone == ["serial": .string("s1")])
    #expect(history[0].hybridTime < history[1].hybridTime)
    #expect(history[1].hybridTime < history[2].hybridTime)
  }

  @Test("Changes are recorded in the order in which they were made, however inserts are gathered")
  func orderOfChanges() throws {
    let store = try store()
    let item = try #require(store.model.entitiesByName["Item"])
    let tool = try #require(store.model.entitiesByName["Tool"])
    let name = try #require(item.layout.index(named: "name"))
    let none = [PropertyValue](repeating: .null, count: tool.layout.slots.count)
    let committed = try store.write(TransactionInfo()) { transaction in
      // One hierarchy, so one row of keys: 1, 2, 3 | 4 of the subentity | 9, 10 | 7.
      for key in 1...3 { try transaction.insert(item, Int64(key), values: none) }
      try transaction.insert(tool, 4, values: none)
      let version = try transaction.insert(item, 9, values: none)
      try transaction.insert(item, 10, values: none)
      try transaction.insert(item, 7, values: none)
      try transaction.update(
        ObjectKey(entity: 1, key: 9), PropertyMask([name]), values: none, expectedVersion: version)
      try transaction.insert(item, 11, values: none)
      try transaction.insert(item, 12, values: none)
      try transaction.delete(ObjectKey(entity: 1, key: 11), expectedVersion: nil)
    }.committed
    #expect(committed?.changeCount == 11)
    var seen: [[Int64]] = []
    try store.read { transaction in
      try transaction.forEachChange(after: 0) { _, type, key, _ in
        seen.append([Int64(type.rawValue), Int64(key.entity), key.key])
      }
    }
    #expect(
      seen == [
        [0, 1, 1], [0, 1, 2], [0, 1, 3], [0, 2, 4], [0, 1, 9], [0, 1, 10], [0, 1, 7], [1, 1, 9],
        [0, 1, 11], [0, 1, 12], [2, 1, 11],
      ])
    let history = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    #expect(history.first?.changes?.map(\.changeID) == Array(1...11))
  }

  @Test("Changes of many kinds, and more of one kind than are written at once, keep their order")
  func runsOfChanges() throws {
    let store = try store()
    let item = try #require(store.model.entitiesByName["Item"])
    let tool = try #require(store.model.entitiesByName["Tool"])
    let slots = ["name", "serial"].compactMap { tool.layout.index(named: $0) }
    let none = [PropertyValue](repeating: .null, count: tool.layout.slots.count)
    var expected: [String] = []
    let committed = try store.write(TransactionInfo()) { transaction in
      var versions: [Int64] = []
      for key in 1...5000 {
        versions.append(try transaction.insert(tool, Int64(key), values: none))
        expected.append("0 2 \(key) []")
      }
      for key in 1...5000 {
        // Runs of one, of two, and longer than are gathered.
        let slot = key < 20 ? slots[key % 2] : key < 40 ? slots[key / 2 % 2] : slots[0]
        try transaction.update(
          ObjectKey(entity: 2, key: Int64(key)), PropertyMask([slot]), values: none,
          expectedVersion: versions[key - 1])
        expected.append("1 2 \(key) [\(slot)]")
      }
      try transaction.insert(item, 9000, values: none)
      expected.append("0 1 9000 []")
      for key in [7, 8] {
        try transaction.delete(ObjectKey(entity: 2, key: Int64(key)), expectedVersion: nil)
        expected.append("2 2 \(key) []")
      }
    }.committed
    #expect(committed?.changeCount == Int64(expected.count))
    var seen: [String] = []
    try store.read { transaction in
      try transaction.forEachChange(after: 0) { _, type, key, mask in
        seen.append("\(type.rawValue) \(key.entity) \(key.key) \(mask?.indexes ?? [])")
      }
    }
    #expect(seen == expected)
  }

  @Test("History is asked for by token, date and transaction, and filtered by author and entity")
  func requests() throws {
    let store = try store()
    try store.insert("Item", info: TransactionInfo(author: "a"))
    let token = try store.currentHistoryToken()
    try store.insert("Tag", info: TransactionInfo(author: "b"))
    try store.insert("Item", info: TransactionInfo(author: "b"))
    func numbers(_ request: PersistentHistoryChangeRequest) throws -> [Int64] {
      try store.fetchHistory(request).map(\.transactionNumber)
    }
    #expect(try numbers(.fetchHistory(after: token)) == [2, 3])
    #expect(try numbers(.fetchHistory(after: Date.distantPast)) == [1, 2, 3])
    #expect(try numbers(.fetchHistory(after: Date.distantFuture)) == [])
    let first = try #require(
      try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?)).first)
    #expect(try numbers(.fetchHistory(after: first)) == [2, 3])
    var request = PersistentHistoryChangeRequest.fetchHistory(after: nil as PersistentHistoryToken?)
    request.author = "b"
    #expect(try numbers(request) == [2, 3])
    request.entityName = "Item"
    #expect(try numbers(request) == [3])
    let coded = try JSONDecoder().decode(
      PersistentHistoryToken.self, from: JSONEncoder().encode(token))
    #expect(coded == token)
  }

  @Test(
    "F55 Purging stops before the slowest registered reader, and an old token says that it expired")
  func purge() throws {
    let store = try store()
    for _ in 0..<5 { try store.insert("Item") }
    let old = PersistentHistoryToken(numbers: [store.identifier: 1])
    try store.registerHistoryReader(
      "slow", at: PersistentHistoryToken(numbers: [store.identifier: 2]))
    #expect(try store.deleteHistory(before: Date.distantFuture) == 2)
    #expect {
      _ = try store.fetchHistory(.fetchHistory(after: old))
    } throws: { ($0 as? StoreError)?.code == .historyTokenExpired }
    try store.unregisterHistoryReader("slow")
    try store.deleteHistory(before: PersistentHistoryToken(numbers: [store.identifier: 5]))
    let left = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    #expect(left.map(\.transactionNumber) == [5])
    #expect(left.first?.changes?.count == 1)
    let foreign = PersistentHistoryToken(numbers: ["another": 1])
    #expect {
      _ = try store.fetchHistory(.fetchHistory(after: foreign))
    } throws: { ($0 as? StoreError)?.code == .historyTokenExpired }
  }

  @Test("F31 The hybrid clock never goes back, whatever the wall clock says")
  func hybridClock() {
    let start = HybridTime(Date(timeIntervalSince1970: 1_000_000))
    let earlier = Date(timeIntervalSince1970: 10)
    #expect(start.next(at: earlier) > start)
    #expect(start.next(at: earlier).milliseconds == start.milliseconds)
    var time = start
    for _ in 0..<70_000 { time = time.next(at: earlier) }
    #expect(time.milliseconds == start.milliseconds + 1, "the counter carries")
    #expect(HybridTime(Date(timeIntervalSince1970: .nan)).rawValue == 0)
    #expect(HybridTime(Date(timeIntervalSince1970: -5)).rawValue == 0)
    #expect(HybridTime(rawValue: .max).next(at: earlier).rawValue == .max)
  }

  @Test("Another opener of the file is told of each commit")
  func changesAcrossOpeners() async throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let writer = try PersistentStore.open(url: url, model: Shop.model())
    let watcher = try PersistentStore.open(url: url)
    var iterator = watcher.changes().makeAsyncIterator()
    try writer.insert("Item")
    #expect(await iterator.next() == 1)
    try writer.insert("Item")
    #expect(await iterator.next() == 2)
  }

  @Test("Only one may sync a store; the other learns which process does")
  func syncLock() throws {
    let directory = try TemporaryDirectory()
    let store = try PersistentStore.open(url: directory.file("s.sqlite"), model: Shop.model())
    do {
      let lock = try store.acquireSyncLock()
      #expect {
        _ = try store.acquireSyncLock()
      } throws: { error in
        guard let error = error as? StoreError else { return false }
        return error.code == .syncLocked && error.message.contains("\(getpid())")
      }
      withExtendedLifetime(lock) {}
    }
    _ = try store.acquireSyncLock()
  }

  @Test("The log is moved home under the file lock, and only when nobody writes")
  func checkpoint() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let other = try FileLock(path: url.path + "-driftless-lock")
    try other.lock(.shared)
    let picture = PropertyValue.data(Data(repeating: 9, count: 3 << 20))
    for _ in 0..<8 { try store.insert("Item", ["picture": picture]) }
    func walBytes() throws -> Int {
      (try FileManager.default.attributesOfItem(atPath: url.path + "-wal")[.size] as? Int) ?? 0
    }
    #expect(try walBytes() > StoreTuning.checkpointBytes, "a writer elsewhere holds it off")
    other.unlock()
    try store.insert("Item")
    #expect(try walBytes() == 0)
  }
}
