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
  /// The size of the WAL when a checkpoint could not cut it last; 0 since it was cut.
  private let uncutBytes = Mutex(0)
  /// When a long WAL was waited for in vain last, and its size then; nil since it was copied.
  private let vainWait = Mutex<(bytes: Int, time: ContinuousClock.Instant)?>(nil)

  init(url: URL, lock: FileLock) {
    self.url = url
    self.lock = lock
  }

  /// Whether the WAL has grown large, since it could not be cut last.
  var isDue: Bool {
    let bytes = walBytes
    return uncutBytes.withLock { uncut in
      // Another process cut it.
      if bytes < uncut { uncut = 0 }
      return bytes > uncut + StoreTuning.checkpointBytes
    }
  }

  var walBytes: Int {
    var status = stat()
    return stat(wal, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Checkpoints if nobody writes. When somebody does, another commit will try again; a WAL that has grown to a multiple is waited
  /// for.
  ///
  /// - Parameter whenCut: Runs when all of the log is in the file and it was cut: nobody writes, and nobody reads an
  ///   older state.
  /// - Parameter always: Also where there is no log.
  func checkpoint(
    _ connection: SQLiteConnection, force: Bool, always: Bool = false, whenCut: () -> Void
  ) {
    let bytes = walBytes
    guard always || (force ? bytes > 0 : isDue) else { return }
    let waits =
      bytes > StoreTuning.checkpointBytes * StoreTuning.longLogFactor
      && (force || !hasWaitedInVain(bytes))
    let done: Void? = lock.alone(milliseconds: waits ? StoreTuning.leastWaitMilliseconds : 0) {
      copyLog(connection, whenCut)
    }
    if done != nil {
      vainWait.withLock { $0 = nil }
    } else if waits {
      vainWait.withLock { $0 = (bytes: bytes, time: ContinuousClock.now) }
    }
  }

  /// Whether somebody kept it from being copied a moment ago, and it has not grown much since: not each commit waits then.
  private func hasWaitedInVain(_ bytes: Int) -> Bool {
    vainWait.withLock { last in
      guard let last else { return false }
      return bytes >= last.bytes && bytes < last.bytes + StoreTuning.checkpointBytes
        && ContinuousClock.now < last.time + StoreTuning.vainWaitPause
    }
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
    uncutBytes.withLock { [walBytes] in $0 = isCut ? 0 : walBytes }
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
