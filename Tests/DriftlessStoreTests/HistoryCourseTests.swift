import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// A history that did not go on as who reads it believes: another store's, an older copy's, or one that Core Data wrote.
struct HistoryCourseTests {
  private let all = PersistentHistoryChangeRequest.fetchHistory(
    after: nil as PersistentHistoryToken?)

  private func filled(_ url: URL? = nil, _ count: Int) throws -> PersistentStore {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    for _ in 0..<count { try store.insert("Item") }
    return store
  }

  private func isExpired(_ body: () throws -> Void) -> Bool {
    do {
      try body()
      return false
    } catch { return (error as? StoreError)?.code == .historyTokenExpired }
  }

  @Test("A transaction of another store is no place in this one: nothing is answered or purged")
  func foreign() throws {
    let (store, other) = (try filled(3), try filled(5))
    let last = try #require(try other.fetchHistory(all).last)
    #expect(isExpired { _ = try store.fetchHistory(.fetchHistory(after: last)) })
    var purge = PersistentHistoryChangeRequest.deleteHistory(before: last)
    purge.resultType = .count
    #expect(try store.execute(purge).count == 0)
    #expect(try store.fetchHistory(all).count == 3)
  }

  private func filled(_ count: Int) throws -> PersistentStore { try filled(nil, count) }

  @Test("A purged transaction is an expired place, by itself as by its token")
  func purgedTransaction() throws {
    let store = try filled(4)
    let history = try store.fetchHistory(all)
    try store.deleteHistory(before: history[3].token)
    #expect(isExpired { _ = try store.fetchHistory(.fetchHistory(after: history[0])) })
    #expect(try store.fetchHistory(.fetchHistory(after: history[2])).count == 1)
  }

  @Test("When all is purged, the current token is good, and what comes after it is told")
  func currentAfterPurge() throws {
    let store = try filled(3)
    try store.deleteHistory(before: Date.distantFuture)
    let token = try store.currentHistoryToken()
    #expect(try store.fetchHistory(.fetchHistory(after: token)).isEmpty)
    try store.registerHistoryReader("app", at: token)
    try store.insert("Item")
    #expect(try store.fetchHistory(.fetchHistory(after: token)).map(\.transactionNumber) == [4])
    #expect(try store.currentHistoryToken().numbers == [store.identifier: 4])
  }

  @Test("A purge before a place that the store never reached is refused, and spoils no token")
  func purgeTooFar() throws {
    let store = try filled(3)
    let future = PersistentHistoryToken(numbers: [store.identifier: 1000])
    #expect(isExpired { try store.deleteHistory(before: future) })
    let token = try store.currentHistoryToken()
    try store.insert("Item")
    #expect(try store.fetchHistory(.fetchHistory(after: token)).count == 1)
    #expect(try store.fetchHistory(all).count == 4)
  }

  @Test(
    "After an older copy was put back, a token from before is expired, however far the numbers went on"
  )
  func putBack() throws {
    let directory = try TemporaryDirectory()
    let (url, copy) = (directory.file("shop.sqlite"), directory.file("copy.sqlite"))
    let store = try filled(url, 2)
    let early = try store.currentHistoryToken()
    try store.backup(to: copy)
    for _ in 0..<3 { try store.insert("Item") }
    let late = try store.currentHistoryToken()
    let lateTransaction = try #require(try store.fetchHistory(all).last)
    let kept = try JSONDecoder().decode(
      PersistentHistoryToken.self, from: JSONEncoder().encode(late))
    #expect(kept == late)
    store.close()
    try PersistentStore.replace(at: url, withStoreAt: copy)
    let restored = try filled(url, 5)
    #expect(try restored.fetchHistory(.fetchHistory(after: early)).count == 5)
    for token in [late, kept, lateTransaction.token] {
      #expect(isExpired { _ = try restored.fetchHistory(.fetchHistory(after: token)) })
      #expect(isExpired { try restored.deleteHistory(before: token) })
      #expect(isExpired { try restored.registerHistoryReader("app", at: token) })
    }
    let other = try JSONDecoder().decode(
      PersistentHistoryToken.self, from: Data(#"{"numbers":{"\#(url.path)":1}}"#.utf8))
    #expect(other.numbers.count == 1, "one that was kept without times is read")
  }

  @Test(
    "What Core Data wrote into a file that was opened here before is history like any other",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func coreDataGoesOn() throws {
    let original = SharedData.url("core-data-stores/SampleModel2/SampleModel2_V1.sqlite")
    let directory = try TemporaryDirectory()
    let url = directory.file("books.sqlite")
    try Data(contentsOf: original).write(to: url)
    let first = try PersistentStore.open(url: url)
    let start = try first.currentHistoryToken()
    first.close()
    // As Core Data does it, of which the file knows nothing of ours.
    let core = try SQLiteConnection(path: url.path, mode: .readWrite)
    try core.execute(
      """
      BEGIN; INSERT INTO ZWRITER (Z_PK, Z_ENT, Z_OPT, ZAGE) VALUES (3, 6, 1, 50);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_ENT = 5;
      INSERT INTO ATRANSACTION (Z_PK, Z_ENT, Z_OPT, ZTIMESTAMP) VALUES (2, 16002, 1, 800000000.5);
      INSERT INTO ACHANGE (Z_PK, Z_ENT, Z_OPT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID)
      SELECT Z_MAX + 1, 16001, 1, 0, 6, 3, 2 FROM Z_PRIMARYKEY WHERE Z_ENT = 16001;
      UPDATE Z_PRIMARYKEY SET Z_MAX = Z_MAX + 1 WHERE Z_ENT IN (16001, 16002); COMMIT
      """)
    core.close()
    let store = try PersistentStore.open(url: url)
    var fed: [Int64] = []
    try store.read { transaction in
      try transaction.forEachChange(after: 1) { header, _, _, _ in fed.append(header.number) }
    }
    #expect(fed == [2], "the change feed, which sync reads, has it")
    let news = try store.fetchHistory(.fetchHistory(after: start))
    #expect(news.map(\.transactionNumber) == [2])
    #expect(
      news.first.map { abs($0.hybridTime.date.timeIntervalSince($0.timestamp)) < 0.001 } == true)
    try store.insert("Author")
    #expect(try store.deleteHistory(before: store.currentHistoryToken()) == 2)
    #expect(try store.check().findings == [])
  }

  @Test(
    "What Core Data purged from a file makes tokens expire",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func coreDataPurges() throws {
    let original = SharedData.url("core-data-stores/SampleModel2/SampleModel2_V1.sqlite")
    let directory = try TemporaryDirectory()
    let url = directory.file("books.sqlite")
    try Data(contentsOf: original).write(to: url)
    let first = try PersistentStore.open(url: url)
    let start = try first.currentHistoryToken()
    for _ in 0..<3 { try first.insert("Author") }
    first.close()
    let core = try SQLiteConnection(path: url.path, mode: .readWrite)
    try core.execute(
      "DELETE FROM ACHANGE WHERE ZTRANSACTIONID < 4; DELETE FROM ATRANSACTION WHERE Z_PK < 4")
    core.close()
    let store = try PersistentStore.open(url: url)
    #expect(isExpired { _ = try store.fetchHistory(.fetchHistory(after: start)) })
    let left = PersistentHistoryToken(numbers: [store.identifier: 3])
    #expect(try store.fetchHistory(.fetchHistory(after: left)).count == 1)
  }

  @Test("What is saved after an older copy was put back is news to those who have the store open")
  func newsAfterPuttingBack() async throws {
    let directory = try TemporaryDirectory()
    let (url, copy) = (directory.file("shop.sqlite"), directory.file("copy.sqlite"))
    let store = try filled(url, 1)
    try store.backup(to: copy)
    for _ in 0..<5 { try store.insert("Item") }
    var news = store.changes().makeAsyncIterator()
    try store.insert("Item")
    #expect(await news.next() == 7)
    try PersistentStore.replace(at: url, withStoreAt: copy)
    try store.insert("Item")
    // What was put back may be told as well, or with it.
    var number = await news.next()
    while let told = number, told < 2 { number = await news.next() }
    #expect(number == 2)
    let other = try PersistentStore.open(url: url, model: Shop.model())
    try other.insert("Item")
    #expect(await news.next() == 3)
  }

  @Test("What was made since a date is not purged, though a clock was behind in between")
  func behindOnce() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("behind.sqlite")
    try filled(url, 3).close()
    let raw = try SQLiteConnection(path: url.path, mode: .readWrite)
    try raw.execute("UPDATE ATRANSACTION SET ZTIMESTAMP = 0 WHERE Z_PK = 3")
    raw.close()
    let store = try filled(url, 1)
    #expect(try store.deleteHistory(before: Date(timeIntervalSinceNow: -3600)) == 0)
    #expect(try store.fetchHistory(all).count == 4)
    #expect(try store.deleteHistory(before: .distantFuture) == 4)
  }
}
