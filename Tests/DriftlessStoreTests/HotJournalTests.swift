import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Files whose writer was killed in the middle of a transaction with a rollback journal.
struct HotJournalTests {
  @Test("Who only reads a file finds it as it was before the transaction that was not finished")
  func reads() throws {
    let directory = try TemporaryDirectory()
    let url = try killed(in: directory)
    #expect(FileNumber.size(of: url.path + "-journal") ?? 0 > 0)
    for options in [
      StoreOptions.inspecting(url), StoreOptions(isReadOnly: true, createsFile: false),
    ] {
      let store = try PersistentStore.open(url: url, options: options)
      #expect(try names(store) == ["before"])
      #expect(try store.check().isSound)
      store.close()
    }
    #expect(FileNumber.size(of: url.path + "-journal") ?? 0 == 0)
    #expect(try PersistentStore.metadata(at: url).identifier.isEmpty == false)
  }

  @Test("A migration begins with the file as it was before the transaction that was not finished")
  func migrates() throws {
    let directory = try TemporaryDirectory()
    let url = try killed(in: directory)
    // Who migrates looks first at what the file says of itself.
    #expect(try !PersistentStore.metadata(at: url).identifier.isEmpty)
    let newer = try Shop.model()
    let more = EntityDescription("More")
    more.properties = [AttributeDescription("name", .string)]
    newer.entities.append(more)
    let store = try PersistentStore.open(
      url: url, model: newer, options: StoreOptions(migratesAutomatically: true))
    #expect(try names(store) == ["before"])
    #expect(try store.check().isSound)
  }

  private func names(_ store: PersistentStore) throws -> [String] {
    try store.read { transaction in
      try transaction.connection.rows("SELECT DISTINCT ZNAME FROM ZITEM").compactMap {
        if case .text(let name) = $0[0] { name } else { nil }
      }
    }
  }

  /// A file with a journal, as a program leaves them that is killed.
  private func killed(in directory: TemporaryDirectory) throws -> URL {
    let original = directory.file("original.sqlite")
    let store = try PersistentStore.open(url: original, model: Shop.model())
    for _ in 0..<200 { try store.insert("Item", ["name": .string("before")]) }
    store.close()
    let connection = try SQLiteConnection(path: original.path, mode: .readWrite)
    defer { connection.close() }
    _ = try connection.scalar("PRAGMA journal_mode = DELETE")
    try connection.execute(
      "PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE ZITEM SET ZNAME = 'after ' || hex(zeroblob(2000))"
    )
    let url = directory.file("killed.sqlite")
    for suffix in ["", "-journal"] {
      try FileManager.default.copyItem(atPath: original.path + suffix, toPath: url.path + suffix)
    }
    return url
  }
}
