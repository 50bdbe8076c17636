import Foundation

/// Who may use what lies beside a store.
extension StoreSideFile {
  /// Opens a file beside a store for reading and writing, and makes it where there is none: for the store's owner alone.
  ///
  /// Made by root, it gets the owner and the group of the store, as SQLite gives them to its log: who uses the store would be
  /// locked out else. One that was there is left as it is: it may be a link to anything.
  ///
  /// - Returns: A descriptor, or -1 with `errno`.
  static func open(_ path: String) -> Int32 {
    while true {
      let made = create(path, beside: storePath(of: path))
      guard made < 0, errno == EEXIST else { return made }
      let present = Glibc.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
      guard present < 0, errno == ENOENT else { return present }
      // A link that leads nowhere is there, and no file.
      guard FileStatus(path) == nil else {
        errno = ENOENT
        return -1
      }
    }
  }

  /// Makes a file beside a store, for the store's owner alone.
  ///
  /// - Returns: A descriptor, or -1 with `errno`; `EEXIST` where something is there.
  package static func create(_ path: String, beside store: String) -> Int32 {
    let descriptor = Glibc.open(
      path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    if descriptor >= 0 { giveToOwner(of: store, descriptor) }
    return descriptor
  }

  /// Gives what root has just made to whoever has the store.
  static func giveToOwner(of store: String, _ descriptor: Int32) {
    var status = stat()
    guard geteuid() == 0, stat(store, &status) == 0 else { return }
    _ = fchown(descriptor, status.st_uid, status.st_gid)
  }

  /// The store that a side file lies beside, by its name.
  static func storePath(of path: String) -> String {
    let suffix = (suffixes + StorePath.suffixes).first { path.hasSuffix($0) }
    return String(path.dropLast(suffix?.count ?? 0))
  }

  /// What to do where a side file cannot be opened.
  static func advice(for reason: Int32) -> String {
    switch reason {
    case ENAMETOOLONG: "Give the store a shorter name: what lies beside it has a longer one."
    case ENOSPC, EDQUOT: "Free space on the file system and try again."
    case EMFILE, ENFILE:
      "Let the process open more files (ulimit -n, or LimitNOFILE in a unit of systemd)."
    default: "Give the process the right to write the store's folder."
    }
  }

  /// Why this process may not read and write a file that lies beside a store; nil where it may, and where none is.
  ///
  /// - Parameter store: The store's path.
  package static func rightsFailure(at path: String, beside store: String) -> StoreError? {
    guard faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) != 0, errno == EACCES else {
      return nil
    }
    var own = stat()
    var status = stat()
    guard lstat(path, &own) == 0, stat(store, &status) == 0 else { return nil }
    if own.st_uid == geteuid() {
      let mode = String(own.st_mode & 0o777, radix: 8)
      return StoreError(
        .cannotOpen, "\(path) has mode \(mode), and this process has to write it.",
        suggestion: "chmod u+rw \(path.shellWord)")
    }
    // It is its owner that is not this process's, and that of the store.
    if own.st_uid == status.st_uid, own.st_gid == status.st_gid {
      return StoreError(
        .cannotOpen, "\(path) may be written by \(name(ofUser: own.st_uid)) alone.",
        suggestion: byOwner(status, of: store))
    }
    let owner = "\(name(ofUser: status.st_uid)):\(name(ofGroup: status.st_gid))"
    return StoreError(
      .cannotOpen,
      """
      \(path) belongs to \(name(ofUser: own.st_uid)), and this process, which has to write it, is \
      \(name(ofUser: geteuid())).
      """,
      suggestion: "As root: chown \(owner) \(path.shellWord)")
  }

  /// Why this process may not write a store that it sees.
  ///
  /// - Parameter reason: What the system said.
  package static func writeFailure(at path: String, _ reason: Int32) -> StoreError {
    var status = stat()
    let isKnown = stat(path, &status) == 0
    let suggestion =
      if reason == EROFS {
        "Copy it to a file system that can be written."
      } else if isKnown, status.st_uid != geteuid() {
        byOwner(status, of: path)
      } else if isKnown, status.st_mode & 0o200 != 0 {
        "Its mode lets its owner write, and something else does not: look at lsattr '\(path)' and the rights of its folder."
      } else {
        "Give it the right to write the file, as its owner: chmod u+w \(path.shellWord)"
      }
    return StoreError(
      .readOnly, "This process may not write \(path): \(String(cString: strerror(reason))).",
      suggestion: suggestion)
  }

  /// What to do about a file that this process may not read.
  static func readAdvice(for path: String) -> String {
    var status = stat()
    guard stat(path, &status) == 0 else { return "Give it the right to read the file." }
    return status.st_uid == geteuid()
      ? "Give it the right to read the file, as its owner: chmod u+rw \(path.shellWord)"
      : byOwner(status, of: path)
  }

  private static func byOwner(_ status: stat, of store: String) -> String {
    let (owner, own) = (name(ofUser: status.st_uid), name(ofUser: geteuid()))
    return "Run the command as \(owner), whose file it is. Or give it to \(own), as root: "
      + "chown \(own) \(store.shellWord)*"
  }

  private static func name(ofUser number: uid_t) -> String {
    getpwuid(number).flatMap { $0.pointee.pw_name }.map { String(cString: $0) } ?? "\(number)"
  }

  private static func name(ofGroup number: gid_t) -> String {
    getgrgid(number).flatMap { $0.pointee.gr_name }.map { String(cString: $0) } ?? "\(number)"
  }

  /// Refuses to open a store for writing that cannot be written, before SQLite makes anything beside it.
  ///
  /// SQLite gives its log the mode that the file has. What it made while the file could not be written would keep the file
  /// from being written for good, so that is given the file's mode of now.
  static func checkRights(of url: URL) throws {
    var status = stat()
    // What may not even be read has an error of its own.
    guard stat(url.path, &status) == 0, faccessat(AT_FDCWD, url.path, R_OK, AT_EACCESS) == 0 else {
      return
    }
    guard faccessat(AT_FDCWD, url.path, W_OK, AT_EACCESS) == 0 else {
      throw writeFailure(at: url.path, errno)
    }
    for suffix in ["-wal", "-shm"] {
      let path = url.path + suffix
      guard let failure = rightsFailure(at: path, beside: url.path) else { continue }
      // By its name: a descriptor that is closed takes this process's locks on the file along.
      let mode = status.st_mode & 0o777 | 0o600
      guard fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW) == 0 else { throw failure }
    }
  }
}
