import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// A write-ahead log with bytes that are not what was written, and a clock that is asked for more than it has.
struct LogFaultTests {
  @Test(
    "F7 A log with a byte that is another gives a transaction from before it, whole, or its end")
  func flippedLog() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(url: url, model: Shop.model())
    for name in ["a", "b", "c", "d"] { try store.insert("Item", ["name": .string(name)]) }
    let image = try StoreImage(of: url)
    store.close()
    let log = try #require(image.wal)
    var fewer = 0
    for place in stride(from: 0, to: log.count, by: 601) {
      try image.lay(at: url)
      var flipped = log
      flipped[place] ^= 0x10
      try flipped.write(to: URL(fileURLWithPath: url.path + "-wal"))
      let store: PersistentStore
      do {
        store = try PersistentStore.open(url: url, options: StoreOptions(createsFile: false))
      } catch let error as StoreError {
        // Nothing of the store had come home when the log begins with its making.
        #expect(!error.suggestion.isEmpty)
        fewer += 1
        continue
      }
      #expect(try store.check().findings == [], "\(place)")
      let objects = try store.read { try $0.connection.scalar("SELECT COUNT(*) FROM ZITEM") }
      let history = try store.fetchHistory(.fetchHistory(after: Date.distantPast)).count
      #expect(objects == .integer(Int64(history)), "rows and history agree")
      if history < 4 { fewer += 1 }
      try store.insert("Item")
      store.close()
    }
    #expect(fewer > 3)
  }

  @Test("F34 A hundred thousand changes in one millisecond have times of their own, in their order")
  func manyInAMillisecond() throws {
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    var time = HybridTime(now)
    for _ in 0..<100_000 {
      let next = time.next(at: now)
      #expect(next > time)
      time = next
    }
    // The counter went on into the milliseconds: two of them, far from anybody's tolerance.
    #expect(time.rawValue >> 16 - HybridTime(now).rawValue >> 16 <= 2)
  }

  @Test("F32 F33 A clock before 1970, far ahead, or in another season gives times that go on")
  func oddClocks() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    var last = HybridTime(rawValue: 0)
    for seconds in [0, -86_400, 1_774_742_399, 1_774_738_800, 4_102_444_800, 1, -1e15] {
      let date = Date(timeIntervalSince1970: seconds)
      store.setClock { date }
      let committed = try store.write(TransactionInfo()) { transaction in
        let item = try #require(store.model.entitiesByName["Item"])
        let key = try transaction.allocateKeys(item, count: 1).lowerBound
        try transaction.insert(
          item, key,
          values: [PropertyValue](repeating: .null, count: item.layout.slots.count))
      }.committed
      let time = try #require(committed).hybridTime
      #expect(time > last)
      last = time
    }
  }
}
