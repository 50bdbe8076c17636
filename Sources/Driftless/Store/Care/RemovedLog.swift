import DriftlessSQLite
import Foundation

/// A log whose name was removed while a process has the store open.
///
/// What was saved last is in it alone, and who has it open saves it into the file as it closes the store
/// (`Checkpointer.complete`). Who opens the file before that would make another log, and go on without those saves.
enum RemovedLog {
  /// Waits until nobody has such a log open.
  ///
  /// - Throws: `StoreError` with code `busy`, which names the process that has it.
  static func awaitCompletion(of url: URL) throws {
    let end = ContinuousClock.now + .milliseconds(StoreTuning.removedLogWaitMilliseconds)
    while let holder = holder(of: url) {
      guard ContinuousClock.now < end else { throw holder.failure(ofRemovedLog: url.path) }
      // The end of what another process does is told by nobody.
      usleep(10_000)
    }
  }

  /// A process that has saves of the store in a log without a name; nil where there are none, or nobody has them any more.
  private static func holder(of url: URL) -> LockHolder? {
    let isLogEmpty = FileNumber.size(of: WriteAheadLog.path(of: url)) ?? 0 == 0
    // Who uses a log uses this file; the last one to close removes it, or leaves it when it is killed.
    guard isLogEmpty, FileNumber.size(of: url.path + "-shm") ?? 0 > 0,
      access(url.path + "-driftless-lock", R_OK | W_OK) == 0,
      let mark = try? FileLock(path: url.path + "-driftless-lock").bytes(CommitMark.byteCount)
        .flatMap(CommitMark.init),
      let file = try? SQLiteConnection(path: url.path, mode: .immutable)
    else { return nil }
    defer { file.close() }
    guard (try? mark.isAhead(of: file)) == true,
      let holder = LockHolder.ofOpenDatabase(url.path)
    else { return nil }
    // Where a log lies there, and nobody has a removed one, another content was written into the file: that is told by who opens it.
    let path = WriteAheadLog.path(of: url)
    return access(path, F_OK) != 0 || holder.hasOpen(removed: path) ? holder : nil
  }
}

extension CommitMark {
  /// Whether more was committed to the store than a connection sees.
  fileprivate func isAhead(of connection: SQLiteConnection) throws -> Bool {
    // All of a new store may be in its log.
    guard try StoreSettings.exist(on: connection) else { return number > 0 }
    guard
      case .text(let identifier)? = try connection.scalar("SELECT \(MetadataTable.identifierSQL)"),
      CommitMark(store: identifier, number: 0).store == store
    else { return false }
    return try number > PrimaryKeyTable.lastKey(of: HistoryEntity.transaction, on: connection)
  }
}
