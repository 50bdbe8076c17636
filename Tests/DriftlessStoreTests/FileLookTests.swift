import Foundation
import TestSupport
import Testing

@testable import Driftless

/// What is kept of a store's file, so that it is not read again as long as nobody writes into it.
struct FileLookTests {
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("shop.sqlite")
  }

  /// An open store with a log, and what its file was before that.
  private func wentOn() throws -> (store: PersistentStore, copy: Data) {
    var store = try PersistentStore.open(url: url, model: Shop.model())
    try store.insert("Item", ["name": .string("item")])
    store.close()
    let copy = try Data(contentsOf: url)
    // Each writes one setting over: the file does not grow.
    for offset: Int64 in [100_000, 200_000] {
      store = try PersistentStore.open(url: url)
      try store.setClockOffset(milliseconds: offset)
      if offset < 200_000 { store.close() }
    }
    return (store, copy)
  }

  private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do { try body() } catch let error as StoreError { return error.code } catch {}
    return nil
  }

  @Test(
    "What is written into the file of an open store is noticed, whatever size and time the file has then"
  )
  func writtenOverUnderItsTime() throws {
    let (store, copy) = try wentOn()
    defer { store.close() }
    // What was looked at is kept from when the clock that stamps files has moved on.
    while FileStamp(of: url.path)?.isSettled != true { usleep(1000) }
    try store.checkLog()
    try store.checkLog()
    var status = stat()
    #expect(stat(url.path, &status) == 0)
    try #require(Int(status.st_size) == copy.count)
    try copy.write(to: url)
    var times = [status.st_atim, status.st_mtim]
    #expect(utimensat(AT_FDCWD, url.path, &times, 0) == 0)
    #expect(code { try store.checkLog() } == .strayLog)
    #expect(code { try store.checkLog() } == .strayLog)
  }

  @Test("Who got no answer while somebody had the file locked asks again")
  func askedAgain() throws {
    let (store, copy) = try wentOn()
    defer { store.close() }
    try copy.write(to: url)
    while FileStamp(of: url.path)?.isSettled != true { usleep(1000) }
    let other = try FileLock(path: url.path + "-driftless-lock")
    try other.lock(.exclusive)
    #expect(store.strayLogSinceLastLook == nil)
    other.unlock()
    #expect(store.strayLogSinceLastLook?.code == .strayLog)
    // It was told.
    #expect(store.strayLogSinceLastLook == nil)
  }

  @Test("A write gives a settled file another stamp, and one that is gone has none")
  func stamps() throws {
    try Data("1".utf8).write(to: url)
    let first = try #require(FileStamp(of: url.path))
    while FileStamp(of: url.path)?.isSettled != true { usleep(1000) }
    try Data("2".utf8).write(to: url)
    let second = try #require(FileStamp(of: url.path))
    #expect(second != first)
    #expect(FileStamp(of: directory.file("none").path) == nil)
  }
}
