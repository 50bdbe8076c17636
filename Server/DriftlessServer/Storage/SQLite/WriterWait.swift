import DriftlessSQLite
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Who waits for the writer of a folder's database has it known, so that one who writes much, in many transactions, lets it go in
/// between until the other has it, and else not.
///
/// It is a lock on a file of its own: those who wait share it. It goes with a process that is killed.
struct WriterWait: Sendable {
  private let file: URL

  init(_ folder: DataFolder) { file = folder.waitLock }

  /// Runs what waits. Where that cannot be made known, it waits all the same.
  func run(_ body: () throws -> Void) throws {
    let lock = try? FileLock(file, .shared, waits: true)
    defer { lock?.release() }
    try body()
  }

  /// Waits until nobody waits for the writer. One who is stopped, or who comes again and again, is waited for no longer than this.
  ///
  /// A program of before, or another's, does not say that it waits: it looks again and again, and has to find the writer free. So
  /// there is always a pause, if only a short one.
  func giveWay(milliseconds: Int = 1_000) {
    let end = ContinuousClock.now + .milliseconds(milliseconds)
    repeat { usleep(1_000) } while isWaitedFor && ContinuousClock.now < end
  }

  /// Whether somebody waits for the writer.
  var isWaitedFor: Bool {
    guard access(file.path, F_OK) == 0 else { return false }
    do {
      guard let lock = try FileLock(file, .exclusive, waits: false) else { return true }
      lock.release()
    } catch {
      // Then nobody can tell.
    }
    return false
  }
}

extension DataFolder {
  /// A connection to the folder's database for who writes to it: whoever waits for another writer by it has that known.
  ///
  /// - Throws: `ServerError` (`.noData`) for a file that is no server's, which is not changed then; `SQLiteError`.
  func writingConnection() throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: database.path, mode: .readWriteCreate)
    let wait = WriterWait(self)
    connection.whileWaiting = { try wait.run($0) }
    try ServerSchema.checkIsOwn(connection)
    try connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
    return connection
  }
}
