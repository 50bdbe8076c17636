import DriftlessSQLite
import Foundation

/// What stands in the way of a file, where SQLite says only that it cannot be opened.
enum StoreObstacle {
  /// A folder gives an error that misleads, and a pipe is waited for without end; so with what lies beside the file. A file
  /// with several names loses what was saved: the write-ahead log goes by the name.
  ///
  /// - Parameter allowsLinks: For one who takes the file alone, and no log.
  static func checkKind(of url: URL, allowsLinks: Bool = false) throws {
    try StoreSideFile.check(of: url)
    var status = stat()
    guard stat(url.path, &status) == 0 else { return }
    if status.st_mode & S_IFMT == S_IFREG {
      guard status.st_nlink > 1, !allowsLinks else { return }
      throw StoreError(
        .hardLinked,
        """
        \(url.path) has \(status.st_nlink) names (hard links). The log and the locks of a store go by its name, so what \
        is saved under one name would be lost under another.
        """,
        suggestion: """
          Close it everywhere and make it a file of its own: cp -p '\(url.path)' '\(url.path).own' && \
          mv '\(url.path).own' '\(url.path)'. To have it under two names, use a symbolic link.
          """)
    }
    throw StoreError(
      .cannotOpen,
      "\(url.path) is \(status.st_mode & S_IFMT == S_IFDIR ? "a folder" : "no plain file").",
      suggestion: "Give the path of the store's file.")
  }

  /// Why a file was not opened; nil when nothing is seen that would explain it.
  static func inTheWay(of path: String) -> StoreError? {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    var status = stat()
    guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      return StoreError(
        .cannotOpen, "\(path) cannot be opened: there is no folder \(folder).",
        suggestion: "Make the folder, or check the path.")
    }
    guard access(path, F_OK) == 0 else {
      guard access(folder, W_OK | X_OK) != 0 else { return nil }
      return StoreError(
        .cannotOpen, "\(path) cannot be made: this process may not write the folder \(folder).",
        suggestion: "Give it the right to write the folder, or choose another.")
    }
    guard access(path, R_OK) == 0 else {
      return StoreError(
        .cannotOpen, "This process may not read \(path).",
        suggestion: "Give it the right to read the file.")
    }
    guard access(folder, W_OK | X_OK) != 0 else { return nil }
    // The log is read with the help of a file beside it, which nobody has made.
    if stat(path + "-wal", &status) == 0, status.st_size > 0 {
      return StoreError(
        .cannotOpen,
        """
        \(path) has changes in its log, \(path)-wal, that are read only where a file can be made beside it, and this \
        process may not write the folder \(folder).
        """,
        suggestion: """
          Give it the right to write the folder, or copy the file and its -wal together into a folder of its own.
          """)
    }
    return StoreError(
      .readOnly, "\(path) is used with a log beside it, and this process may not write \(folder).",
      suggestion: """
        Give it the right to write the folder; to look at a file that nobody writes, open it as immutable.
        """)
  }
}
