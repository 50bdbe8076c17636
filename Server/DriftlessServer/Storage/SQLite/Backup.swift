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
  }

  /// Copies the database of a folder, as it is at one moment, and reads all of the copy.
  ///
  /// Pushes go on meanwhile; the server's log is not copied into its database until this ends.
  ///
  /// - Throws: `ServerError`: `.exists` where the file is there already, `.damagedDatabase` where the copy is, since what it
  ///   was made of is then; `SQLiteError`.
  package func make(
    of folder: DataFolder, progress: (Double) throws -> Void = { _ in }
  ) throws -> Content {
    guard access(file.path, F_OK) != 0 else {
      throw ServerError(
        .exists, "\(file.path) is there already", suggestion: "Name a file that there is not.")
    }
    let part = file.appendingPathExtension("part")
    remove(part)
    defer { remove(part) }
    // Brings a folder of before up to date.
    try Administration(folder: folder).close()
    // While this is held the server does not checkpoint, for which it would have to wait until the copy is made.
    let lock = try FileLock(folder.writeLock, .shared, waits: true)
    do {
      defer { lock?.release() }
      try ServerError.opening(folder.database.path) {
        let source = try SQLiteConnection(path: folder.database.path, mode: .readWrite)
        defer { source.close() }
        try source.withSnapshot { try Self.copy(source, to: part, progress) }
      }
    }
    let content = try Self.checked(part, named: folder.database.path)
    guard rename(part.path, file.path) == 0 else { throw Self.failure(file) }
    Self.syncFolder(of: file)
    return content
  }

  /// One database copied into a file that there is not yet. Nothing lies beside it afterwards.
  private static func copy(
    _ source: SQLiteConnection, to file: URL, _ progress: (Double) throws -> Void = { _ in }
  ) throws {
    let destination = try SQLiteConnection(path: file.path, mode: .readWriteCreate)
    defer { destination.close() }
    try destination.execute("PRAGMA synchronous=FULL")
    try source.backUp(to: destination, progress: progress)
    // One file alone can be carried elsewhere.
    try destination.execute("PRAGMA journal_mode=DELETE")
  }

  /// What the file holds, when all of it is whole.
  package func checked() throws -> Content {
    guard access(file.path, R_OK) == 0 else {
      throw ServerError(
        .noData, "\(file.path) cannot be read: \(String(cString: strerror(errno)))",
        suggestion: "Name a file that driftless-server backup made.")
    }
    var status = stat()
    guard stat(file.path + "-wal", &status) != 0 || status.st_size == 0 else {
      throw ServerError(
        .damagedDatabase, "a part of \(file.path) lies in \(file.path)-wal",
        suggestion: "Put it into the file: sqlite3 '\(file.path)' 'PRAGMA wal_checkpoint(TRUNCATE)'"
      )
    }
    return try Self.checked(file, named: file.path)
  }

  private static func checked(_ file: URL, named name: String) throws -> Content {
    try ServerError.opening(name) {
      let connection = try SQLiteConnection(path: file.path, mode: .immutable)
      defer { connection.close() }
      guard try connection.integer("PRAGMA user_version") == ServerSchema.version else {
        throw ServerError(
          .damagedDatabase, "\(name) is no database of a server of this version",
          suggestion: "Name a file that driftless-server backup made, or use the program that did.")
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

  // MARK: - Putting back

  /// What becomes of zones that began anew after the backup was made: replicas know the later log.
  package enum RenewedZones: Sendable {
    /// They have the backup's log. Replicas that left it within a day wait for a person.
    case keep
    /// They begin anew once more, and replicas offer what they hold. What nobody but the backup has is gone.
    case renew
  }

  /// What was put back.
  package struct Restored: Sendable {
    package let content: Content
    /// The database that was there before; nil where there was none.
    package let before: URL?
    /// Zones that began anew after the backup was made.
    package let renewedSince: [String]
    /// Tokens that the backup did not have, or had otherwise.
    package let tokensKept: Int
  }

  /// Puts the backup in the place of a folder's database, which is kept beside it.
  ///
  /// Zones keep their generations: replicas notice that the log is an older one, and bring back what it lacks. Tokens are
  /// those of the folder, where it can be read: one that was revoked since stays so. The server's time goes on.
  ///
  /// - Throws: `ServerError`: `.locked` while a server has the folder, `.damagedDatabase` for a backup that is, and
  ///   `.renewedSince` where zones began anew after it and nothing says what becomes of them.
  package func restore(
    to folder: DataFolder, renewedZones: RenewedZones? = nil, at now: Date = Date()
  ) throws -> Restored {
    let content = try checked()
    let serving = try folder.lockForServing(
      suggestion: "Stop it first: it would go on from what it has in memory.")
    defer { serving.release() }
    let lock = try FileLock(folder.writeLock, .exclusive, waits: true)
    defer { lock?.release() }
    let former = try Former(folder)
    let renewed = content.zones.filter { zone in
      former.zones.contains { $0.zoneID == zone.zoneID && $0.generation != zone.generation }
    }.map(\.name)
    guard renewed.isEmpty || renewedZones != nil else {
      throw ServerError(
        .renewedSince,
        "zones began anew after the backup was made: \(renewed.joined(separator: ", "))",
        suggestion: "Say what becomes of them: --renewed-zones renew has replicas offer what they "
          + "hold; --renewed-zones keep puts back the backup's log, and replicas that left it within "
          + "a day wait for a person.")
    }
    let part = folder.database.appendingPathExtension("part")
    Self.removeDatabase(part)
    defer { Self.removeDatabase(part) }
    let source = try SQLiteConnection(path: file.path, mode: .immutable)
    try Self.copy(source, to: part)
    source.close()
    let kept = try former.carryOver(to: part)
    let before = try former.moveAside(at: now)
    guard rename(part.path, folder.database.path) == 0 else { throw Self.failure(folder.database) }
    Self.syncFolder(of: folder.database)
    lock?.release()
    if renewedZones == .renew, !renewed.isEmpty {
      let administration = try Administration(folder: folder)
      defer { administration.close() }
      for zone in renewed { _ = try administration.renewZone(zone, intent: .offer) }
    }
    return Restored(
      content: content, before: before, renewedSince: renewed, tokensKept: kept)
  }

  private func remove(_ file: URL) { Self.removeDatabase(file) }

  private static func removeDatabase(_ file: URL) {
    for suffix in ["", "-wal", "-shm", "-journal"] { unlink(file.path + suffix) }
  }

  private static func syncFolder(of file: URL) {
    let descriptor = open(file.deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }

  private static func failure(_ file: URL) -> ServerError {
    ServerError(
      .folder, "cannot write \(file.path): \(String(cString: strerror(errno)))",
      suggestion: "Check that this user may write its folder.")
  }
}
