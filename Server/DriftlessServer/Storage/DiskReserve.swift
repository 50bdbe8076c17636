import DriftlessSQLite
package import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Room that a data folder keeps for its operator: a file that takes up some of the disk, which commands that make room or
/// shut somebody out let go of while they write.
///
/// The file's length says how much is wanted, its blocks how much it holds: one whose room was lent is a hole of the same
/// length. Who lends has a shared lock on it, who fills it an exclusive one, so that nobody takes the room back while
/// another writes into it. While it holds less than is wanted, pushes leave as much free (`requireRoom`).
package struct DiskReserve: Sendable {
  package static let name = "reserve"
  /// A reserve is no larger than one part in so many of its file system.
  private static let shareOfDisk = 8
  private static let blockBytes = 4096

  private let folder: URL
  private let file: String
  private let database: String

  package init(_ folder: URL) {
    self.folder = folder
    file = folder.appendingPathComponent(Self.name).path
    database = DataFolder.database(in: folder).path
  }

  /// What a reserve is to be, and what it is. Bytes.
  package struct Room: Sendable, Equatable {
    package let wanted: Int
    package let held: Int
    package var missing: Int { max(0, wanted - held) }
    /// Whether so much of it is missing that others have to leave it room: what an operator writes may be a page of the database.
    package var isShort: Bool { missing > wanted / 8 }
  }

  /// Nil where the folder has no reserve.
  package var room: Room? {
    var status = stat()
    guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0
    else { return nil }
    return Room(status)
  }

  /// Makes it, as far as there is room, or takes it away.
  ///
  /// - Parameter bytes: how much is wanted; 0 for none.
  package func keep(_ bytes: Int) {
    guard bytes > 0 else {
      unlink(file)
      return
    }
    withLock(O_CREAT, LOCK_EX | LOCK_NB) { descriptor in
      var status = stat()
      let wanted = bounded(bytes)
      guard fstat(descriptor, &status) == 0 else { return }
      if Int(status.st_size) != wanted { ftruncate(descriptor, off_t(wanted)) }
      fill(descriptor)
    }
  }

  /// Takes back what was lent, as much as there is room for, where nobody writes into it.
  package func fill() {
    guard let room, room.missing > 0 else { return }
    withLock(0, LOCK_EX | LOCK_NB, fill)
  }

  /// Lets go of the room while `body` writes.
  package func lend<Result>(_ body: () throws -> Result) throws -> Result {
    defer { fill() }
    var outcome: Swift.Result<Result, any Error>?
    withLock(0, LOCK_SH) { descriptor in
      var status = stat()
      if fstat(descriptor, &status) == 0, Room(status).held > 0 {
        ftruncate(descriptor, 0)
        ftruncate(descriptor, status.st_size)
      }
      outcome = Swift.Result { try body() }
    }
    if let outcome { return try outcome.get() }
    return try body()
  }

  /// Does what makes room or shuts somebody out: where the disk is full, again with the room of the reserve.
  package func withRoom<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch {
      guard ServerError(ofFullDisk: error) != nil, room != nil else { throw error }
      return try lend(body)
    }
  }

  private func size(_ suffix: String) -> Int { DiskSpace.bytes(ofFile: database + suffix) ?? 0 }

  /// What the database's file grows by when the write-ahead log is copied into it, which overwrites the other pages. The log may be
  /// far longer where a reader holds it up. Bytes.
  ///
  /// The connection tells how many pages the database has. Nothing here opens a file of SQLite's: its locks are the process's, and
  /// go when the process closes any descriptor of the file.
  func growthBytes(_ connection: SQLiteConnection) -> Int {
    let log = size("-wal")
    guard log > 0, let pages = try? connection.integer("PRAGMA page_count"),
      let page = try? connection.integer("PRAGMA page_size")
    else { return log }
    return min(log, max(0, Int(clamping: pages) * Int(clamping: page) - size("")))
  }

  /// Whether so much can be written. What is wanted for the reserve and is not held by it is nobody else's; and what is new in
  /// the log has to fit into the database afterwards, if need be in the room of the reserve, before the log gives its own back.
  ///
  /// - Parameters:
  ///   - bytes: what is written, about: the log gets it, and with it the pages that it changes.
  ///   - connection: one to the folder's database, outside a transaction.
  func hasRoom(for bytes: Int, _ connection: SQLiteConnection) -> Bool {
    guard let room, let free = DiskSpace.free(at: folder) else { return true }
    if room.isShort, free < room.missing + bytes { return false }
    let left = free + room.held - 4 * bytes
    // It grows by no more than there is in the log.
    return left >= size("-wal") || left >= growthBytes(connection)
  }

  /// Where the log can be copied into the database as a whole.
  enum LogRoom { case free, reserve, none }

  /// Of a copy that ends halfway the database keeps what it took, and the log gives nothing back: room that was lent, or the last
  /// of the disk, would be gone.
  func logRoom(_ connection: SQLiteConnection) -> LogRoom {
    let growth = growthBytes(connection)
    guard let free = DiskSpace.free(at: folder), free < growth else { return .free }
    return room.map { free + $0.held >= growth } == true ? .reserve : .none
  }

  /// Refuses what would take the room of the reserve (`hasRoom`).
  ///
  /// - Throws: `ServerError` (`.diskFull`), before anything was written.
  func requireRoom(_ bytes: Int, _ connection: SQLiteConnection) throws {
    guard !hasRoom(for: bytes, connection) else { return }
    throw ServerError(
      .diskFull,
      "the server's disk is full but for what it keeps for its operator (\(DiskSpace.free(at: folder) ?? 0) bytes are free); "
        + "nothing was stored",
      suggestion: "Nothing is lost here: tell the operator, and push again when there is room.")
  }

  /// What is free beside what the reserve lacks; nil where the file system does not say.
  var freeBytes: Int? {
    DiskSpace.free(at: folder).map { max(0, $0 - (room?.missing ?? 0)) }
  }

  /// Whether more of it could be there if so many bytes more were free.
  func canGrow(by bytes: Int) -> Bool {
    guard let room, room.missing > 0, let free = DiskSpace.free(at: folder) else { return false }
    return free + bytes >= Self.blockBytes
  }

  private func bounded(_ bytes: Int) -> Int {
    var status = statvfs()
    guard statvfs(folder.path, &status) == 0, status.f_blocks > 0 else { return bytes }
    let (size, overflow) = Int(clamping: status.f_blocks)
      .multipliedReportingOverflow(by: Int(clamping: status.f_frsize))
    guard !overflow else { return bytes }
    return max(
      Self.blockBytes,
      min(bytes, size / Self.shareOfDisk) / Self.blockBytes * Self.blockBytes)
  }

  /// From its beginning on. Pushes get nothing of what is free meanwhile, unless there is room for all of it.
  private func fill(_ descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_size > 0 else { return }
    let room = Room(status)
    let free = min(DiskSpace.free(at: folder) ?? room.missing, room.missing)
    let bytes = min(room.wanted, (room.held + free) / Self.blockBytes * Self.blockBytes)
    if bytes > room.held { posix_fallocate(descriptor, 0, off_t(bytes)) }
  }

  /// Calls `body` with the file's descriptor, where it is there and the lock is to be had.
  private func withLock(_ flags: Int32, _ lock: Int32, _ body: (Int32) -> Void) {
    let descriptor = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0o600)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    while flock(descriptor, lock) != 0 {
      guard errno == EINTR else { return }
    }
    body(descriptor)
  }
}

extension DiskReserve.Room {
  fileprivate init(_ status: stat) {
    self.init(wanted: Int(status.st_size), held: Int(status.st_blocks) * 512)
  }
}

extension ServerError {
  /// What an operator's command says where there is no room; nil for another error.
  init?(ofFullDisk error: any Error) {
    guard let known = ServerError(command: error) ?? error as? ServerError, known.code == .diskFull
    else { return nil }
    self = known
  }
}
