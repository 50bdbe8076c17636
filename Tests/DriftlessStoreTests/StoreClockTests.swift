import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Driftless

/// Times of saves under clocks that are wrong, and that are set.
struct StoreClockTests {
  /// A host whose clocks stand still until they are moved.
  private final class Host: Sendable {
    let wall = Mutex<Int64>(1_700_000_000_000)
    let sinceBoot = Mutex<Int64>(50_000)

    func pass(_ milliseconds: Int64) {
      wall.withLock { $0 += milliseconds }
      sinceBoot.withLock { $0 += milliseconds }
    }

    func set(by milliseconds: Int64) { wall.withLock { $0 += milliseconds } }

    func run(_ store: PersistentStore) {
      store.setClock(
        { [self] in Date(timeIntervalSince1970: Double(wall.withLock { $0 }) / 1000) },
        sinceBoot: { [self] in sinceBoot.withLock { $0 } })
    }
  }

  private let host = Host()
  private let start: Int64 = 1_700_000_000_000

  private func store() throws -> PersistentStore {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    host.run(store)
    return store
  }

  /// Milliseconds after the start of the newest transaction.
  private func save(
    _ store: PersistentStore, _ info: TransactionInfo = TransactionInfo()
  ) throws -> Int64 {
    try store.insert("Item", info: info)
    return try newest(store)
  }

  private func newest(_ store: PersistentStore) throws -> Int64 {
    let time = try store.read { try $0.hybridTime(of: $0.maximumTransactionNumber()) }
    return Int64(time.milliseconds) - start
  }

  private func times(_ store: PersistentStore) throws -> [HybridTime] {
    try store.read { transaction in
      try (1...transaction.maximumTransactionNumber()).map(transaction.hybridTime(of:))
    }
  }

  @Test("F29 S23 A save's time is the host's time of day and the offset, and stays in the file")
  func offset() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(url: url, model: Shop.model())
    host.run(store)
    #expect(try store.clockOffsetMilliseconds == 0 && store.clockStep() == nil)
    #expect(try save(store) == 0)
    try store.setClockOffset(milliseconds: 5_000)
    #expect(try save(store) == 5_000)
    // It never goes back.
    try store.setClockOffset(milliseconds: -7_000)
    #expect(try save(store) == 5_000)
    store.close()
    let again = try PersistentStore.open(url: url)
    host.run(again)
    #expect(try again.clockOffsetMilliseconds == -7_000)
    host.pass(60_000)
    #expect(try save(again) == 53_000)
    let number = try again.currentHistoryToken()
    try again.setClockOffset(milliseconds: -7_010)
    #expect(try again.clockOffsetMilliseconds == -7_000, "the noise of a measure is not written")
    #expect(try again.currentHistoryToken() == number)
  }

  @Test(
    "F31 S23 A clock that is set back is counted on from what it was; one set forward is believed")
  func step() throws {
    let store = try store()
    try store.setClockOffset(milliseconds: -86_400_000)
    host.pass(1_000)
    host.set(by: -86_400_000)
    #expect(try store.clockStep() == -86_400_000)
    #expect(try save(store) == -86_399_000)
    // The next contact learns it anew.
    try store.setClockOffset(milliseconds: 0)
    #expect(try store.clockStep() == 0)
    host.pass(1_000)
    host.set(by: 3_600_000)
    #expect(try store.clockStep() == 3_600_000)
    #expect(try save(store) == 3_602_000 - 86_400_000)
    host.set(by: -3_600_000)
    host.pass(500)
    #expect(try store.clockStep() == 0)
  }

  @Test("F30 S23 What lies ahead is moved back in its own order, above what came from the zone")
  func restamp() throws {
    let store = try store()
    _ = try save(store)
    host.pass(1_000)
    _ = try save(store, TransactionInfo(kind: .imported))
    let token = try store.currentHistoryToken()
    host.set(by: 86_400_000)
    for _ in 0..<3 { _ = try save(store) }
    let ahead = try store.currentHistoryToken()
    host.set(by: -86_400_000)
    host.pass(1_000)
    let ceiling = HybridTime(rawValue: UInt64(start + 2_000) << 16)
    let before = try times(store)
    let moved = try store.write(TransactionInfo()) { try $0.restamp(after: 1, ceiling: ceiling) }.0
    #expect(moved == 3)
    let after = try times(store)
    #expect(after[..<2] == before[..<2])
    #expect(after == after.sorted() && Set(after).count == after.count)
    #expect(after[4] == ceiling && after[2] > after[1])
    #expect(
      try store.write(TransactionInfo()) { try $0.restamp(after: 1, ceiling: ceiling) }.0 == 0)
    // What comes next goes on from there, and tokens of the application still hold.
    host.pass(1_000)
    #expect(try save(store) == 3_000)
    #expect(try store.fetchHistory(.fetchHistory(after: ahead)).count == 1)
    #expect(try store.fetchHistory(.fetchHistory(after: token)).count == 4)
  }

  @Test(
    "S23 Where there is no room below the ceiling, order goes before it; what the zone has stays")
  func noRoom() throws {
    let store = try store()
    host.set(by: 1_000)
    _ = try save(store)
    _ = try save(store)
    _ = try save(store, TransactionInfo(kind: .imported))
    host.set(by: 1_000)
    for _ in 0..<4 { _ = try save(store) }
    let before = try times(store)
    let ceiling = before[2]
    _ = try store.write(TransactionInfo()) { transaction in
      try transaction.restamp(after: 1, through: 5, ceiling: ceiling)
    }
    let after = try times(store)
    #expect(after[..<3] == before[..<3] && after[5...] == before[5...])
    #expect(after[3] > ceiling && after[3] < after[4])
    #expect(after[4].rawValue == ceiling.rawValue + 2)
  }
}
