import DriftlessSQLite
import Foundation
import Synchronization

/// The connections of a store: one that writes, and a bounded number of those that read.
final class StoreConnections: @unchecked Sendable {  // under `writing`, or a mutex
  private let file: StoreFile
  private let lock: FileLock?
  private let files: OpenedFiles?
  private let writing = NSRecursiveLock()
  private var writer: SQLiteConnection?
  private var isWriting = false
  /// What is left to do once the transaction has ended in which the store was closed.
  private var closing: ((SQLiteConnection) -> Void)?
  private let readers = Mutex(Readers())
  /// Where threads wait to read.
  let line: ReaderLine

  private struct Readers: @unchecked Sendable {  // a connection leaves the pool with its one user
    var idle: [SQLiteConnection] = []
    var snapshots: [WeakSnapshot] = []
    /// Counted snapshots that are being made.
    var snapshotsToCome = 0
    var isClosed = false

    /// How many there are of those that count.
    var heldSnapshots: Int { snapshots.count { $0.isCounted && $0.snapshot != nil } }
  }

  private struct WeakSnapshot {
    weak var snapshot: StoreSnapshot?
    let isCounted: Bool
  }

  init(file: StoreFile, writer: SQLiteConnection, lock: FileLock?, files: OpenedFiles?) {
    self.file = file
    self.files = files
    self.writer = writer
    self.lock = lock
    line = ReaderLine(limit: file.options.readersMax)
    if let lock { writer.whileWaiting = waiting(for: writer, lock) }
  }

  /// Who waits for another process to commit lets a checkpoint in meanwhile: two that write all the time would keep the lock
  /// between them for good, and the log would grow.
  private func waiting(
    for writer: SQLiteConnection, _ lock: FileLock
  ) -> (() throws -> Void) throws -> Void {
    { [unowned writer, files] begin in
      let patience = writer.busyTimeoutMilliseconds
      let end = ContinuousClock.now + .milliseconds(patience)
      writer.busyTimeoutMilliseconds = 0
      defer { writer.busyTimeoutMilliseconds = patience }
      var microseconds: UInt32 = 250
      while true {
        lock.unlock()
        usleep(microseconds)  // SQLite tells nobody when another process's transaction ends
        try lock.lock(.shared, milliseconds: max(patience, StoreTuning.leastWaitMilliseconds))
        try files?.check()
        do {
          return try begin()
        } catch let error as SQLiteError where error.isBusy && .now < end {}
        // A save takes some milliseconds.
        microseconds = min(microseconds * 2, 8_000)
      }
    }
  }

  /// Runs `body` with the writer, while no checkpointer of any process runs.
  ///
  /// - Parameter place: Where somebody says that the file was moved to; it may lie there.
  func withWriter<T>(
    movedTo place: URL? = nil, _ body: (SQLiteConnection) throws -> T
  ) throws -> T {
    let start = ContinuousClock.now
    writing.lock()
    defer { writing.unlock() }
    guard let writer else { throw closed }
    // Inside another write the lock is held already, and is the outer one's to let go.
    if isWriting { return try body(writer) }
    try lock?.lock(.shared, milliseconds: timeLeft(since: start))
    assert(
      file.url == nil || !writer.isInTransaction, "a write begins where the one before it has ended"
    )
    isWriting = true
    defer {
      finishClosing()
      isWriting = false
      lock?.unlock()
    }
    if let files, place.map(files.areMoved(to:)) != true { try files.check() }
    return try HeldConnections.hold { try body(writer) }
  }

  /// Those who waited for each other behind a lock that does not come free give up together, not one after another; each
  /// waits for a checkpoint.
  private func timeLeft(since start: ContinuousClock.Instant) -> Int32 {
    let all = file.options.busyTimeoutMilliseconds
    let waited = min((ContinuousClock.now - start) / .milliseconds(1), Double(all))
    return max(all - Int32(waited), min(all, StoreTuning.leastWaitMilliseconds))
  }

  /// Tells other processes that something was committed, and notes how far the history has come.
  func announce(_ mark: CommitMark) { lock?.write(mark.bytes) }

  /// Tells other processes that something is to be looked at. Nobody takes what is written for the mark of a commit.
  func ring() { lock?.touch() }

  /// The mark that the last commit of any process left.
  var mark: CommitMark? { lock?.bytes(CommitMark.byteCount).flatMap(CommitMark.init) }

  /// Runs `body` with the writer, outside of a transaction and without the lock.
  func withIdleWriter(_ body: (SQLiteConnection) -> Void) {
    writing.lock()
    defer { writing.unlock() }
    if let writer, !writer.isInTransaction { body(writer) }
  }

  /// Runs `body` with a reader. A store in memory has one connection for all.
  ///
  /// - Parameter waits: Whether it waits for its turn: not for a read of one number, by a thread that many wait for.
  func withReader<T>(waits: Bool = true, _ body: (SQLiteConnection) throws -> T) throws -> T {
    guard file.url != nil else {
      writing.lock()
      defer { writing.unlock() }
      guard let writer else { throw closed }
      defer { finishClosing() }
      return try HeldConnections.hold { try body(writer) }
    }
    let pass = waits ? line.enter() : .inner
    defer { line.leave(pass) }
    try check { try $0.checkNowAndThen() }
    return try HeldConnections.hold { try withConnection(body) }
  }

  var isClosed: Bool { readers.withLock { $0.isClosed } }

  /// Looks at the files. Who is closed has none any more, and the last one to close removes those beside the store.
  private func check(_ look: (OpenedFiles) throws -> Void) throws {
    guard let files else { return }
    do {
      try look(files)
    } catch {
      throw isClosed ? closed : error
    }
  }

  private func withConnection<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
    let pooled: SQLiteConnection? = try readers.withLock { readers in
      guard !readers.isClosed else { throw closed }
      return readers.idle.popLast()
    }
    let connection = try pooled ?? reader()
    defer {
      assert(!connection.isInTransaction, "a reader goes back to the pool without a transaction")
      let keep = readers.withLock { readers in
        guard !readers.isClosed, !connection.isInTransaction,
          readers.idle.count < StoreTuning.idleReaders
        else { return false }
        readers.idle.append(connection)
        return true
      }
      if !keep { connection.close() }
    }
    return try body(connection)
  }

  /// The writer alone copies the log into the file, once it has looked at both: a reader that closes last leaves it.
  private func reader() throws -> SQLiteConnection {
    let connection = try file.connect(readOnly: file.options.isReadOnly, isReader: true)
    connection.keepLogOnClose()
    do {
      // It has what lies under the name now.
      try check { try $0.check() }
    } catch {
      connection.close()
      throw error
    }
    return connection
  }

  /// A connection of its own for a snapshot, which is closed with the others at the latest.
  ///
  /// - Parameter isCounted: Whether it is one of those of which only so many may be held.
  /// - Throws: `StoreError` (`tooManyQueryGenerations`) where as many are held as may be.
  func snapshot(
    isCounted: Bool, _ make: (SQLiteConnection) throws -> StoreSnapshot
  ) throws -> StoreSnapshot {
    try readers.withLock { readers in
      guard !readers.isClosed else { throw closed }
      readers.snapshots.removeAll { $0.snapshot == nil }
      guard isCounted else { return }
      guard readers.heldSnapshots + readers.snapshotsToCome < snapshotsMax else {
        throw tooManySnapshots
      }
      readers.snapshotsToCome += 1
    }
    let made = Result {
      let connection = try reader()
      do {
        return try make(connection)
      } catch {
        connection.close()
        throw error
      }
    }
    let isOpen = readers.withLock { readers in
      if isCounted { readers.snapshotsToCome -= 1 }
      assert(readers.snapshotsToCome >= 0, "who makes a snapshot has said so")
      guard !readers.isClosed else { return false }
      if case .success(let snapshot) = made {
        readers.snapshots.append(WeakSnapshot(snapshot: snapshot, isCounted: isCounted))
      }
      assert(readers.heldSnapshots <= snapshotsMax, "no more snapshots than may be")
      return true
    }
    let snapshot = try made.get()
    guard isOpen else {
      snapshot.close()
      throw closed
    }
    return snapshot
  }

  private var snapshotsMax: Int { max(1, file.options.queryGenerationsMax) }

  private var tooManySnapshots: StoreError {
    StoreError(
      .tooManyQueryGenerations,
      "\(file.name): this process holds \(snapshotsMax) query generations of the store, as many as it may.",
      suggestion:
        "Let go of those that are read no more (setQueryGenerationFrom(nil)), give contexts that are to "
        + "read one state one token, or raise StoreOptions.queryGenerationsMax.")
  }

  /// Closes all; `last` sees the writer once more. Within a transaction of this thread that is when it has ended: what it did
  /// counts.
  func close(_ last: @escaping (SQLiteConnection) -> Void) {
    let snapshots = readers.withLock { readers in
      readers.isClosed = true
      for connection in readers.idle { connection.close() }
      readers.idle = []
      defer { readers.snapshots = [] }
      return readers.snapshots.compactMap(\.snapshot)
    }
    for snapshot in snapshots { snapshot.close() }
    writing.lock()
    defer { writing.unlock() }
    guard writer != nil, closing == nil else { return }
    closing = last
    finishClosing()
  }

  private func finishClosing() {
    guard let last = closing, let writer, !writer.isInTransaction else { return }
    closing = nil
    last(writer)
    writer.close()
    self.writer = nil
  }

  private var closed: StoreError {
    StoreError(
      .cannotOpen, "\(file.name) was closed.", suggestion: "Open the store again.")
  }
}
