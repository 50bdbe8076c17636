import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// The file in which a backup is made until it is whole: one of its own for each backup, beside the file that it will be.
///
/// It is held by a lock for as long as it is made, so that one of a process that was killed can be told, and is removed by the
/// next backup of that name.
struct BackupPart: ~Copyable {
  let file: URL
  private let lock: Int32

  /// Makes the file.
  ///
  /// - Throws: `ServerError`: `.folder`, `.diskFull`.
  init(of target: URL) throws {
    Self.sweep(target)
    for _ in 0..<Self.triesMax {
      let made = target.appendingPathExtension(Self.label + Self.newName)
      let descriptor = open(made.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw Self.failure(target, errno) }
      // On a file system without locks it goes without.
      let isSwept = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
      // Another backup may have swept it before it was locked.
      if !isSwept, access(made.path, F_OK) == 0 {
        (file, lock) = (made, descriptor)
        return
      }
      close(descriptor)
    }
    throw ServerError(
      .exists, "other backups to \(target.path) are being made",
      suggestion: "Wait until they have ended.")
  }

  private static let triesMax = 100

  private static let label = "part-"
  private static var newName: String { String(UUID().uuidString.prefix(8).lowercased()) }

  deinit { close(lock) }

  /// Removes what killed backups of the same name left.
  private static func sweep(_ target: URL) {
    let folder = target.deletingLastPathComponent()
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let beginning = target.lastPathComponent + "." + label
    for name in names where name.hasPrefix(beginning) {
      let path = folder.appendingPathComponent(name).path
      // SQLite's own beside a part go with that: of one that is made, its lock is on the part alone.
      let part = beginning + name.dropFirst(beginning.count).prefix(8)
      if name != part {
        if !names.contains(part) { unlink(path) }
        continue
      }
      let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
      guard descriptor >= 0 else { continue }
      defer { close(descriptor) }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
        Backup.removeDatabase(URL(fileURLWithPath: path))
      }
    }
  }

  /// Gives the file its name, unless another has that.
  ///
  /// - Returns: whether it has it.
  /// - Throws: `ServerError`: `.folder`, `.diskFull`.
  func takesName(of target: URL) throws -> Bool {
    if link(file.path, target.path) == 0 { return true }
    switch errno {
    case EEXIST: return false
    case EPERM, EOPNOTSUPP, ENOSYS, EMLINK:
      // A file system without links: there nothing better is to be had than to look first.
      guard access(target.path, F_OK) != 0 else { return false }
      guard rename(file.path, target.path) == 0 else { throw Self.failure(target, errno) }
      return true
    case let reason: throw Self.failure(target, reason)
    }
  }

  func remove() { Backup.removeDatabase(file) }

  private static func failure(_ target: URL, _ reason: Int32) -> ServerError {
    let message = "cannot write \(target.path): \(String(cString: strerror(reason)))"
    return reason == ENOSPC || reason == EDQUOT
      ? ServerError(
        .diskFull,
        "there is no space left on the file system of \(target.path); nothing was changed",
        suggestion: "Make room there, then say the command again.")
      : ServerError(
        .folder, message, suggestion: "Check that this user may write its folder.")
  }
}
