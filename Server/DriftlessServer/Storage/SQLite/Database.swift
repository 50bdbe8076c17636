import Dispatch
package import DriftlessSQLite
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// One connection with a thread of its own: SQLite blocks, and the threads that serve requests must
/// not.
package final class Database: Sendable {
  private let path: String
  private let open: @Sendable () throws -> SQLiteConnection
  private let queue: DispatchQueue
  private let connection: Mutex<SQLiteConnection?>
  /// Whether it was closed, for good.
  private let isClosed = Atomic(false)
  /// The most bytes that the file had. Nothing here ever makes it shorter.
  private let size = Mutex<Int64>(0)

  /// - Parameter open: opens the file, now and whenever that is to be done again.
  init(
    path: String, label: String, open: @escaping @Sendable () throws -> SQLiteConnection
  ) throws {
    self.path = path
    self.open = open
    queue = DispatchQueue(label: "driftless.database.\(label)")
    connection = Mutex(nil)
    try run { _ in }
  }

  /// For who reads. The file is created when it is not there.
  convenience init(reading path: String, label: String) throws {
    try self.init(path: path, label: label) {
      let connection = try SQLiteConnection(path: path, mode: .readWriteCreate)
      try connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
      return connection
    }
  }

  /// Runs `body` on the calling thread, as soon as the connection is free.
  ///
  /// - Throws: `ServerError` (`.busy`) once it was closed, (`.storage`) where the file was cut; `SQLiteError`, and what `body` throws.
  package func run<Result: Sendable>(_ body: (SQLiteConnection) throws -> Result) throws -> Result {
    try connection.withLock { slot in
      // What is late does not open the file again: another process may have it by now, or have put another one in its place.
      guard !isClosed.load(ordering: .relaxed) else { throw ServerError.hasEnded }
      try checkFileIsWhole()
      do {
        let open = try slot ?? self.open()
        slot = open
        return try body(open)
      } catch var error as SQLiteError {
        error.file = path
        if Self.isBroken(error) {
          // After a failed write or sync the state of the file is unknown to this connection: a later
          // success would prove nothing. A fresh connection reads what the disk really holds.
          slot?.close()
          slot = nil
        }
        throw error
      }
    }
  }

  /// SQLite goes on with the pages that it has in memory when somebody cuts the file off, and a write would be
  /// acknowledged into what nobody can read again.
  private func checkFileIsWhole() throws {
    var status = stat()
    // A file that is gone is another matter: `SQLiteConnection.isMoved`.
    guard stat(path, &status) == 0 else { return }
    let bytes = Int64(status.st_size)
    try size.withLock { size in
      guard bytes >= size else { throw ServerError.databaseIsCut }
      size = bytes
    }
  }

  /// Runs `body` on the connection's thread.
  package func perform<Result: Sendable>(
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async {
        continuation.resume(with: Swift.Result { try self.run(body) })
      }
    }
  }

  /// Calls `body` on the connection's thread, later.
  package func later(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

  package func later(seconds: Double, _ body: @escaping @Sendable () -> Void) {
    queue.asyncAfter(deadline: .now() + seconds, execute: body)
  }

  /// Ends what the connection is at, and all that comes later is refused.
  package func close() {
    connection.withLock { slot in
      isClosed.store(true, ordering: .relaxed)
      slot?.close()
      slot = nil
    }
  }

  /// SQLITE_IOERR (10), SQLITE_CORRUPT (11), SQLITE_NOTADB (26).
  private static func isBroken(_ error: SQLiteError) -> Bool {
    [10, 11, 26].contains(error.primaryCode)
  }
}
