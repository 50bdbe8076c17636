import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// A store that is closed, or moved, in the middle of its own work.
struct ClosingTests {
  private func store(_ url: URL?) throws -> PersistentStore {
    try PersistentStore.open(url: url, model: try Shop.model())
  }

  @Test(
    "Closed within its own write, a store finishes the write, and then is closed",
    arguments: [true, false])
  func withinWrite(isFile: Bool) throws {
    let directory = try TemporaryDirectory()
    let url = isFile ? directory.file("shop.sqlite") : nil
    let store = try store(url)
    let number = try store.write(TransactionInfo()) { transaction in
      try transaction.setSetting("before", .integer(1))
      store.close()
      try transaction.setSetting("after", .integer(2))
    }
    _ = number
    #expect(throws: StoreError.self) { try store.write(TransactionInfo()) { _ in } }
    #expect(throws: StoreError.self) { try store.read { _ in } }
    guard let url else { return }
    let again = try PersistentStore.open(url: url, model: try Shop.model())
    #expect(try again.read { try $0.setting("before") } == .integer(1))
    #expect(try again.read { try $0.setting("after") } == .integer(2))
  }

  @Test("Closed within its own read, a store in memory finishes the read")
  func withinRead() throws {
    let store = try store(nil)
    let count = try store.read { transaction -> Int in
      store.close()
      return try transaction.connection.rows("SELECT 1 FROM sqlite_master").count
    }
    #expect(count > 3)
    #expect(throws: StoreError.self) { try store.read { _ in } }
  }

  @Test("Closed twice, within a write and after it, a store is closed once")
  func twice() throws {
    let directory = try TemporaryDirectory()
    let store = try store(directory.file("shop.sqlite"))
    _ = try store.write(TransactionInfo()) { _ in
      store.close()
      store.close()
    }
    store.close()
    #expect(throws: StoreError.self) { try store.read { _ in } }
  }

  @Test("A store does not move within its own write")
  func moved() throws {
    let directory = try TemporaryDirectory()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try Shop.model())
    let store = try coordinator.addPersistentStore(at: directory.file("shop.sqlite"))
    _ = try store.write(TransactionInfo()) { transaction in
      let error = #expect(throws: StoreError.self) {
        try coordinator.migratePersistentStore(store, to: directory.file("other.sqlite"))
      }
      #expect(error?.code == .busy)
      try transaction.setSetting("after", .integer(2))
    }
    #expect(try store.read { try $0.setting("after") } == .integer(2))
    #expect(!FileManager.default.fileExists(atPath: directory.file("other.sqlite").path))
  }

  @Test("A store in memory that is written within its own read says that it is busy")
  func writtenWithinRead() throws {
    let store = try store(nil)
    try store.read { _ in
      let error = #expect(throws: StoreError.self) { try store.write(TransactionInfo()) { _ in } }
      #expect(error?.code == .busy)
    }
    _ = try store.write(TransactionInfo()) { _ in }
  }
}
