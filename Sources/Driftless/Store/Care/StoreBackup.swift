import DriftlessSQLite
public import Foundation

extension PersistentStore {
  /// Writes a copy of the store as it is now, while it goes on being used: one consistent state, in a file of its own
  /// that appears whole or not at all.
  ///
  /// The copy has the identifier of the store, and of the replica: to put it back in place of the store, use
  /// ``replace(at:withStoreAt:)``; to use it beside the store, give it a new identity first.
  /// - Parameters:
  ///   - url: Where no file is.
  ///   - copiesFiles: Whether files of large values are copied, byte for byte. Else those on the same file system get a second name
  ///     (a hard link), which takes no room: what damages such a file in its place damages it for both.
  ///   - progress: Called with the part that is done, 0 … 1; it ends the backup by throwing.
  /// - Throws: `StoreError`; nothing is left at `url`.
  public func backup(
    to url: URL, copiesFiles: Bool = false, progress: (Double) throws -> Void = { _ in }
  ) throws {
    guard !FileManager.default.fileExists(atPath: url.path) else {
      throw StoreError(
        .invalidArgument, "There is a file at \(url.path).",
        suggestion: "Give another name, or move the file away.")
    }
    try checkFolder(of: url)
    do {
      try connections.withReader { connection in
        try NewFile.write(at: url) { partial in
          let copy = try SQLiteConnection(path: partial.path, mode: .readWriteCreate)
          defer { copy.close() }
          try copyAll(
            from: connection, to: copy, at: url, sharesFiles: !copiesFiles, progress: progress)
        }
      }
    } catch let error as SQLiteError {
      throw StoreError(error, path: url.path)
    }
  }

  /// Writes the file anew without the room that deleted rows left, and checkpoints the write-ahead log.
  ///
  /// It waits for writers and keeps them waiting; for a while it needs as much room again as the file has.
  ///
  /// - Throws: ``StoreError``: `readOnly` for a store that was opened for reading only, `busy` while others use the file, `diskFull`.
  ///   The file is as it was then.
  public func vacuum() throws {
    guard !isReadOnly else {
      throw StoreError(
        .readOnly, "\(file.name) was opened for reading only.",
        suggestion: "Open it without the read-only option.")
    }
    do {
      try connections.withWriter { writer in
        try writer.transaction(.immediate) { try content?.checkBeforeWriting(writer) }
        try writer.execute("VACUUM")
      }
      checkpointNow(sweeps: true)
    } catch let error as SQLiteError {
      throw StoreError(error, path: file.name)
    }
  }
}

extension PersistentStore {
  /// Copies a write-ahead log of so many bytes into the file and cuts it: on a small disk it takes the room that others need.
  package func cutLog(ofBytes least: Int) {
    guard let checkpointer, checkpointer.walBytes >= least else { return }
    checkpointNow()
  }

  /// Whether the file has Driftless's tables: one that Core Data wrote has them once it was opened for writing.
  package func hasOwnTables() throws -> Bool {
    try read { try ModelInside.exists(on: $0.connection) }
  }

  /// Writes a file anew without the room that deleted rows left, whoever wrote it, and adds nothing to it.
  package static func vacuum(at url: URL) throws {
    let file = StoreFile(url: url, options: StoreOptions(createsFile: false))
    do {
      try StrayLogs.check(url)
      try file.alone {
        let connection = try file.connect(readOnly: false)
        defer { connection.close() }
        try connection.execute("VACUUM")
        _ = try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
      }
    } catch let error as SQLiteError {
      throw StoreError(error, path: url.path)
    }
  }

  /// Two files whose names differ in the extension alone would share the folder of large values, and each would sweep up
  /// the other's.
  private func checkFolder(of copy: URL) throws {
    guard let url, !schema.externalColumns.isEmpty,
      ExternalDataFolder(store: url.path).url.standardizedFileURL
        == ExternalDataFolder(store: copy.path).url.standardizedFileURL
    else { return }
    throw StoreError(
      .invalidArgument,
      "\(copy.path) would have its large values in the same folder as \(url.path).",
      suggestion: "Give a name that differs in more than the extension.")
  }

  /// Copies one state of the store: the files beside it first, since a row may only name a file that is there.
  func copyAll(
    from connection: SQLiteConnection, to copy: SQLiteConnection, at url: URL,
    sharesFiles: Bool = true, progress: (Double) throws -> Void
  ) throws {
    try connection.withSnapshot {
      try content?.check(connection)
      let names = try ExternalData.referenced(schema.externalColumns, connection)
      let folder = ExternalDataFolder(store: url.path)
      let copied = try self.url.map {
        try ExternalDataFolder(store: $0.path).copy(
          names, to: folder, isLinked: sharesFiles)
      }
      do {
        try connection.backUp(to: copy, progress: progress)
        try FileIdentity.markCopy(copy)
        // What lies beside the store is not the copy's, and stays when that is destroyed.
        if try StoreSettings.exist(on: copy) { try KeptCopies.set([], on: copy) }
      } catch {
        folder.remove(copied ?? [])
        if copied?.isEmpty == false { folder.removeEmpty() }
        throw error
      }
    }
  }
}

/// A file that appears under its name when it is whole.
enum NewFile {
  /// Lets `body` write a file beside `url`, and gives it that name when all of it is on the disk. The file is there, empty, when
  /// `body` gets it.
  ///
  /// - Throws: `StoreError` with the code `busy` while another one writes that file, and what `body` throws.
  static func write(at url: URL, _ body: (URL) throws -> Void) throws {
    // Held until the file has its name: it ends with the process, so what a killed one left is nobody's.
    let lockFile = lockURL(of: url)
    let descriptor = try lock(lockFile, for: url)
    defer {
      unlink(lockFile.path)
      close(descriptor)
    }
    let partial = partialURL(of: url)
    try create(partial)
    do {
      try body(partial)
      try synchronize(partial)
      guard rename(partial.path, url.path) == 0 else { throw failure(url) }
    } catch {
      remove(partial)
      throw error
    }
    try synchronize(url.deletingLastPathComponent())
  }

  /// Makes an empty file of this user's alone. What is there is taken away and not opened: it may be another name of a database that
  /// is open here, which loses its locks when a descriptor of it is closed.
  private static func create(_ partial: URL) throws {
    remove(partial)
    let descriptor = open(
      partial.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure(partial) }
    defer { close(descriptor) }
    guard fchmod(descriptor, 0o600) == 0 else { throw failure(partial) }
  }

  /// Locks a file that is no database's: whoever looks whether it is held has a descriptor of it, and may close that at any time.
  private static func lock(_ file: URL, for url: URL) throws -> Int32 {
    // Others remove theirs meanwhile, and somebody may put things there that are no such file.
    for _ in 0..<attemptsMax {
      // It may be another name of a database that is open here.
      var present = stat()
      if lstat(file.path, &present) == 0, present.st_mode & S_IFMT == S_IFREG,
        present.st_nlink > 1
      {
        unlink(file.path)
      }
      let descriptor = open(
        file.path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
      guard descriptor >= 0 else {
        guard errno == ELOOP || errno == ENXIO else { throw failure(file) }
        unlink(file.path)
        continue
      }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        defer { close(descriptor) }
        guard errno == EWOULDBLOCK else { throw failure(file) }
        throw busy(url)
      }
      var (own, there) = (stat(), stat())
      guard fstat(descriptor, &own) == 0, lstat(file.path, &there) == 0,
        own.st_ino == there.st_ino, own.st_dev == there.st_dev
      else {
        close(descriptor)
        continue
      }
      // Another user could hold it for ever.
      guard own.st_mode & S_IFMT == S_IFREG, own.st_uid == geteuid(), own.st_nlink == 1 else {
        unlink(file.path)
        close(descriptor)
        continue
      }
      return descriptor
    }
    throw StoreError(
      .cannotOpen, "\(file.path) is no file of this user's, and comes again when it is removed.",
      suggestion: "See who makes it, and write to another folder.")
  }

  private static let attemptsMax = 16

  static func partialURL(of url: URL) -> URL {
    url.deletingLastPathComponent().appendingPathComponent(".\(url.lastPathComponent).partial")
  }

  /// No longer than the name of the file that is not whole.
  static func lockURL(of url: URL) -> URL {
    url.deletingLastPathComponent().appendingPathComponent(".\(url.lastPathComponent).lock")
  }

  private static func busy(_ url: URL) -> StoreError {
    StoreError(
      .busy, "Another process writes \(url.path).",
      suggestion: "Let it end, or give another name.")
  }

  /// Removes a file, and what SQLite left beside it.
  static func remove(_ url: URL) {
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(url.path + suffix) }
  }

  /// Removes a store, and all that lies beside it.
  static func removeStore(_ url: URL) {
    remove(url)
    for suffix in StorePath.suffixes { unlink(url.path + suffix) }
    ExternalDataFolder(store: url.path).destroy()
  }

  /// Waits until a file or folder is on the disk.
  static func synchronize(_ url: URL) throws {
    let descriptor = open(url.path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(url) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure(url) }
  }

  private static func failure(_ url: URL) -> StoreError { .unwritten(url, errno) }
}
