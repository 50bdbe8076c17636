import DriftlessSQLite
import Foundation
import Logging
import Synchronization

/// Copies the write-ahead log into the database, alone and under a lock of its own.
///
/// SQLite before 3.51.3 can corrupt a database when one process checkpoints while another writes.
/// So no connection checkpoints by itself; only the serving process does, between two groups, and
/// while it does no other process (`zone create`, `token create`) writes, because those hold the
/// same lock, shared.
///
/// It waits for nobody, since pushes would wait with it: what a reader still needs of the log stays in it, and the next group
/// tries again. Where that goes on, the operator hears of it.
final class Checkpointer: Sendable {
  private let folder: DataFolder
  /// The write-ahead log.
  private let log: String
  private let limits: LiveLimits
  private var pagesMax: Int { limits.checkpointPages }
  private let metrics: ServerMetrics
  private let isHeldUp = Mutex(false)
  /// A log that is so many times too long is held up by somebody who does not go on.
  private static let patience = 4

  init(folder: DataFolder, limits: LiveLimits, metrics: ServerMetrics) {
    self.folder = folder
    log = folder.database.path + "-wal"
    self.metrics = metrics
    self.limits = limits
  }

  private var pages: Int { (DiskSpace.bytes(ofFile: log) ?? 0) / 4096 }

  func checkpointIfDue(_ database: Database, logger: Logger) {
    guard pages > pagesMax else { return }
    checkpoint(database, logger)
    tell(pages, logger)
  }

  /// Gives back what the write-ahead log takes up, however short it is, and takes back the room that was lent to an operator.
  func makeRoom(_ database: Database, logger: Logger) {
    if pages > 0 { checkpoint(database, logger) }
    folder.reserve.fill()
  }

  /// Whether that may bring anything.
  var canMakeRoom: Bool { folder.reserve.canGrow(by: pages * 4096) }

  private func checkpoint(_ database: Database, _ logger: Logger) {
    do {
      // When another process writes, the next group tries again.
      guard let lock = try FileLock(folder.writeLock, .exclusive, waits: false) else { return }
      defer { lock.release() }
      func copy() throws {
        try database.run { connection in
          connection.busyTimeoutMilliseconds = 0
          defer { connection.busyTimeoutMilliseconds = connection.usualBusyTimeoutMilliseconds }
          try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
      }
      let (room, growth) = try database.run {
        (folder.reserve.logRoom($0), folder.reserve.growthBytes($0))
      }
      switch room {
      case .free: try copy()
      case .reserve: try folder.reserve.lend(copy)
      case .none:
        logger.warning(
          "there is no room to copy the write-ahead log", metadata: ["bytes": "\(growth)"])
      }
    } catch {
      logger.warning("the write-ahead log was not copied", metadata: ["error": "\(error)"])
    }
  }

  private func tell(_ pages: Int, _ logger: Logger) {
    if pages > pagesMax { metrics.countHeldCheckpoint() }
    let isLong = pages > pagesMax * Self.patience
    let wasHeldUp = isHeldUp.withLock { isHeldUp in
      defer { isHeldUp = isHeldUp ? pages > pagesMax : isLong }
      return isHeldUp
    }
    if isLong, !wasHeldUp {
      logger.warning(
        "the write-ahead log grows: a backup, a check or another reader holds it up",
        metadata: [
          "bytes": "\(pages * 4096)", "file": "\(folder.database.path)-wal",
          "try": "see who has it open, say by fuser, and end who does not go on",
        ])
    } else if wasHeldUp, pages <= pagesMax {
      logger.notice("the write-ahead log was copied again")
    }
  }
}
