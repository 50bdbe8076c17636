import DriftlessProtocol
import DriftlessSQLite
package import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A copy of a server's database as one file, made while it serves, and put back.
package struct Backup {
  package let file: URL

  package init(_ file: URL) { self.file = file }

  /// What a file of a backup holds.
  package struct Content: Sendable {
    package let bytes: Int64
    package let zones: [ZoneRecord]
    package let entries: Int
    /// What backups that were killed had left in the folder of the file, and was removed.
    package var removed: [URL] = []
  }

  /// Copies the database of a folder, as it is at one moment, and reads all of the copy.
  ///
  /// Pushes go on meanwhile; the server's log is not copied into its database until this ends.
  ///
  /// - Parameter freeBytes: what there is room for; nil for what the file system says.
  /// - Throws: `ServerError`: `.diskFull`, before anything was copied, where there is no room, `.exists` where the file is there already, `.damagedDatabase` where the copy is, since what it
  ///   was made of is then; `SQLiteError`.
  package func make(
    of folder: DataFolder, freeBytes: Int? = nil, progress: (Double) throws -> Void = { _ in }
  ) throws -> Content {
    guard access(file.path, F_OK) != 0 else { throw exists }
    let target = file.deletingLastPathComponent()
    let part = try BackupPart(of: file)
    defer { part.remove() }
    // Brings a folder of before up to date.
    try Administration(folder: folder).close()
    // While this is held the server does not checkpoint, and no other database is put in the place of this one.
    let lock = try FileLock(folder.writeLock, .shared, waits: true)
    do {
      defer { lock?.release() }
      try ServerError.opening(folder.database.path) {
        let source = try SQLiteConnection(path: folder.database.path, mode: .readWrite)
        defer { source.close() }
        let bytes =
          try (source.integer("PRAGMA page_count") ?? 0)
          * (source.integer("PRAGMA page_size") ?? 0)
        try DiskSpace.require(
          Int(clamping: bytes), of: freeBytes ?? DiskSpace.free(at: target), at: target,
          for: "a backup of \(folder.database.path)")
        try source.withSnapshot { try Self.copy(source, to: part.file, progress) }
        try Self.leaveOut(part.file)
      }
    }
    var content = try Self.checked(part.file, named: folder.database.path)
    content.removed = part.removed
    guard try part.takesName(of: file) else { throw exists }
    Self.syncFolder(of: file)
    return content
  }

  /// Parts of pushes whose last one has not come are sent again; one that the disk has changed would be damage. Of a code a
  /// copy does not know whether it was used since.
  private static func leaveOut(_ file: URL) throws {
    do {
      let copy = try SQLiteConnection(path: file.path, mode: .readWrite)
      defer { copy.close() }
      try copy.execute("DELETE FROM staged; DELETE FROM staging; DELETE FROM enrolment_code")
      try LargeValues.dropUploads(on: copy)
    } catch var error as SQLiteError {
      error.file = file.path
      throw error
    }
  }

  var exists: ServerError {
    ServerError(
      .exists, "\(file.path) is there already", suggestion: "Name a file that there is not.")
  }

  /// One database copied into a file that there is not yet. Nothing lies beside it afterwards.
  static func copy(
    _ source: SQLiteConnection, to file: URL, _ progress: (Double) throws -> Void = { _ in }
  ) throws {
    do {
      let destination = try SQLiteConnection(path: file.path, mode: .readWriteCreate)
      defer { destination.close() }
      try destination.execute("PRAGMA synchronous=FULL")
      try source.backUp(to: destination, progress: progress)
      // One file alone can be carried elsewhere.
      try destination.execute("PRAGMA journal_mode=DELETE")
    } catch var error as SQLiteError where !error.isCorrupt && !error.isNotADatabase {
      // What is read is whole: it is the copy that cannot be written.
      error.file = file.path
      throw error
    }
  }

  /// What the file holds, when all of it is whole.
  package func checked() throws -> Content {
    try checkIsOneFile()
    return try Self.checked(file, named: file.path)
  }

  /// Looks whether there is a file that a backup made, before anybody is asked whether it is meant.
  ///
  /// - Throws: `ServerError`: `.noData`, `.damagedDatabase`.
  package func checkIsOneFile() throws {
    guard access(file.path, R_OK) == 0 else {
      throw ServerError(
        .noData, "\(file.path) cannot be read: \(String(cString: strerror(errno)))",
        suggestion: "Name a file that a backup made (driftless-server backup FILE).")
    }
    var status = stat()
    guard stat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw ServerError(
        .noData, "\(file.path) is no plain file",
        suggestion: "Name a file that a backup made (driftless-server backup FILE).")
    }
    guard stat(file.path + "-wal", &status) != 0 || status.st_size == 0 else {
      throw ServerError(
        .damagedDatabase, "a part of \(file.path) lies in \(file.path)-wal",
        suggestion: "Put it into the file: sqlite3 '\(file.path)' 'PRAGMA wal_checkpoint(TRUNCATE)'"
      )
    }
    try ServerError.opening(file.path, isBackup: true) {
      let connection = try SQLiteConnection(path: file.path, mode: .immutable)
      defer { connection.close() }
      guard ServerSchema.readable.contains(try connection.integer("PRAGMA user_version") ?? 0)
      else {
        throw ServerError(
          .damagedDatabase,
          "\(file.path) is no database of a server of this version or an older one",
          suggestion:
            "Name a file that a backup made (driftless-server backup FILE), or use the program that did."
        )
      }
    }
  }

  static func checked(_ file: URL, named name: String) throws -> Content {
    try ServerError.opening(name) {
      let connection = try SQLiteConnection(path: file.path, mode: .immutable)
      defer { connection.close() }
      guard try connection.integer("PRAGMA user_version") == ServerSchema.version else {
        throw ServerError(
          .damagedDatabase, "\(name) is no database of a server of this version",
          suggestion:
            "Name a file that a backup made (driftless-server backup FILE), or use the program that did."
        )
      }
      let outcome = try DatabaseCheck.run(on: connection)
      if let first = outcome.damage.first {
        throw ServerError(
          .damagedDatabase,
          "\(name) is damaged in \(outcome.damage.count) places: \(first.table) "
            + "\(first.zone ?? ""), \(first.place): \(first.message)",
          suggestion: first.suggestion)
      }
      let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int64
      return Content(bytes: size ?? 0, zones: try connection.zones(), entries: outcome.entries)
    }
  }

  static func removeDatabase(_ file: URL) {
    for suffix in ["", "-wal", "-shm", "-journal"] { unlink(file.path + suffix) }
  }

  static func syncFolder(of file: URL) {
    let descriptor = open(file.deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }

  static func failure(_ file: URL) -> ServerError {
    let reason = errno
    return ServerError(
      .ofOutput(reason), "cannot write \(file.path): \(String(cString: strerror(reason)))",
      suggestion: "Check that its folder is there, and that this user may write it.")
  }
}
