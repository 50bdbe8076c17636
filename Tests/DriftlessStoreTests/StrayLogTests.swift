import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Logs beside a store that are not the file's own: a part of what belongs together was put back.
struct StrayLogTests {
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("shop.sqlite")
  }

  /// The files of a store as they are now, as a process that is ended leaves them.
  private func files(_ suffixes: String...) throws -> [String: Data] {
    var files: [String: Data] = [:]
    for suffix in suffixes {
      files[suffix] = try Data(contentsOf: URL(fileURLWithPath: url.path + suffix))
    }
    return files
  }

  /// Writes into the files that are there: they stay the same files.
  private func put(_ files: [String: Data]) throws {
    for (suffix, data) in files { try data.write(to: URL(fileURLWithPath: url.path + suffix)) }
    unlink(url.path + "-shm")
  }

  private func fill(_ store: PersistentStore, _ count: Int) throws {
    for number in 0..<count {
      try store.insert(
        "Item", ["name": .string("item \(number) " + String(repeating: "x", count: 400))])
    }
  }

  private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do { try body() } catch let error as StoreError { return error.code } catch {}
    return nil
  }

  private func open() throws -> PersistentStore { try PersistentStore.open(url: url) }

  /// A store whose file was copied, and that went on: what is copied, and what a process that was ended left.
  private func wentOn() throws -> (copy: [String: Data], left: [String: Data]) {
    var store = try PersistentStore.open(url: url, model: Shop.model())
    try fill(store, 20)
    store.close()
    let copy = try files("")
    store = try open()
    try fill(store, 60)
    store.close()
    store = try open()
    try fill(store, 5)
    let left = try files("", "-wal", "-driftless-lock")
    store.close()
    return (copy, left)
  }

  @Test(
    "F61 A file that was put back alone beside a newer log is refused, by who writes and who looks")
  func fileAlone() throws {
    let (copy, left) = try wentOn()
    try put(left.merging(copy) { $1 })
    let before = try files("", "-wal")
    for options in [StoreOptions(), StoreOptions(isReadOnly: true), .inspecting(url)] {
      #expect(code { try PersistentStore.open(url: url, options: options).close() } == .strayLog)
    }
    #expect(code { try PersistentStore.destroy(at: url) } == .strayLog)
    #expect(code { try PersistentStore.vacuum(at: url) } == .strayLog)
    #expect(!PersistentStore.isUnfinished(at: url))
    #expect(try files("", "-wal") == before, "nothing was changed")

    let moved = try PersistentStore.setAsideStrayLogs(at: url)
    #expect(moved.map(\.lastPathComponent) == ["shop.sqlite-wal.away1"])
    #expect(try Data(contentsOf: #require(moved.first)) == before["-wal"])
    let store = try open()
    #expect(try store.read { try $0.scalar("SELECT count(*) FROM ZITEM") } == .integer(20))
    #expect(try store.lostCommits()?.count == 65)
    #expect(try store.check().isSound)
    #expect(try store.write(TransactionInfo()) { try $0.takeCopyNote() }.0)
    store.close()
    #expect(try PersistentStore.setAsideStrayLogs(at: url).isEmpty)
  }

  @Test("While somebody moves a log away, nobody begins to write with it")
  func movedMeanwhile() throws {
    let (copy, left) = try wentOn()
    try put(left.merging(copy) { $1 })
    let moving = try FileLock(path: url.path + "-driftless-lock")
    try moving.lock(.exclusive)
    #expect(code { try open().close() } == .strayLog)
    moving.unlock()
    #expect(code { try open().close() } == .strayLog)
  }

  @Test("F61 An older log that was put back alone is refused")
  func logAlone() throws {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    try fill(store, 20)
    store.close()
    let again = try open()
    try fill(again, 5)
    let old = try files("-wal")
    try fill(again, 40)
    again.close()
    let whole = try files("")
    try put(old)
    #expect(code { try open().close() } == .strayLog)
    #expect(try files("") == whole)
    #expect(try PersistentStore.setAsideStrayLogs(at: url).count == 1)
    let last = try open()
    #expect(try last.read { try $0.scalar("SELECT count(*) FROM ZITEM") } == .integer(65))
    #expect(try last.lostCommits() == nil)
  }

  @Test(
    "F61 A log whose file is not there, or is empty, is left alone, and is whole when the file is back",
    arguments: [true, false])
  func logWithoutFile(isEmpty: Bool) throws {
    let (_, left) = try wentOn()
    try put(left)
    let kept = directory.file("kept")
    try FileManager.default.moveItem(at: url, to: kept)
    if isEmpty { try Data().write(to: url) }
    #expect(code { try PersistentStore.open(url: url, model: Shop.model()).close() } == .strayLog)
    #expect(code { try open().close() } == .strayLog)
    #expect(try files("-wal")["-wal"] == left["-wal"])
    try? FileManager.default.removeItem(at: url)
    try FileManager.default.moveItem(at: kept, to: url)
    let store = try open()
    #expect(try store.read { try $0.scalar("SELECT count(*) FROM ZITEM") } == .integer(85))
    #expect(try store.lostCommits() == nil)
  }

  @Test("A log whose file is not there makes way for a new store when a person says so")
  func logMakesWay() throws {
    let (_, left) = try wentOn()
    try put(left)
    try FileManager.default.removeItem(at: url)
    let moved = try PersistentStore.setAsideStrayLogs(at: url)
    #expect(try moved.map { try Data(contentsOf: $0) } == [left["-wal"]])
    let store = try PersistentStore.open(url: url, model: Shop.model())
    #expect(try store.read { try $0.scalar("SELECT count(*) FROM ZITEM") } == .integer(0))
  }

  @Test("What a process that was ended left belongs together, however far its log was copied")
  func leftByAProcess() throws {
    let (_, left) = try wentOn()
    try put(left)
    let store = try open()
    #expect(try store.read { try $0.scalar("SELECT count(*) FROM ZITEM") } == .integer(85))
    // Somebody reads an older state: the log is copied into the file, and cannot be cut.
    let snapshot = try #require(try store.snapshot())
    try fill(store, 30)
    store.checkpointNow()
    try fill(store, 3)
    let copied = try files("", "-wal", "-driftless-lock")
    snapshot.close()
    // Now it begins again where it began.
    store.checkpointNow()
    try fill(store, 2)
    let cut = try files("", "-wal", "-driftless-lock")
    store.close()
    for (files, count) in [(copied, 118), (cut, 120)] {
      try put(files)
      let again = try open()
      #expect(
        try again.read { try $0.scalar("SELECT count(*) FROM ZITEM") } == .integer(Int64(count)))
      #expect(try again.check().isSound)
      again.close()
    }
  }

  @Test("A file as it was when its log began is the same one: nothing is lost")
  func sameLog() throws {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    try fill(store, 20)
    store.close()
    let again = try open()
    let copy = try files("")
    try fill(again, 30)
    let left = try files("-wal", "-driftless-lock")
    again.close()
    try put(left.merging(copy) { $1 })
    let last = try open()
    #expect(try last.read { try $0.scalar("SELECT count(*) FROM ZITEM") } == .integer(50))
    #expect(try last.lostCommits() == nil)
    let none = directory.file("none.sqlite")
    #expect(code { _ = try PersistentStore.setAsideStrayLogs(at: none) } == .cannotOpen)
    #expect(!FileManager.default.fileExists(atPath: none.path + "-driftless-lock"))
  }

  @Test("What was put in a store's place by the library belongs to its log")
  func replaced() throws {
    let (_, left) = try wentOn()
    try put(left)
    let backup = directory.file("backup.sqlite")
    var store = try open()
    try store.backup(to: backup)
    try fill(store, 9)
    store.close()
    try PersistentStore.replace(at: url, withStoreAt: backup)
    store = try open()
    try fill(store, 1)
    let ended = try files("", "-wal", "-driftless-lock")
    store.close()
    try put(ended)
    store = try open()
    #expect(try store.read { try $0.scalar("SELECT count(*) FROM ZITEM") } == .integer(86))
  }

  @Test("A store is not put in the place of one whose older state somebody reads")
  func replacedBesideASnapshot() throws {
    let (_, left) = try wentOn()
    try put(left)
    let backup = directory.file("backup.sqlite")
    let store = try open()
    try store.backup(to: backup)
    try fill(store, 9)
    let reader = try SQLiteConnection(path: url.path, mode: .readOnly)
    try reader.execute("BEGIN")
    _ = try reader.scalar("SELECT count(*) FROM ZITEM")
    try fill(store, 1)
    store.close()
    #expect(code { try PersistentStore.replace(at: url, withStoreAt: backup) } == .busy)
    reader.close()
    var again = try open()
    #expect(try again.read { try $0.scalar("SELECT count(*) FROM ZITEM") } == .integer(95))
    again.close()
    try PersistentStore.replace(at: url, withStoreAt: backup)
    again = try open()
    #expect(try again.read { try $0.scalar("SELECT count(*) FROM ZITEM") } == .integer(85))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
        .allSatisfy { !$0.contains(".partial") })
  }

  @Test("F61 One transaction in a log that began again says what it goes on from")
  func beganAgain() throws {
    let (_, left) = try wentOn()
    try put(left)
    let store = try open()
    try fill(store, 3)
    store.checkpointNow()
    let copy = try files("")
    try fill(store, 5)
    let snapshot = try #require(try store.snapshot())
    // All of it is copied, and the log is not cut while somebody reads its end.
    store.checkpointNow()
    #expect(WriteAheadLog.hasPages(url))
    snapshot.close()
    try fill(store, 1)
    let ended = try files("", "-wal", "-driftless-lock")
    store.close()
    try put(ended)
    let whole = try open()
    #expect(try whole.read { try $0.scalar("SELECT count(*) FROM ZITEM") } == .integer(94))
    whole.close()
    try put(ended.merging(copy) { $1 })
    #expect(code { try open().close() } == .strayLog)
  }

  @Test(
    "A store that is moved while it is open is written no more, and is whole under its new name")
  func moved() throws {
    let (former, new) = (directory.file("former"), directory.file("new"))
    try FileManager.default.createDirectory(at: former, withIntermediateDirectories: true)
    let before = former.appendingPathComponent("shop.sqlite")
    let after = new.appendingPathComponent("shop.sqlite")
    let first = try PersistentStore.open(url: before, model: Shop.model())
    try fill(first, 20)
    first.close()
    let store = try PersistentStore.open(url: before)
    try fill(store, 5)
    try FileManager.default.moveItem(at: former, to: new)
    for _ in 0..<3 { #expect(code { try fill(store, 1) } == .fileReplaced) }
    store.close()
    let again = try PersistentStore.open(url: after)
    #expect(try again.read { try $0.scalar("SELECT count(*) FROM ZITEM") } == .integer(25))
    #expect(try again.check().isSound)
  }

  @Test("F61 Nor is it where a connection that reads is the last to close")
  func writtenOverBesideAReader() throws {
    let (copy, left) = try wentOn()
    try put(left)
    let store = try open()
    try fill(store, 4)
    try store.read { transaction in
      _ = try transaction.scalar("SELECT count(*) FROM ZITEM")
      try #require(copy[""]).write(to: url)
      store.close()
    }
    #expect(try files("") == copy, "the log is not copied into it")
    #expect(code { try open().close() } == .strayLog)
  }

  @Test("F61 A content that is written into a file which is open is not mixed with its log")
  func writtenOver() throws {
    let (copy, left) = try wentOn()
    try put(left)
    let store = try open()
    try fill(store, 4)
    try #require(copy[""]).write(to: url)
    let log = try files("-wal")
    store.close()
    #expect(try files("") == copy, "the log is not copied into it")
    #expect(try files("-wal") == log)
    #expect(code { try open().close() } == .strayLog)
  }

  @Test("F61 A rollback journal beside a store is not played back into it")
  func journal() throws {
    let (copy, left) = try wentOn()
    try put(left)
    try open().close()
    let whole = try files("")
    let page = 4096
    let old = try #require(copy[""])
    let journal = rollbackJournal(
      of: (0..<3).map { ($0 + 1, old.subdata(in: $0 * page..<($0 + 1) * page)) },
      pages: old.count / page)
    try put(["-journal": journal])
    #expect(code { try open().close() } == .strayLog)
    #expect(
      code { try PersistentStore.open(url: url, options: .inspecting(url)).close() } == .strayLog)
    #expect(try files("", "-journal") == whole.merging(["-journal": journal]) { $1 })
    let moved = try PersistentStore.setAsideStrayLogs(at: url)
    #expect(moved.map(\.lastPathComponent) == ["shop.sqlite-journal.away1"])
    let store = try open()
    #expect(try store.read { try $0.scalar("SELECT count(*) FROM ZITEM") } == .integer(85))
    #expect(try store.check().isSound)
    #expect(try store.lostCommits() == nil)
  }

  @Test("The journal of a file that was given its write-ahead log is the file's own")
  func journalOfTheChange() throws {
    let store = try PersistentStore.open(url: url, model: Shop.model())
    try fill(store, 20)
    store.close()
    var first = try Data(contentsOf: url).prefix(4096)
    let pages = try Data(contentsOf: url).count / 4096
    first[18] = 1
    first[19] = 1
    try put(["-journal": rollbackJournal(of: [(1, Data(first))], pages: pages)])
    let again = try open()
    #expect(try again.read { try $0.scalar("SELECT count(*) FROM ZITEM") } == .integer(20))
    #expect(try again.check().isSound)
  }

  /// A journal as SQLite plays it back: the pages that were there before.
  private func rollbackJournal(of kept: [(number: Int, page: Data)], pages: Int) -> Data {
    func big(_ number: Int) -> Data {
      withUnsafeBytes(of: UInt32(truncatingIfNeeded: number).bigEndian) { Data($0) }
    }
    let nonce = 77
    var journal = Data([0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7])
    journal += big(kept.count) + big(nonce) + big(pages) + big(512) + big(4096)
    journal += Data(repeating: 0, count: 512 - journal.count)
    for (number, page) in kept {
      var sum = nonce
      for place in stride(from: page.count - 200, to: 0, by: -200) {
        sum += Int(page[page.startIndex + place])
      }
      journal += big(number) + page + big(sum)
    }
    return journal
  }

  @Test("Logs are not moved under somebody who has the store open")
  func inUse() throws {
    let (copy, left) = try wentOn()
    try put(left.merging(copy) { $1 })
    let other = try SQLiteConnection(path: url.path, mode: .readOnly)
    _ = try other.scalar("SELECT count(*) FROM ZITEM")
    #expect(code { _ = try PersistentStore.setAsideStrayLogs(at: url) } == .busy)
    other.close()
    #expect(try PersistentStore.setAsideStrayLogs(at: url).count == 1)
  }
}

extension ReadTransaction {
  fileprivate func scalar(_ sql: String) throws -> SQLiteValue? { try connection.scalar(sql) }
}
