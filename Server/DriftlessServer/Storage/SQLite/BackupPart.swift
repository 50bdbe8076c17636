import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// The file in which a backup is made until it is whole: one of its own for each backup, beside the file that it will be.
///
/// It is held by a lock for as long as it is made, so that one of a process that was killed can be told, and is removed by the
/// next backup into that folder, whatever its name.
struct BackupPart: ~Copyable {
  let file: URL
  /// What backups that were killed had left in the folder, and was removed.
  let removed: [URL]
  private let lock: Int32

  /// Makes the file.
  ///
  /// - Throws: `ServerError`: `.folder`, `.output`, `.diskFull`.
  init(of target: URL) throws {
    let left = Self.sweep(for: target)
    for _ in 0..<Self.triesMax {
      let made = target.appendingPathExtension(Self.label + Self.newName)
      let descriptor = open(made.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw Self.failure(target, errno) }
      // On a file system without locks it goes without.
      let isSwept = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
      // Another backup may have swept it before it was locked.
      if !isSwept, access(made.path, F_OK) == 0 {
        (file, lock, removed) = (made, descriptor, left)
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

  /// Removes what killed backups left in the folder: of this name whatever it is, and of others what is known for a part.
  private static func sweep(for target: URL) -> [URL] {
    let folder = target.deletingLastPathComponent()
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    var removed: [URL] = []
    for name in names.sorted() {
      guard let part = partName(in: name) else { continue }
      let file = folder.appendingPathComponent(name)
      let isNamed = part.hasPrefix("\(target.lastPathComponent).\(label)")
      // SQLite's own beside a part go with that: of one that is made, its lock is on the part alone.
      if name != part {
        if !names.contains(part), isNamed || isOwn(file) { unlink(file.path) }
        continue
      }
      let descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
      guard descriptor >= 0 else { continue }
      defer { close(descriptor) }
      guard isNamed || isOwn(file) && isCopy(descriptor),
        flock(descriptor, LOCK_EX | LOCK_NB) == 0
      else { continue }
      Backup.removeDatabase(file)
      removed.append(file)
    }
    return removed
  }

  /// The name of the part that a file is, or lies beside with a suffix of SQLite's; nil for another file.
  private static func partName(in name: String) -> String? {
    guard let dot = name.range(of: "." + label, options: .backwards) else { return nil }
    let number = name[dot.upperBound...].prefix(8)
    guard dot.lowerBound > name.startIndex, number.utf8.count == 8,
      number.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }),
      ["", "-journal", "-wal", "-shm"].contains(name[number.endIndex...])
    else { return nil }
    return String(name[..<number.endIndex])
  }

  /// Whether it is a plain file of this user, closed to all others, as parts are.
  private static func isOwn(_ file: URL) -> Bool {
    var status = stat()
    return lstat(file.path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
      && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
  }

  /// Whether it is the beginning of a database, or nothing so far. What has the name of a part and is anything else is
  /// somebody's file.
  private static func isCopy(_ descriptor: Int32) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    return count == 0
      || count == bytes.count
        && (bytes == Array("SQLite format 3\0".utf8) || bytes.allSatisfy { $0 == 0 })
  }

  /// Gives the file its name, unless another has that.
  ///
  /// - Returns: whether it has it.
  /// - Throws: `ServerError`: `.folder`, `.output`, `.diskFull`.
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
        .ofOutput(reason), message,
        suggestion: "Check that its folder is there, and that this user may write it.")
  }
}
