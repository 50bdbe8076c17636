import DriftlessSQLite
public import Foundation

extension PersistentStore {
  /// Empties the store at a URL, so that the next who opens it makes it anew.
  ///
  /// The file stays, since other processes may have it open; they see that it is empty. Nobody may be syncing it.
  /// - Throws: `StoreError`: `syncLocked`, `busy`, or what SQLite says of the file.
  public static func destroy(at url: URL) throws {
    let url = StorePath.resolved(url)
    guard FileManager.default.fileExists(atPath: url.path) else { return }
    try withStoreAlone(at: url) { connection in
      try connection.emptyDatabase()
    }
    ExternalDataFolder(store: url.path).destroy()
  }

  /// Puts the content of one store in place of another's, in one transaction: those who have it open see either the one or
  /// the other.
  ///
  /// The store becomes what the source is, its identifier included. A replica that is put back this way is another replica
  /// when it syncs next, and gives new objects identities that it never gave out.
  /// - Throws: `StoreError`; the store is then as it was.
  public static func replace(at url: URL, withStoreAt source: URL) throws {
    let url = StorePath.resolved(url)
    let original = try PersistentStore.open(url: source, options: .inspecting(source))
    defer { original.close() }
    guard FileManager.default.fileExists(atPath: url.path) else {
      return try original.backup(to: url)
    }
    try withStoreAlone(at: url) { connection in
      // Until the log is in the file, it goes on from what the file has now.
      _ = try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
      let former = try StoreSettings.exist(on: connection) ? LogLink.of(connection) : nil
      try original.connections.withReader {
        try original.copyAll(from: $0, to: connection, at: url) { _ in }
      }
      guard try StoreSettings.exist(on: connection) else { return }
      try LogLink(base: former?.own ?? 0).write(connection)
    }
    // What was copied says that it lies in the source's file; whoever opens it takes note of that.
    guard original.modelOrigin == .inside else { return }
    try PersistentStore.open(url: url, options: StoreOptions(createsFile: false)).close()
  }

  /// Runs `body` on a file that nobody writes or syncs meanwhile, and checkpoints the write-ahead log after it.
  private static func withStoreAlone(
    at url: URL, _ body: (SQLiteConnection) throws -> Void
  ) throws {
    try StoreObstacle.checkKind(of: url)
    try StrayLogs.check(url)
    let syncing = try SyncLock(path: url.path + "-driftless-sync")
    let writing = try FileLock(path: url.path + "-driftless-lock")
    try writing.lock(.exclusive)
    defer { writing.unlock() }
    do {
      let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
      defer { connection.close() }
      try body(connection)
      _ = try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    } catch let error as SQLiteError {
      throw StoreError(error, path: url.path)
    }
    writing.touch()
    withExtendedLifetime(syncing) {}
  }
}

extension StoreOptions {
  /// How a file is looked at without changing anything in it or beside it: as immutable, unless there are signs that
  /// somebody has it open.
  package static func inspecting(_ url: URL) -> StoreOptions {
    let path = StorePath.resolved(url).path
    // What is left where there was no space for a log is too small to be one.
    let isInUse = [("-wal", 1), ("-journal", 1), ("-shm", 32_768)].contains { suffix, least in
      FileNumber.size(of: path + suffix).map { $0 >= least } ?? false
    }
    return StoreOptions(isReadOnly: true, createsFile: false, isImmutable: !isInUse)
  }
}

extension PersistentStore {
  /// Whether a file is a store that was never finished, as a program leaves it that was ended, or had no space, while it
  /// made one: a database without tables.
  package static func isUnfinished(at url: URL) -> Bool {
    do {
      let url = StorePath.resolved(url)
      try StoreObstacle.checkKind(of: url)
      try StrayLogs.check(url)
      let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
      defer { connection.close() }
      return try StoreFile.isEmpty(connection)
    } catch {
      return false
    }
  }
}
