import Dispatch
public import Foundation
import Synchronization

extension Notification.Name {
  /// A store was written, by this process or another. The object is the coordinator that has the store, or nil where none
  /// has it; each coordinator that has it posts its own. `userInfo` holds `storeIdentifier` and
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

/// Tells who wants to know that the store was written: by this process at once, by others through a ``FileWatch``.
final class CommitNotifications: Sendable {
  /// Somebody is told as long as it lives.
  final class Following: Sendable {
    private let end: @Sendable () -> Void
    fileprivate init(_ end: @escaping @Sendable () -> Void) { self.end = end }
    deinit { end() }
  }

  /// Where ``Foundation/Notification/Name/persistentStoreRemoteChange`` is posted.
  enum Posting {
    /// On the thread that committed, before the save returns.
    case whereCommitted
    /// On a queue of the store's own.
    case aside
    case never

    init(_ options: StoreOptions) {
      guard options.postsAsCoreData else {
        self = .whereCommitted
        return
      }
      self = options.postsRemoteChanges ? .aside : .never
    }
  }

  private struct State {
    var streams: [Int: AsyncStream<Int64>.Continuation] = [:]
    var followers: [Int: @Sendable (StoreCommits) -> Void] = [:]
    var bells: [Int: AsyncStream<Void>.Continuation] = [:]
    var nextNumber = 0
    var newest: Int64 = 0
    /// Notifications that are still to be posted.
    var dueCount = 0
    /// Whether a thread posts them.
    var isPosting = false
    var watch: FileWatch?
    /// Who posts, in place of nobody.
    var posters: [Poster] = []
    /// Whether the watch is there, where there is to be one, and `newest` is no less than the file's.
    var isWatching = false
    var isClosed = false
  }

  /// Whether the system tells of what other processes write, so that nobody looks each second.
  var isToldBySystem: Bool { state.withLock { $0.watch.map { !$0.isPolling } ?? false } }

  /// The object of notifications, as long as it lives.
  private struct Poster: Sendable {
    weak var object: (any AnyObject & Sendable)?
  }

  private let state = Mutex(State())
  private let url: URL?
  private let store: String
  private let posting: Posting
  /// For what is posted aside: an observer that waits holds up no other store's.
  private let postingQueue: DispatchQueue?

  init(url: URL?, store: String, _ posting: Posting = .whereCommitted) {
    self.url = url
    self.store = store
    self.posting = posting
    postingQueue = posting == .aside ? DispatchQueue(label: "driftless.remote-changes") : nil
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

  /// Notifications come from an object from now on.
  func addPoster(_ object: any AnyObject & Sendable) {
    state.withLock { state in
      state.posters.removeAll { $0.object == nil || $0.object === object }
      state.posters.append(Poster(object: object))
    }
  }

  func removePoster(_ object: any AnyObject & Sendable) {
    state.withLock { $0.posters.removeAll { $0.object == nil || $0.object === object } }
  }

  private func post(_ transaction: Int64) {
    switch posting {
    case .never: return
    case .whereCommitted: postHere(transaction)
    case .aside: postingQueue?.async { self.postHere(transaction) }
    }
  }

  private func postHere(_ transaction: Int64) {
    var info: [String: Any] = [
      "storeIdentifier": store, "transactionNumber": transaction, "NSStoreUUID": store,
      "historyToken": PersistentHistoryToken(numbers: [store: transaction]),
    ]
    info["storeURL"] = url
    let posters = state.withLock { $0.posters.compactMap { $0.object } }
    guard !posters.isEmpty else {
      return NotificationCenter.default.post(
        name: .persistentStoreRemoteChange, object: nil, userInfo: info)
    }
    for poster in posters {
      NotificationCenter.default.post(
        name: .persistentStoreRemoteChange, object: poster, userInfo: info)
    }
  }

  /// Watches for commits of other processes until the store is closed. `newest` reads the last one from the file: it is
  /// called without a lock, since it waits for those of the store.
  func watch(_ newest: @escaping @Sendable () -> Int64?) {
    guard !state.withLock({ $0.isWatching || $0.isClosed }) else { return }
    // Not the WAL: it is written before the commit can be seen. Writers touch the lock file after it. A store in memory is
    // this process's own.
    let watch = url.map { url in
      FileWatch(path: url.path + "-driftless-lock") { [weak self] in
        if let number = newest() { self?.tell(number, newest: newest) }
        for bell in self?.state.withLock({ Array($0.bells.values) }) ?? [] { bell.yield() }
      }
    }
    // Asked after the watch began: a commit in between is either counted here or told.
    let number = newest() ?? 0
    let former = state.withLock { state -> FileWatch? in
      state.newest = max(state.newest, number)
      // Another may have come first, or the end.
      guard !state.isWatching, !state.isClosed else { return watch }
      state.isWatching = true
      defer { state.watch = watch }
      return state.watch
    }
    withExtendedLifetime(former) {}
  }

  /// A stream of transaction numbers.
  func stream(_ newest: @escaping @Sendable () -> Int64?) -> AsyncStream<Int64> {
    stream(newest, in: \.streams)
  }

  /// A stream that yields when somebody rings, and after commits.
  func bells(_ newest: @escaping @Sendable () -> Int64?) -> AsyncStream<Void> {
    stream(newest, in: \.bells)
  }

  private func stream<Element>(
    _ newest: @escaping @Sendable () -> Int64?,
    in streams: any WritableKeyPath<State, [Int: AsyncStream<Element>.Continuation]> & Sendable
  ) -> AsyncStream<Element> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      watch(newest)
      let number = state.withLock { state -> Int? in
        // Who has closed has told all streams that there were.
        guard !state.isClosed else { return nil }
        state.nextNumber += 1
        state[keyPath: streams][state.nextNumber] = continuation
        return state.nextNumber
      }
      guard let number else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { $0[keyPath: streams][number] = nil }
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
    let (streams, bells, watch, followers) = state.withLock { state in
      state.isClosed = true
      defer {
        state.streams = [:]
        state.bells = [:]
        state.followers = [:]
      }
      return (
        Array(state.streams.values), Array(state.bells.values), state.watch.take(), state.followers
      )
    }
    // What they hold goes when no lock is held.
    withExtendedLifetime((watch, followers)) {}
    for bell in bells { bell.finish() }
    for stream in streams { stream.finish() }
  }
}
