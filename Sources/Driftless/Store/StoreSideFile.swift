import Foundation

/// The files that SQLite and Driftless keep beside a store, under its name.
///
/// One of them that is a folder, a pipe or a link gives errors that name another file, or is waited for without
/// end. So all are looked at before anybody opens one.
package enum StoreSideFile {
  package static let suffixes = [
    "-wal", "-shm", "-journal", "-driftless-lock", "-driftless-sync",
  ]

  /// Why a side file cannot be used; nil for a plain file, and where none is.
  ///
  /// A link is none: whoever may make files in the folder could have another file written over.
  package static func failure(at path: String) -> StoreError? {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return nil }
    let kind =
      switch status.st_mode & S_IFMT {
      case S_IFLNK: "a symbolic link"
      case S_IFDIR: "a folder"
      case S_IFIFO: "a pipe"
      case S_IFSOCK: "a socket"
      default: "no plain file"
      }
    return StoreError(
      .cannotOpen, "\(path) is \(kind), where the store has a file of its own beside it.",
      suggestion: "See who made it, and move it away: mv '\(path)' '\(path).away'")
  }

  /// Refuses to make a store under a name that is the one of another store's side file: that store would remove it.
  static func checkName(of url: URL) throws {
    guard !FileManager.default.fileExists(atPath: url.path),
      let suffix =
        (suffixes + StorePath.suffixes + ["-driftless-token", "-driftless-keys", "-driftless-code"])
        .first(where: { url.path.hasSuffix($0) })
    else { return }
    throw StoreError(
      .invalidArgument,
      "\(url.path) is no name for a store: files that end with \(suffix) belong to another.",
      suggestion: "Give the store another name.")
  }

  /// Refuses a store beside which something cannot be used.
  static func check(of url: URL) throws {
    for suffix in suffixes {
      if let failure = failure(at: url.path + suffix) { throw failure }
    }
  }
}
