import DriftlessSQLite
public import Foundation

extension PersistentStore {
  /// Empties the store at a URL, so that the next who opens it makes it anew.
  ///
  /// The file stays, since other processes may have it open: what they read or write throws `fileReplaced`, also once another
  /// store was made in it. Copies that automatic migrations kept of it are removed. Nobody may be syncing it.
  /// - Throws: `StoreError`: `syncLocked` or `busy` while somebody uses it, `strayLog` where its log is another's, or what
  ///   SQLite says of the file.
  public static func destroy(at url: URL) throws {
    let url = StorePath.resolved(url)
    guard FileManager.default.fileExists(atPath: url.path) else { return }
    var copies: [String] = []
    try withStoreAlone(at: url) { connection in
      // A store that is damaged goes as well.
      copies = (try? KeptCopies.names(on: connection)) ?? []
      try connection.emptyDatabase()
    }
    ExternalDataFolder(store: url.path).destroy()
    KeptCopies.remove(copies, of: url)
  }

  /// Puts the content of one store in place of another's, in one transaction: those who have it open see either the one or
  /// the other, whenever the process ends. Meanwhile the content is on the disk once more, beside the store.
  ///
  /// The store becomes what the source is, its identifier included. Where that is another one than before, those who have the
  /// former one open can no more read or write it (`fileReplaced`). Where it is the same, a copy of before is put back: objects made
  /// after it are gone, and their keys are not given out again. A replica that is put back this way is another replica
  /// when it syncs next, and gives new objects identities that it never gave out. A copy of another model, as from before a
  /// migration, is another store to those who have it open (`fileReplaced`). What automatic migrations kept of the store stays.
  /// - Throws: `StoreError`: `syncLocked`, `strayLog`, and `busy` while somebody writes or reads an older state, whom it waits
  ///   for; the store is then as it was.
  public static func replace(at url: URL, withStoreAt source: URL) throws {
    let url = StorePath.resolved(url)
    let original = try PersistentStore.open(url: source, options: .inspecting(source))
    defer { original.close() }
    guard FileManager.default.fileExists(atPath: url.path) else {
      return try original.backup(to: url)
    }
    try withStoreAlone(at: url) { connection in
      // A log of two contents could not be told from one that is not the file's.
      guard try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)").first?.first == .integer(0)
      else {
        throw StoreError(
          .busy, "Somebody reads an older state of \(url.path).",
          suggestion:
            "Close what reads it (a snapshot, a context's query generation), and try again.")
      }
      let former = try StoreSettings.exist(on: connection) ? LogLink.of(connection) : nil
      // What is damaged says none.
      let isSame = (try? MetadataTable.identifier(on: connection)) == original.identifier
      // They lie beside the file still, whatever is in it.
      let kept = (try? KeptCopies.names(on: connection)) ?? []
      let keys = isSame ? (try? PrimaryKeyTable.lastKeys(on: connection)) ?? [:] : [:]
      let partial = NewFile.partialURL(of: url)
      NewFile.remove(partial)
      defer { NewFile.remove(partial) }
      StoreFile.createPrivate(partial)
      let copy = try SQLiteConnection(path: partial.path, mode: .readWriteCreate)
      defer { copy.close() }
      try original.connections.withReader {
        try original.copyAll(from: $0, to: copy, at: url) { _ in }
      }
      if try StoreSettings.exist(on: copy) {
        // Until the log is in the file, it goes on from what the file has now.
        try LogLink(base: former?.own ?? 0).write(copy)
        try KeptCopies.set(kept, on: copy)
      }
      // Who has the store open knows objects that were made after the copy: no other one gets their keys.
      try PrimaryKeyTable.raiseLastKeys(to: keys, on: copy)
      // The file says that it has no write-ahead log as long as it has a rollback journal, whatever page is written first.
      _ = try copy.scalar("PRAGMA journal_mode = DELETE")
      try copy.withSnapshot { try copy.backUp(to: connection) { _ in } }
    }
    // What was copied says that it lies in the source's file; whoever opens it takes note of that.
    guard original.modelOrigin == .inside else { return }
    try PersistentStore.open(url: url, options: StoreOptions(createsFile: false)).close()
  }

  /// Runs `body` on a file that nobody writes or syncs meanwhile, and checkpoints the write-ahead log after it.
  private static func withStoreAlone(
    at url: URL, _ body: (SQLiteConnection) throws -> Void
  ) throws {
    do {
      try StoreObstacle.checkKind(of: url)
      try StrayLogs.check(url)
      let syncing = try SyncLock(path: url.path + "-driftless-sync")
      defer { withExtendedLifetime(syncing) {} }
      let writing = try FileLock(path: url.path + "-driftless-lock")
      try writing.lock(.exclusive)
      defer { writing.unlock() }
      let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
      defer { connection.close() }
      try body(connection)
      _ = try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
      writing.touch()
    } catch let error as SQLiteError {
      throw StoreError(error, path: url.path)
    }
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
