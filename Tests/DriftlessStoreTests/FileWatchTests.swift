import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Driftless

/// Who hears that a file was written.
@Suite(.timeLimit(.minutes(10))) struct FileWatchTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// Calls that come in, to be waited for.
  private final class Calls: Sendable {
    private let stream: AsyncStream<Void>
    let continuation: AsyncStream<Void>.Continuation

    init() {
      (stream, continuation) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func next() async { for await _ in stream { return } }
  }

  private func touch(_ name: String, _ text: String = ".") throws {
    try FileLock(path: directory.file(name).path).write(text)
  }

  @Test("Where the system gives no inotify instance, a write is heard of all the same")
  func noInstance() async throws {
    let watches = FolderWatches {
      errno = EMFILE
      return -1
    }
    let calls = Calls()
    try touch("a", "1")
    let watch = FileWatch(path: directory.file("a").path, watches) { calls.continuation.yield() }
    for text in ["2", "3"] {
      try touch("a", text)
      await calls.next()
    }
    try FileManager.default.removeItem(at: directory.file("a"))
    await calls.next()
    withExtendedLifetime(watch) {}
  }

  @Test("A folder that is removed and made anew is watched still")
  func removedFolder() async throws {
    let folder = directory.file("folder")
    let manager = FileManager.default
    try manager.createDirectory(at: folder, withIntermediateDirectories: true)
    let calls = Calls()
    let path = folder.appending(path: "a").path
    let watch = FileWatch(path: path, FolderWatches.ofItsOwn) { calls.continuation.yield() }
    try FileLock(path: path).write("1")
    await calls.next()
    try manager.removeItem(at: folder)
    await calls.next()
    try manager.createDirectory(at: folder, withIntermediateDirectories: true)
    try FileLock(path: path).write("2")
    await calls.next()
    withExtendedLifetime(watch) {}
  }

  @Test("Where events were lost, everybody looks")
  func overflow() async throws {
    let limit =
      Int(
        try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
          .trimmingCharacters(in: .whitespacesAndNewlines)) ?? 16_384
    let watches = FolderWatches.ofItsOwn
    let calls = Calls()
    let watch = FileWatch(path: directory.file("mine").path, watches) {
      calls.continuation.yield()
    }
    let others = try ["a", "b"].map { try FileLock(path: directory.file($0).path) }
    watches.queue.suspend()
    // Two of one file that follow each other would be one event.
    for number in 0..<limit + 10 { others[number % 2].touch() }
    try touch("mine")
    watches.queue.resume()
    await calls.next()
    withExtendedLifetime(watch) {}
  }

  @Test("Many stores take one inotify instance, and leave none of their watches behind")
  func oneInstance() async throws {
    func instances() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))
          == "anon_inode:inotify"
      }
    }
    let calls = (0..<60).map { _ in Calls() }
    var watches = calls.indices.map { number in
      FileWatch(path: directory.file("\(number)").path) { calls[number].continuation.yield() }
    }
    // Other tests have watches of their own.
    #expect(try instances() < 20)
    for number in calls.indices { try touch("\(number)") }
    for call in calls { await call.next() }
    watches.removeAll()
    let again = FileWatch(path: directory.file("0").path) { calls[0].continuation.yield() }
    try touch("0")
    await calls[0].next()
    withExtendedLifetime(again) {}
  }

  @Test("A file that gets the number of one that is gone is another one")
  func reusedNumber() throws {
    var marks: Set<String> = []
    for number in 0..<50 {
      let url = directory.file("store.sqlite")
      let store = try PersistentStore.open(url: url, model: Shop.model())
      let mark = try #require(store.fileMark)
      #expect(marks.insert(mark).inserted, "file \(number)")
      store.close()
      try FileManager.default.removeItem(at: url)
      for suffix in ["-wal", "-shm"] { unlink(url.path + suffix) }
    }
  }
}

extension FolderWatches {
  /// One that no other test has.
  fileprivate static var ofItsOwn: FolderWatches {
    FolderWatches { inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)) }
  }
}
