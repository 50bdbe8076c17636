import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// A fetch that is cancelled while its statement runs.
struct InterruptionTests {
  @Test("Cancelling ends a statement that would never give a row, and the connection goes on")
  func endless() async throws {
    let directory = try TemporaryDirectory()
    let store = try PersistentStore.open(
      url: directory.file("empty.sqlite"), model: ManagedObjectModel(entities: []))
    let interruption = FetchInterruption()
    let (begun, beginning) = AsyncStream<Void>.makeStream()
    let statement = Task.detached {
      try store.read { transaction in
        let connection = transaction.connection
        try connection.createFunction("begun", argc: 0, deterministic: false) { _ in
          beginning.yield()
          return .integer(1)
        }
        return try interruption.during(connection) {
          try connection.scalar(
            """
            WITH RECURSIVE c(x) AS (SELECT begun() UNION ALL SELECT x + 1 FROM c)
            SELECT count(*) FROM c
            """)
        }
      }
    }
    var iterator = begun.makeAsyncIterator()
    await iterator.next()
    interruption.cancel()
    await #expect(throws: StoreError.self) { _ = try await statement.value }
    #expect(interruption.isCancelled)
    #expect(throws: FetchError.self) { try interruption.check() }
    #expect(try store.read { try $0.connection.scalar("SELECT 1") } == .integer(1))
  }
}
