import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Stores under other names than their own.
struct LinkTests {
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    try FileManager.default.createDirectory(
      at: directory.file("data"), withIntermediateDirectories: true)
    url = directory.file("data").appendingPathComponent("shop.sqlite")
  }

  private func link(_ name: String, to target: String) throws -> URL {
    let link = directory.file(name)
    try FileManager.default.createSymbolicLink(
      atPath: link.path, withDestinationPath: target)
    return link
  }

  @Test("F80 L7 Two processes, one through a symbolic link, share lock, log and news")
  func processes() async throws {
    let link = try link("link.sqlite", to: "data/shop.sqlite")
    let second = try self.link("second.sqlite", to: "link.sqlite")
    // The link leads nowhere yet: the store is made where it leads to.
    let store = try PersistentStore.open(url: second, model: Shop.model())
    #expect(store.url?.path == url.path)
    #expect(FileManager.default.fileExists(atPath: url.path))
    var news = store.changes().makeAsyncIterator()
    let probe = try Probe.run("save", link)
    #expect(probe.lines == ["done"])
    #expect(await news.next() == 1)
    #expect(try store.fetchHistory(.fetchHistory(after: Date.distantPast)).count == 1)
    let beside = try FileManager.default.contentsOfDirectory(atPath: directory.file("").path)
    #expect(Set(beside) == ["data", "link.sqlite", "second.sqlite"], "nothing lies by the links")
    // The other's checkpoint waits while this one writes.
    _ = try store.write(TransactionInfo()) { transaction in
      let lock = try FileLock(path: url.path + "-driftless-lock")
      #expect(!lock.tryLock())
      try transaction.setSetting("x", .integer(1))
    }
    let findings = try store.check().findings
    #expect(findings == [], "\(findings)")
    store.close()
    try PersistentStore.destroy(at: link)
    #expect(try PersistentStore.open(url: link, model: Shop.model()).url?.path == url.path)
  }

  @Test("F80 L7 A ring of links is an error, not a wait")
  func ring() throws {
    let one = try link("one.sqlite", to: "two.sqlite")
    _ = try link("two.sqlite", to: "one.sqlite")
    #expect {
      _ = try PersistentStore.open(url: one, model: Shop.model())
    } throws: { ($0 as? StoreError)?.code == .cannotOpen }
  }

  @Test("F80 L7 A file with two names is refused, with what to do about it")
  func hardLink() throws {
    try PersistentStore.open(url: url, model: Shop.model()).close()
    let other = directory.file("other.sqlite")
    try FileManager.default.linkItem(at: url, to: other)
    for name in [url, other] {
      for isReadOnly in [false, true] {
        #expect {
          _ = try PersistentStore.open(url: name, options: StoreOptions(isReadOnly: isReadOnly))
        } throws: { error in
          guard let error = error as? StoreError else { return false }
          return error.code == .hardLinked && error.suggestion.contains("cp -p '\(name.path)'")
        }
      }
      #expect(throws: StoreError.self) { try PersistentStore.destroy(at: name) }
    }
    // Who reads the file alone needs no log.
    let reader = try PersistentStore.open(url: other, options: .inspecting(other))
    reader.close()
    try FileManager.default.removeItem(at: other)
    try PersistentStore.open(url: url).close()
  }
}
