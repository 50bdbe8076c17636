import DriftlessSQLite
import Foundation
import Logging

/// Copies the write-ahead log into the database, alone and under a lock of its own.
///
/// SQLite before 3.51.3 can corrupt a database when one process checkpoints while another writes.
/// So no connection checkpoints by itself; only the serving process does, between two groups, and
/// while it does no other process (`zone create`, `token create`) writes, because those hold the
/// same lock, shared.
final class Checkpointer: Sendable {
  private let folder: DataFolder
  private let pagesMax: Int

  init(folder: DataFolder, limits: ServerLimits) {
    self.folder = folder
    pagesMax = limits.checkpointPages
  }

  func checkpointIfDue(_ database: Database, logger: Logger) {
    let size = try? FileManager.default.attributesOfItem(atPath: folder.database.path + "-wal")[
      .size]
    guard let size = size as? Int, size / 4096 > pagesMax else { return }
    do {
      // When another process writes, the next group tries again.
      guard let lock = try FileLock(folder.writeLock, .exclusive, waits: false) else { return }
      defer { lock.release() }
      try database.run { try $0.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
    } catch {
      logger.warning("the write-ahead log was not copied", metadata: ["error": "\(error)"])
    }
  }
}
