@preconcurrency import Dispatch
public import Foundation
import Synchronization

extension Notification.Name {
  /// A store was written, by this process or another. The object is nil; `userInfo` holds `storeIdentifier` and
  /// `transactionNumber`, and under Core Data's keys `NSStoreUUID`, `storeURL` and `historyToken` (a
  /// ``PersistentHistoryToken``).
  ///
  /// It tells of the newest transaction there is, and those of a store come one after the other: no token is older than the
  /// one before, unless an older copy of the file was put in its place. Where two threads commit at a time, one of them may
  /// post for both; what an observer commits is told after it has returned.
  public static let persistentStoreRemoteChange = Notification.Name(
    "NSPersistentStoreRemoteChangeNotification")
}

/// What was committed to a store: the transactions after one number, through another.
struct StoreCommits: Sendable {
  let after: Int64
  let through: Int64
  /// The context that saved the last of them; nil for sync, an import, a batch or another process.
  let context: Int64?
}

/// Tells who wants to know that the store was written: by this process at once, by others through inotify.
final class CommitNotifications: Sendable {
  /// Somebody is told as long as it lives.
  final class Following: Sendable {
    private let end: @Sendable () -> Void
    fileprivate init(_ end: @escaping @Sendable () -> Void) { self.end = end }
    deinit { end() }
  }

  private struct State {
    var streams: [Int: AsyncStream<Int64>.Continuation] = [:]
    var followers: [Int: @Sendable (StoreCommits) -> Void] = [:]
    var nextNumber = 0
    var newest: Int64 = 0
    /// Notifications that are still to be posted.
    var dueCount = 0
    /// Whether a thread posts them.
    var isPosting = false
    var watch: FileWatch?
    var isClosed = false
  }

  private let state = Mutex(State())
  private let url: URL?
  private let store: String

  init(url: URL?, store: String) {
    self.url = url
    self.store = store
  }

  /// A transaction was committed. One that was told before is not told again.
  ///
  /// - Parameters:
  ///   - context: The number of the context that saved it.
  ///   - newest: Reads the number of the last one from the file: where it is less than what was told, an older copy
  ///     was put back, and its transactions are news.
  func tell(_ transaction: Int64, by context: Int64? = nil, newest: () -> Int64?) {
    if let commits = note(transaction, by: context, newest: newest) { tell(commits) }
  }

  /// As above, and leaves it to the caller to tell.
  ///
  /// - Returns: What is to be told; nil when it was.
  func note(
    _ transaction: Int64, by context: Int64? = nil, newest: () -> Int64?
  ) -> StoreCommits? {
    if transaction < state.withLock({ $0.newest }), let last = newest() {
      state.withLock { if last < $0.newest { $0.newest = transaction - 1 } }
    }
    return state.withLock { state in
      guard transaction > state.newest else { return nil }
      let commits = StoreCommits(after: state.newest, through: transaction, context: context)
      state.newest = transaction
      return commits
    }
  }

  func tell(_ commits: StoreCommits) {
    let followers = state.withLock { state in
      // A commit may be told after a later one, whose number streams have then. They keep the last that they were given.
      for stream in state.streams.values { stream.yield(state.newest) }
      state.dueCount += 1
      return Array(state.followers.values)
    }
    for follower in followers { follower(commits) }
    post()
  }

  /// Posts what is due, unless another thread does so, or an observer further up on this one is being told: it posts this as
  /// well then.
  private func post() {
    let isFirst = state.withLock { state in
      defer { state.isPosting = true }
      return !state.isPosting
    }
    guard isFirst else { return }
    while let transaction = state.withLock({ state -> Int64? in
      state.isPosting = state.dueCount > 0
      guard state.isPosting else { return nil }
      state.dueCount -= 1
      return state.newest
    }) { post(transaction) }
  }

  private func post(_ transaction: Int64) {
    var info: [String: Any] = [
      "storeIdentifier": store, "transactionNumber": transaction, "NSStoreUUID": store,
      "historyToken": PersistentHistoryToken(numbers: [store: transaction]),
    ]
    info["storeURL"] = url
    NotificationCenter.default.post(
      name: .persistentStoreRemoteChange, object: nil, userInfo: info)
  }

  /// Watches for commits of other processes until the store is closed. `newest` reads the last one from the file.
  func watch(_ newest: @escaping @Sendable () -> Int64?) {
    state.withLock { state in
      guard state.watch == nil, !state.isClosed else { return }
      guard let url else {
        // A store in memory is this process's own.
        state.newest = max(state.newest, newest() ?? 0)
        return
      }
      // Not the WAL: it is written before the commit can be seen. Writers touch the lock file after it.
      state.watch = FileWatch(path: url.path + "-driftless-lock") { [weak self] in
        if let number = newest() { self?.tell(number, newest: newest) }
      }
      // Asked after the watch began: a commit in between is either counted here or told.
      state.newest = max(state.newest, newest() ?? 0)
    }
  }

  /// A stream of transaction numbers.
  func stream(_ newest: @escaping @Sendable () -> Int64?) -> AsyncStream<Int64> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      watch(newest)
      let number = state.withLock { state in
        state.nextNumber += 1
        state.streams[state.nextNumber] = continuation
        return state.nextNumber
      }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { $0.streams[number] = nil }
      }
    }
  }

  /// Calls `follower` after each commit from now on, on the thread that committed or on one of its own, until what is
  /// returned is let go of.
  func follow(
    _ newest: @escaping @Sendable () -> Int64?,
    _ follower: @escaping @Sendable (StoreCommits) -> Void
  ) -> Following {
    watch(newest)
    let number = state.withLock { state in
      state.nextNumber += 1
      state.followers[state.nextNumber] = follower
      return state.nextNumber
    }
    return Following { [weak self] in self?.state.withLock { $0.followers[number] = nil } }
  }

  func close() {
    let streams = state.withLock { state in
      state.isClosed = true
      state.watch = nil
      state.followers = [:]
      defer { state.streams = [:] }
      return Array(state.streams.values)
    }
    for stream in streams { stream.finish() }
  }
}

/// Calls back when a file is written, by any process: inotify, no polling.
final class FileWatch: Sendable {
  private let source: any DispatchSourceRead

  /// Nil when the file cannot be watched.
  init?(path: String, _ changed: @escaping @Sendable () -> Void) {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    // The folder is watched, so that a file that is removed and made anew stays watched.
    let folder = (path as NSString).deletingLastPathComponent
    let mask = UInt32(IN_MODIFY | IN_CREATE)
    guard inotify_add_watch(descriptor, folder.isEmpty ? "." : folder, mask) >= 0 else {
      close(descriptor)
      return nil
    }
    let name = (path as NSString).lastPathComponent
    let source = DispatchSource.makeReadSource(
      fileDescriptor: descriptor, queue: DispatchQueue(label: "driftless.file-watch"))
    source.setEventHandler {
      if Self.drain(descriptor, mentions: name) { changed() }
    }
    source.setCancelHandler { close(descriptor) }
    source.resume()
    self.source = source
  }

  deinit { source.cancel() }

  /// Reads all waiting events; whether one is of the file.
  private static func drain(_ descriptor: Int32, mentions name: String) -> Bool {
    var found = false
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return found }
      var position = 0
      // An event is 16 bytes, the last four the length of the name that follows.
      while position + 16 <= count {
        let length = buffer[position + 12..<position + 16].reversed()
          .reduce(0) { $0 << 8 | Int($1) }
        let end = min(count, position + 16 + length)
        let text = buffer[position + 16..<end].prefix { $0 != 0 }
        if String(decoding: text, as: UTF8.self) == name { found = true }
        position += 16 + length
      }
    }
  }
}
