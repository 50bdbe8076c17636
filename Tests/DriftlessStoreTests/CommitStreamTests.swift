import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Driftless

/// Streams of commits that begin while a store is written.
struct CommitStreamTests {
  @Test(
    "A stream that begins during a write waits for nobody who waits for it",
    .timeLimit(.minutes(10))
  )
  func duringWrite() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    for _ in 0..<20 {
      let writing = DispatchSemaphore(value: 0)
      let asking = DispatchSemaphore(value: 0)
      let thread = Thread {
        writing.wait()
        asking.signal()
        _ = store.changes()
        asking.signal()
      }
      thread.start()
      let entity = try #require(store.model.entitiesByName["Tag"])
      _ = try store.write(TransactionInfo()) { transaction in
        let key = try transaction.allocateKeys(entity, count: 1).lowerBound
        try transaction.insert(entity, key, values: [.null, .null])
        writing.signal()
        asking.wait()
        // It may be at the store by now, or not yet: both are to end.
        usleep(2000)
      }
      asking.wait()
    }
  }

  @Test("A stream of a store that is closed ends at once", .timeLimit(.minutes(1)))
  func afterClosing() async throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    store.close()
    var changes = store.changes().makeAsyncIterator()
    #expect(await changes.next() == nil)
    var bells = store.bells().makeAsyncIterator()
    #expect(await bells.next() == nil)
  }
}
