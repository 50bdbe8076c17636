import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// A copy of the same store that is written over the open file is another content, however new it is.
struct CopiedOverTests {
  enum Copy: CaseIterable {
    /// Saved into elsewhere, and so of later transactions.
    case newer
    /// Saved into elsewhere as often as here.
    case fork
    /// Of the same saves, and written anew.
    case vacuumed
    /// Before something was written down that is no save.
    case beforeNote
  }

  private func copy(_ file: URL, over other: URL) throws {
    let bytes = try Data(contentsOf: file)
    let handle = try FileHandle(forWritingTo: other)
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: bytes)
    try handle.close()
  }

  @Test("Who reads while an older copy is put back keeps the store")
  func putBackMeanwhile() throws {
    let directory = try TemporaryDirectory()
    let (url, copy) = (directory.file("shop.sqlite"), directory.file("copy.sqlite"))
    let store = try PersistentStore.open(url: url, model: Shop.model())
    try store.insert("Item")
    try store.backup(to: copy)
    for _ in 0..<5 { try store.insert("Item") }
    store.cutLog(ofBytes: 0)
    // As `replace` does it, which waits for those who read the log before it writes, and not for who begins then.
    let (writer, older) = (
      try SQLiteConnection(path: url.path, mode: .readWrite),
      try SQLiteConnection(path: copy.path, mode: .readWrite)
    )
    try LogLink(base: LogLink.of(writer)?.own ?? 0).write(older)
    _ = try older.scalar("PRAGMA journal_mode = DELETE")
    let reader = try SQLiteConnection(path: url.path, mode: .readOnly)
    defer { for connection in [writer, older, reader] { connection.close() } }
    try reader.reading {
      #expect(try reader.scalar("SELECT COUNT(*) FROM ZITEM") == .integer(6))
      try older.withSnapshot { try older.backUp(to: writer) { _ in } }
      // As by what is copied from the log.
      utimes(url.path, nil)
      try store.content?.check(reader)
      #expect(try reader.scalar("SELECT COUNT(*) FROM ZITEM") == .integer(1))
    }
    try store.insert("Item")
    #expect(
      try store.read { try $0.connection.scalar("SELECT COUNT(*) FROM ZITEM") } == .integer(2))
  }

  @Test("Nothing is written into a copy that was put over the open file", arguments: Copy.allCases)
  func written(copy kind: Copy) throws {
    let directory = try TemporaryDirectory()
    let (url, elsewhere) = (directory.file("shop.sqlite"), directory.file("elsewhere.sqlite"))
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let key = try store.insert("Item", ["name": .string("a")])
    for number in 0..<50 { try store.insert("Tag", ["name": .string("\(number)")]) }
    store.cutLog(ofBytes: 0)
    try FileManager.default.copyItem(at: url, to: elsewhere)
    func change(_ count: Int) throws {
      let other = try PersistentStore.open(url: elsewhere, model: Shop.model())
      for number in 0..<count { try other.insert("Tag", ["name": .string("there \(number)")]) }
      other.close()
    }
    switch kind {
    case .newer: try change(3)
    case .fork:
      try change(2)
      for _ in 0..<2 { try store.insert("Tag", ["name": .string("here")]) }
    case .vacuumed:
      let connection = try SQLiteConnection(path: elsewhere.path, mode: .readWrite)
      try connection.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
      connection.close()
    case .beforeNote:
      _ = try store.write(TransactionInfo()) { try $0.setSetting("import.place", .text("a b c")) }
    }
    store.cutLog(ofBytes: 0)
    try copy(elsewhere, over: url)
    let before = try Data(contentsOf: url)
    let error = #expect(throws: StoreError.self) {
      try store.update(key, "name", .string("mixed"))
    }
    #expect(error?.code == .fileReplaced)
    // It stays so, for reads as well.
    let again = #expect(throws: StoreError.self) { try store.values(key) }
    #expect(again?.code == .fileReplaced)
    store.close()
    #expect(try Data(contentsOf: url) == before)
    let present = try PersistentStore.open(url: url, model: Shop.model())
    #expect(try present.values(key)?["name"] == .string("a"))
    #expect(try present.check().findings == [])
  }

  @Test(
    "A content that is being copied over the file gets nothing of the log as the store is closed")
  func closedInBetween() throws {
    let directory = try TemporaryDirectory()
    let (url, elsewhere) = (directory.file("shop.sqlite"), directory.file("elsewhere.sqlite"))
    let other = try PersistentStore.open(url: elsewhere, model: Shop.model())
    for number in 0..<200 { try other.insert("Tag", ["name": .string("\(number)")]) }
    other.close()
    let store = try PersistentStore.open(url: url, model: Shop.model())
    for number in 0..<200 { try store.insert("Tag", ["name": .string("\(number)")]) }
    store.cutLog(ofBytes: 0)
    try store.insert("Tag", ["name": .string("in the log")])
    let log = try Data(contentsOf: URL(fileURLWithPath: url.path + "-wal"))
    #expect(!log.isEmpty)
    let bytes = try Data(contentsOf: elsewhere)
    let handle = try FileHandle(forWritingTo: url)
    try handle.write(contentsOf: bytes.prefix(bytes.count / 2))
    try handle.close()
    let half = try Data(contentsOf: url)
    #expect(throws: StoreError.self) { try store.insert("Tag") }
    store.close()
    #expect(try Data(contentsOf: url) == half)
    #expect(try Data(contentsOf: URL(fileURLWithPath: url.path + "-wal")) == log)
  }
}
