import DriftlessSQLite
package import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// The folder that holds all a server knows. Only its owner may read what is in it.
package struct DataFolder: Sendable {
  package let url: URL

  private static let databaseName = "driftless.sqlite"
  package var database: URL { Self.database(in: url) }

  static func database(in folder: URL) -> URL { folder.appendingPathComponent(databaseName) }

  /// Snapshots of zones: `ZoneSnapshots`.
  package var snapshots: URL { url.appendingPathComponent("snapshots", isDirectory: true) }
  /// Held by the serving process, with its process ID inside.
  package var serveLock: URL { url.appendingPathComponent("serve.lock") }
  /// Held shared by other processes while they write, exclusively while the server checkpoints.
  package var writeLock: URL { url.appendingPathComponent("write.lock") }

  /// Shared by those who wait for the writer of the database.
  var waitLock: URL { url.appendingPathComponent(Self.waitLockName) }
  static let waitLockName = "wait.lock"

  /// Room on its disk that is the operator's.
  package var reserve: DiskReserve { DiskReserve(url) }

  /// Lies here from before the database is made until it is: tells a database that was begun from one that was emptied.
  private var begun: URL { url.appendingPathComponent("driftless.sqlite-begun") }

  /// Opens a data folder; from now on this process creates files that only its user may read.
  ///
  /// - Parameter creates: whether it is made where it is none.
  /// - Parameter takesEmptied: whether the database may be one that was emptied, or be gone: another is put in its place.
  /// - Throws: `ServerError`: `.noData` for a folder that is none and is not to be made, `.damagedDatabase` for one whose
  ///   database was emptied or is gone, `.folder` for one that cannot be used.
  package init(_ url: URL, creates: Bool = true, takesEmptied: Bool = false) throws {
    umask(0o077)
    self.url = url
    try Self.checkIsNoFile(url)
    if access(database.path, F_OK) != 0 {
      try checkNothingIsThere(creates: creates, takesLeft: takesEmptied)
    }
    do {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    } catch {
      throw ServerError(
        Self.isFull(error) ? .diskFull : .folder,
        "cannot create the data folder \(url.path): \(Self.reason(of: error))",
        suggestion: "Name a folder that this user may write, with --data.")
    }
    guard access(url.path, W_OK | X_OK) == 0 else { throw notWritable }
    try checkRights()
    if !takesEmptied { try checkDatabaseIsNotEmptied() }
    if access(database.path, F_OK) != 0 { try noteDatabaseIsBegun() }
  }

  /// A file in the folder's place, or in the place of a folder on the way to it.
  private static func checkIsNoFile(_ url: URL) throws {
    var status = stat()
    let isThere = stat(url.path, &status) == 0
    guard isThere ? status.st_mode & S_IFMT != S_IFDIR : errno == ENOTDIR else { return }
    throw ServerError(
      .noData,
      isThere
        ? "\(url.path) is a file, and a server keeps its data in a folder"
        : "a part of the path \(url.path) is a file, and no folder",
      suggestion: "Name a folder with --data, one that is empty or not there yet.")
  }

  /// In the system's words.
  private static func reason(of error: any Error) -> String {
    number(of: error).map { String(cString: strerror($0)) } ?? error.localizedDescription
  }

  private static func isFull(_ error: any Error) -> Bool {
    [ENOSPC, EDQUOT].contains(number(of: error))
  }

  /// The system's number of an error.
  private static func number(of error: any Error) -> Int32? {
    let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
    guard let cause, cause.domain == NSPOSIXErrorDomain else { return nil }
    return Int32(exactly: cause.code)
  }

  private static func lookedInto(_ url: URL) -> ServerError {
    ServerError(
      .folder, "this user may not look into \(url.path)",
      suggestion: "Run the command as the folder's owner.")
  }

  private var notWritable: ServerError {
    ServerError(
      .folder, "cannot write in the data folder \(url.path)",
      suggestion: "Name a folder that this user may write, with --data.")
  }

  /// Before anything is opened: SQLite gives the files that it makes beside the database the rights of that, and they would stay.
  private func checkRights() throws {
    for suffix in ["", "-wal", "-shm"] {
      let file = database.path + suffix
      guard access(file, F_OK) == 0, access(file, R_OK | W_OK) != 0 else { continue }
      throw ServerError(
        .folder, "this user may not read and write \(file)",
        suggestion: "Run the command as the folder's owner, and see that the file is that user's: "
          + "chmod u+rw '\(file)'")
    }
  }

  /// There is no database, as far as this user sees.
  private func checkNothingIsThere(creates: Bool, takesLeft: Bool) throws {
    guard errno != EACCES else { throw Self.lookedInto(url) }
    // A server that is about to make its first database is no such case.
    if access(begun.path, F_OK) != 0, let process = servingProcess {
      throw ServerError(
        .locked,
        "\(database.path) is gone, and a server (process \(process)) that had it still runs",
        suggestion: "Stop that server, then put a backup in its place: "
          + "driftless-server restore FILE --data '\(url.path)'")
    }
    // Who begins a server in what is left of another loses sight of what is to be put back.
    if !takesLeft, access(begun.path, F_OK) != 0,
      let names = try? FileManager.default.contentsOfDirectory(atPath: url.path)
    {
      try Self.checkNothingIsLeft(names, in: url)
    }
    guard creates else {
      throw ServerError(
        .noData, "\(url.path) is no data folder of a server: there is no \(database.path)",
        suggestion: "Check --data. To begin a server there: "
          + "driftless-server zone create NAME --data '\(url.path)'")
    }
  }

  /// Opens a folder for a server: it holds a server's data, or nothing yet.
  ///
  /// - Throws: `ServerError` (`.noData`) for one that is not there, or has other things in it: a name that was mistyped
  ///   would be a server without zones.
  package static func toServe(_ url: URL) throws -> DataFolder {
    try checkToServe(url)
    return try DataFolder(url)
  }

  /// Looks at a folder as `toServe` does, and changes nothing there: a server may have it.
  ///
  /// - Returns: what is worth knowing, and stands in nobody's way.
  /// - Throws: `ServerError`: what `toServe` throws, and `.folder` for a database of another version.
  package static func look(at url: URL) throws -> [String] {
    try checkToServe(url)
    let folder = DataFolder(unchecked: url)
    guard access(url.path, W_OK | X_OK) == 0 else { throw folder.notWritable }
    try folder.checkRights()
    try folder.checkDatabaseIsNotEmptied()
    guard !folder.isDatabaseEmpty,
      let header = SQLiteConnection.head(ofFileAt: folder.database.path, bytesMax: 100)
    else { return ["\(url.path) has no zones so far"] }
    guard header.starts(with: SQLiteConnection.magic), header.count == 100 else {
      throw ServerError(
        .damagedDatabase, "\(folder.database.path) is no database",
        suggestion: "Put a backup in its place: driftless-server restore FILE --data '\(url.path)'")
    }
    // Of a database whose first pages are in its log alone it is 0 here.
    let version = header[60..<64].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    guard version == 0 || ServerSchema.readable.contains(version) else {
      throw ServerSchema.otherVersion(version)
    }
    var notes: [String] = []
    if let process = folder.servingProcess { notes.append("process \(process) serves \(url.path)") }
    if let network = folder.networkNote { notes.append(network) }
    if folder.isOpenToOthers { notes.append("other users may enter \(url.path): chmod 700 it") }
    return notes
  }

  private init(unchecked url: URL) { self.url = url }

  private static func checkToServe(_ url: URL) throws {
    try checkIsNoFile(url)
    let folder = url.appendingPathComponent(databaseName)
    guard access(folder.path, F_OK) != 0 else { return }
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: url.path) else {
      guard access(url.path, F_OK) != 0 else { throw lookedInto(url) }
      throw ServerError(
        .noData, "there is no folder \(url.path)",
        suggestion: "Check --data. To begin a server there: mkdir -m 700 '\(url.path)'")
    }
    let own = [
      "serve.lock", "write.lock", waitLockName, "lost+found", "snapshots", CertificateFolder.name,
      DiskReserve.name,
    ]
    let other = names.sorted().first {
      !$0.hasPrefix(databaseName) && !$0.hasPrefix(".") && !own.contains($0)
    }
    if other == nil { try checkNothingIsLeft(names, in: url) }
    if let other {
      throw ServerError(
        .noData,
        "\(url.path) is no data folder of a server: it has \(other), and no \(databaseName)",
        suggestion: "Check --data. To begin a server, name an empty folder.")
    }
  }

  /// - Parameter names: What is in a folder that has no database.
  private static func checkNothingIsLeft(_ names: [String], in url: URL) throws {
    // Where the database was moved away, that is meant; the snapshots of its zones are removed.
    let isMovedAway = names.contains {
      $0.hasPrefix(databaseName + ".") && !$0.hasSuffix(".part") && !$0.contains(".before-restore-")
    }
    // A server sets its reserve aside once it has a database.
    let left = ["snapshots", databaseName + "-wal", DiskReserve.name].filter(names.contains)
    guard !isMovedAway, !left.isEmpty else { return }
    let files = left.map { "'\(url.path)/\($0)'" }.joined(separator: " ")
    throw ServerError(
      .damagedDatabase,
      left == [DiskReserve.name]
        ? "\(url.path)/\(databaseName) is gone: a server had it here, whose \(left[0]) is left"
        : "\(url.path)/\(databaseName) is gone: of what the server knew there is only \(left[0])",
      suggestion:
        "Put a backup in its place: driftless-server restore FILE --data '\(url.path)'. To begin "
        + "without zones and tokens, remove what is left: rm -r \(files)")
  }

  /// SQLite takes a file of no bytes for a new database, and throws away the log that lies beside it.
  private func checkDatabaseIsNotEmptied() throws {
    // Another process may be done with making it between the looks.
    guard isDatabaseEmpty, access(begun.path, F_OK) != 0, isDatabaseEmpty else { return }
    throw ServerError(
      .damagedDatabase, "\(database.path) is empty: what the server knew was cut off",
      suggestion:
        "Put a backup in its place: driftless-server restore FILE --unreadable revoke --data "
        + "'\(url.path)'. To begin without zones and tokens, "
        + "move the file away: mv '\(database.path)' '\(database.path).away'")
  }

  /// Whether there is a database of no bytes.
  var isDatabaseEmpty: Bool {
    var status = stat()
    return stat(database.path, &status) == 0 && status.st_size == 0
  }

  /// Whether the database was begun and has nothing yet.
  var isDatabaseBegun: Bool { isDatabaseEmpty && access(begun.path, F_OK) == 0 }

  /// The copy that is about to take the place of the database. Who serves, or puts back, has the folder alone.
  var databasePart: URL { database.appendingPathExtension("part") }

  private func noteDatabaseIsBegun() throws {
    let descriptor = open(begun.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      let reason = errno
      throw ServerError(
        reason == ENOSPC || reason == EDQUOT ? .diskFull : .folder,
        "cannot write in the data folder \(url.path): \(String(cString: strerror(reason)))",
        suggestion: "Make room there, and see that this user may write it.")
    }
    close(descriptor)
  }

  /// The database has its tables.
  package func noteDatabaseIsMade() { unlink(begun.path) }

  /// Whether other users may enter the folder.
  package var isOpenToOthers: Bool {
    let permissions = try? FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions]
    return ((permissions as? Int) ?? 0) & 0o077 != 0
  }

  /// Makes this process the one that serves the folder, until the lock is released.
  ///
  /// - Throws: `ServerError` (`.locked`) with the other's process ID.
  package func lockForServing(
    suggestion: String = "Stop it first, or name another folder with --data."
  ) throws -> FileLock {
    while true {
      if let lock = try FileLock(serveLock, .exclusive, waits: false) {
        lock.writeProcessID(version: ServerSchema.version)
        // Of one who put a backup back and was killed.
        Backup.removeDatabase(databasePart)
        return lock
      }
      // Who serves has it alone; a command that looks whether somebody does shares it, for a moment.
      guard let shared = try FileLock(serveLock, .shared, waits: false) else {
        throw ServerError(
          .locked, "another server (process \(lockHolder)) serves \(url.path)",
          suggestion: suggestion)
      }
      shared.release()
    }
  }

  /// The process that serves the folder; nil when none does.
  package var servingProcess: Int32? {
    // Not made here: it might belong to another user than the server's.
    guard access(serveLock.path, F_OK) == 0 else { return nil }
    guard let lock = try? FileLock(serveLock, .shared, waits: false) else {
      return Int32(lockHolder) ?? 0
    }
    lock.release()
    return nil
  }

  private var lockHolder: String { lockLines.first ?? "" }

  private var lockLines: [String] {
    let text = (try? String(contentsOf: serveLock, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  /// Whether the process that serves the folder is of a program that knows what this one does. One of before may have been
  /// started before the database was brought up to date.
  var isServedByThisVersion: Bool {
    lockLines.dropFirst().first.flatMap { Int64($0) } ?? 0 >= ServerSchema.version
  }
}
