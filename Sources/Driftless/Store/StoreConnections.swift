import DriftlessSQLite
import Foundation
import Synchronization

/// The connections of a store: one that writes, and a pool of those that read.
// Sendable unchecked: the writer is used under `writing`, the pool under its mutex.
final class StoreConnections: @unchecked Sendable {
  private let file: StoreFile
  private let lock: FileLock?
  private let writing = NSRecursiveLock()
  private var writer: SQLiteConnection?
  private let readers = Mutex(Readers())

  // Sendable unchecked: a connection leaves the pool with the one thread that uses it.
  private struct Readers: @unchecked Sendable {
    var idle: [SQLiteConnection] = []
    var isClosed = false
  }

  init(file: StoreFile, writer: SQLiteConnection, lock: FileLock?) {
    self.file = file
    self.writer = writer
    self.lock = lock
  }

  /// Runs `body` with the writer, while no checkpointer of any process runs.
  func withWriter<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
    writing.lock()
    defer { writing.unlock() }
    guard let writer else { throw closed }
    try lock?.lock(.shared)
    defer { lock?.unlock() }
    return try body(writer)
  }

  /// Tells other processes that something was committed.
  func announce() { lock?.touch() }

  /// Runs `body` with the writer, outside of a transaction and without the lock.
  func withIdleWriter(_ body: (SQLiteConnection) -> Void) {
    writing.lock()
    defer { writing.unlock() }
    if let writer, !writer.isInTransaction { body(writer) }
  }

  /// Runs `body` with a reader. A store in memory has one connection for all.
  func withReader<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
    guard file.url != nil else {
      writing.lock()
      defer { writing.unlock() }
      guard let writer else { throw closed }
      return try body(writer)
    }
    let pooled: SQLiteConnection? = try readers.withLock { readers in
      guard !readers.isClosed else { throw closed }
      return readers.idle.popLast()
    }
    let connection = try pooled ?? file.connect(readOnly: file.options.isReadOnly)
    defer {
      let keep = readers.withLock { readers in
        guard !readers.isClosed, readers.idle.count < StoreTuning.idleReaders else { return false }
        readers.idle.append(connection)
        return true
      }
      if !keep { connection.close() }
    }
    return try body(connection)
  }

  /// Closes all; `last` sees the writer once more.
  func close(_ last: (SQLiteConnection) -> Void) {
    readers.withLock { readers in
      readers.isClosed = true
      for connection in readers.idle { connection.close() }
      readers.idle = []
    }
    writing.lock()
    defer { writing.unlock() }
    guard let writer else { return }
    last(writer)
    writer.close()
    self.writer = nil
  }

  private var closed: StoreError {
    StoreError(
      .cannotOpen, "\(file.name) was closed.", suggestion: "Open the store again.")
  }
}

/// The one that moves the WAL's pages home.
///
/// SQLite 3.7.0 to 3.51.2 can corrupt a database when one connection checkpoints while another writes and resets the
/// WAL. So no connection checkpoints by itself; writers hold a file lock shared, and the checkpointer holds it alone.
struct Checkpointer: Sendable {
  private let wal: String
  private let lock: FileLock

  init(url: URL, lock: FileLock) {
    wal = url.path + "-wal"
    self.lock = lock
  }

  /// Whether the WAL has grown large.
  var isDue: Bool { walBytes > StoreTuning.checkpointBytes }

  private var walBytes: Int {
    var status = stat()
    return stat(wal, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Checkpoints if nobody writes. When somebody does, another commit will try again.
  func checkpoint(_ connection: SQLiteConnection, force: Bool) {
    guard force ? walBytes > 0 : isDue, lock.tryLock() else { return }
    defer { lock.unlock() }
    // A reader may hold the WAL's end: then its pages go home and the file stays as long as it is.
    try? connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }
}
