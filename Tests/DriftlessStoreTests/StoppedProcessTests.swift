import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// A process that is stopped in the midst of its work keeps others from writing, and from nothing else.
struct StoppedProcessTests {
  private func failure(_ body: () throws -> Void) -> StoreError? {
    do {
      try body()
      return nil
    } catch { return error as? StoreError }
  }

  @Test(
    "F15 Stopped while it holds the store, a process is named to those who would write; reads go on",
    arguments: ["checkpoint", "save", "vacuum"])
  func stopped(work: String) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let options = StoreOptions(busyTimeoutMilliseconds: 100)
    let first = try PersistentStore.open(url: url, model: Shop.model(), options: options)
    let key = try first.insert("Item", ["name": .string("kept")])
    let image = try StoreImage(of: url)
    first.close()
    // With a log that is not home yet.
    try image.lay(at: url)
    let probe = try Probe.start([work, url.path, "stop", "2"])
    let number = probe.line()
    defer { if probe.process.isRunning { kill(probe.process.processIdentifier, SIGCONT) } }
    try #require(probe.isStopped())
    let start = ContinuousClock.now
    let store = try PersistentStore.open(url: url, options: options)
    #expect(try store.values(key)?["name"] == .string("kept"))
    let looking = try PersistentStore.open(url: url, options: .inspecting(url))
    #expect(try looking.check().objectCount == 1)
    let error = failure { try store.insert("Item") }
    #expect(error?.code == .busy)
    #expect(error?.message.contains("Process \(number) (storeprobe)") == true, "\(error as Any)")
    #expect(error?.suggestion.contains("kill -CONT \(number)") == true)
    #expect(failure { try store.setMetadata("a", forKey: "b") }?.code == .busy)
    #expect(ContinuousClock.now - start < .seconds(5))
    kill(probe.process.processIdentifier, SIGCONT)
    #expect(probe.wait() == 0)
    try store.insert("Item")
    #expect(try store.check().findings == [])
    #expect(try store.values(key)?["name"] == .string("kept"))
  }

  @Test("Writers of one process that wait for each other behind a stuck lock give up together")
  func together() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(
      url: url, model: Shop.model(), options: StoreOptions(busyTimeoutMilliseconds: 2_000))
    let stuck = try FileLock(path: url.path + "-driftless-lock")
    try stuck.lock(.exclusive)
    let start = ContinuousClock.now
    let group = DispatchGroup()
    for _ in 0..<32 {
      group.enter()
      Thread.detachNewThread {
        #expect(failure { try store.insert("Item") }?.code == .busy)
        group.leave()
      }
    }
    group.wait()
    // One after another they would take 64 seconds.
    #expect(ContinuousClock.now - start < .seconds(50))
  }

  @Test("The lock is held to the end of a write in which another was tried")
  func nested() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    let store = try PersistentStore.open(url: url, model: Shop.model())
    let checkpointer = try FileLock(path: url.path + "-driftless-lock")
    _ = try store.write(TransactionInfo()) { _ in
      #expect(!checkpointer.tryLock())
      #expect(throws: StoreError.self) { try store.insert("Item") }
      #expect(!checkpointer.tryLock())
    }
    #expect(checkpointer.tryLock())
  }
}
