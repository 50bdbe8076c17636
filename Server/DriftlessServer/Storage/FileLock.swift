package import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// An advisory lock on a file of its own, let go at the latest when the process ends.
package final class FileLock: Sendable {
  package enum Mode: Sendable { case shared, exclusive }

  private let descriptor: Int32

  /// Takes the lock; nil when another holds it and `waits` is false.
  ///
  /// - Throws: `ServerError` (`.folder`) when the file cannot be opened or locked.
  package init?(_ file: URL, _ mode: Mode, waits: Bool) throws {
    let descriptor = open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor >= 0 { Self.giveToOwner(descriptor, of: file.deletingLastPathComponent()) }
    guard try Self.lock(descriptor, of: file, mode, waits: waits) else { return nil }
    self.descriptor = descriptor
  }

  /// Waits for the lock on a folder itself: for work on files that several commands may do at once.
  ///
  /// - Throws: `ServerError` (`.folder`) when the folder cannot be opened or locked.
  package init(folder: URL) throws {
    descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    _ = try Self.lock(descriptor, of: folder, .exclusive, waits: true)
  }

  /// As `init(folder:)`, and nil when another holds the lock.
  ///
  /// - Throws: `ServerError` (`.folder`) when the folder cannot be opened or locked.
  package init?(freeFolder folder: URL) throws {
    let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard try Self.lock(descriptor, of: folder, .exclusive, waits: false) else { return nil }
    self.descriptor = descriptor
  }

  /// False, with the descriptor closed, when another holds the lock.
  private static func lock(
    _ descriptor: Int32, of file: URL, _ mode: Mode, waits: Bool
  ) throws -> Bool {
    guard descriptor >= 0 else { throw error(file) }
    let operation = (mode == .shared ? LOCK_SH : LOCK_EX) | (waits ? 0 : LOCK_NB)
    while flock(descriptor, operation) != 0 {
      let reason = errno
      if reason == EINTR { continue }
      let failure = error(file)
      Glibc.close(descriptor)
      if reason == EWOULDBLOCK { return false }
      throw failure
    }
    return true
  }

  deinit { Glibc.close(descriptor) }

  /// Lets go before the object goes.
  package func release() { flock(descriptor, LOCK_UN) }

  /// Puts this process's ID into the file, for the one who is refused, and on a line of its own what its program knows.
  package func writeProcessID(version: Int64) {
    let text = Array("\(getpid())\n\(version)\n".utf8)
    ftruncate(descriptor, 0)
    _ = pwrite(descriptor, text, text.count, 0)
  }

  /// A lock that root's command made first would be closed to the server.
  private static func giveToOwner(_ descriptor: Int32, of folder: URL) {
    var (own, owner) = (stat(), stat())
    guard geteuid() == 0, fstat(descriptor, &own) == 0, own.st_uid == 0, own.st_nlink == 1,
      stat(folder.path, &owner) == 0, owner.st_uid != 0
    else { return }
    fchown(descriptor, owner.st_uid, owner.st_gid)
  }

  private static func error(_ file: URL) -> ServerError {
    ServerError(
      .folder, "cannot lock \(file.path): \(String(cString: strerror(errno)))",
      suggestion: "Check that the data folder belongs to the user of the server.")
  }
}
