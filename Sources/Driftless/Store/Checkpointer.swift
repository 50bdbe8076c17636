import DriftlessSQLite
import Foundation
import Logging
import Synchronization

/// The one that checkpoints: it copies the pages of the write-ahead log (WAL) into the file.
///
/// SQLite 3.7.0 to 3.51.2 can corrupt a database when one connection checkpoints while another writes and resets the
/// WAL. So no connection checkpoints by itself; writers hold a file lock shared, and the checkpointer holds it alone.
final class Checkpointer: Sendable {
  private let url: URL
  private var wal: String { WriteAheadLog.path(of: url) }
  private let lock: FileLock
  /// The size of the WAL from which on the next checkpoint is due.
  private let dueBytes = Mutex(StoreTuning.checkpointBytes)

  init(url: URL, lock: FileLock) {
    self.url = url
    self.lock = lock
  }

  /// Whether the WAL has grown large.
  var isDue: Bool { walBytes > dueBytes.withLock { $0 } }

  var walBytes: Int {
    var status = stat()
    return stat(wal, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Checkpoints if nobody writes. When somebody does, another commit will try again.
  ///
  /// - Parameter whenCut: Runs when all of the log is in the file and it was cut: nobody writes, and nobody reads an
  ///   older state.
  func checkpoint(_ connection: SQLiteConnection, force: Bool, whenCut: () -> Void) {
    guard force ? walBytes > 0 : isDue else { return }
    _ = lock.alone { copyLog(connection, whenCut) }
  }

  private func copyLog(_ connection: SQLiteConnection, _ whenCut: () -> Void) {
    // Somebody wrote another content into the file under those who have it open. The next to open it is told.
    guard !StrayLogs.isStray(beside: connection, url) else {
      Logger(label: "driftless.store").error(
        "\(url.path): another content was written into the file; its log is left as it is")
      return
    }
    // Writers wait meanwhile, so a reader that holds the WAL's end is not waited for: the pages that it does not need are
    // copied, and the log is cut when it has grown as much again.
    connection.busyTimeoutMilliseconds = StoreTuning.checkpointWaitMilliseconds
    defer { connection.busyTimeoutMilliseconds = connection.usualBusyTimeoutMilliseconds }
    let outcome = try? connection.rows("PRAGMA wal_checkpoint(TRUNCATE)").first?.first
    let isCut = outcome == .integer(0)
    if isCut { whenCut() }
    dueBytes.withLock { [walBytes] in
      $0 = (isCut ? 0 : walBytes) + StoreTuning.checkpointBytes
    }
  }

  /// Puts what a log holds whose name is gone into the file, as the last work of a connection that has it open still: nobody
  /// else will find it.
  ///
  /// - Parameter place: Where the file is by now; nil where it was.
  func complete(_ connection: SQLiteConnection, _ files: OpenedFiles, at place: URL? = nil) {
    let place = place ?? url
    _ = lock.alone(milliseconds: StoreTuning.completionWaitMilliseconds) {
      guard files.canBeCompleted(at: place), StrayLogs.belongs(connection, to: place) else {
        return
      }
      connection.busyTimeoutMilliseconds = StoreTuning.checkpointWaitMilliseconds
      let outcome = try? connection.rows("PRAGMA wal_checkpoint(TRUNCATE)").first?.first
      guard outcome == .integer(0) else { return }
      Logger(label: "driftless.store").notice(
        "\(place.path): what its log held was saved into the file")
    }
  }
}
