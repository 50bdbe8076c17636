import DriftlessSQLite
package import Foundation

/// What stands in the way of a file, where SQLite says only that it cannot be opened.
enum StoreObstacle {
  /// A folder gives an error that misleads, and a pipe is waited for without end; so with what lies beside the file. A file
  /// with several names loses what was saved: the write-ahead log goes by the name.
  ///
  /// - Parameter allowsLinks: For one who takes the file alone, and no log.
  static func checkKind(of url: URL, allowsLinks: Bool = false) throws {
    try StoreSideFile.check(of: url)
    if let failure = try StrayLogs.journalFailure(url) { throw failure }
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

  /// Refuses to take a file alone that is not whole without the log beside it.
  static func checkWholeWithoutLog(_ url: URL) throws {
    func starts(_ suffix: String, with magic: [[UInt8]], longerThan size: Int) -> Bool {
      guard FileNumber.size(of: url.path + suffix).map({ $0 > size }) ?? false,
        let bytes = SQLiteConnection.head(ofFileAt: url.path + suffix, bytesMax: 8)
      else { return false }
      return magic.contains { bytes.starts(with: $0) }
    }
    // The write-ahead log's head has 32 bytes; a rollback journal that is done with has zeros at its head.
    let log = starts(
      "-wal", with: [[0x37, 0x7F, 0x06, 0x82], [0x37, 0x7F, 0x06, 0x83]], longerThan: 32)
    let journal = starts("-journal", with: [[0xD9, 0xD5, 0x05, 0xF9]], longerThan: 0)
    guard log || journal else { return }
    let name = url.path + (log ? "-wal" : "-journal")
    throw StoreError(
      .cannotOpen,
      "\(url.path) is not whole by itself: \(name) beside it has changes that the file has not.",
      suggestion: """
        Open it for reading only (isReadOnly) in place of isImmutable; where nothing may be made beside it, copy the file \
        and what lies beside it into a folder of its own first.
        """)
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
      return .ofRights(
        .cannotOpen, "\(path) cannot be made: this process may not write the folder \(folder).",
        suggestion: "Give it the right to write the folder, or choose another.")
    }
    guard access(path, R_OK) == 0 else {
      return .ofRights(
        .cannotOpen, "This process may not read \(path).",
        suggestion: StoreSideFile.readAdvice(for: path))
    }
    guard access(folder, W_OK | X_OK) != 0 else { return nil }
    // The log is read with the help of a file beside it, which nobody has made.
    if stat(path + "-wal", &status) == 0, status.st_size > 0 {
      return .ofRights(
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

  /// A file that lacks its end; nil where nothing says so. The head of a database has the size of its pages and their number,
  /// which is that of its last commit where two counters beside it are alike.
  static func cutOff(_ path: String) -> StoreError? {
    guard let head = SQLiteConnection.head(ofFileAt: path, bytesMax: 100),
      let size = FileNumber.size(of: path), !head.isEmpty,
      head.starts(with: SQLiteConnection.magic.prefix(head.count))
    else { return nil }
    var whole = ""
    if head.count == 100 {
      func number(_ offset: Int, _ count: Int) -> Int {
        head[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
      }
      let pageSize = number(16, 2) == 1 ? 65_536 : number(16, 2)
      let bytes = pageSize * number(28, 4)
      guard number(24, 4) == number(92, 4), bytes > size else { return nil }
      whole = " of \(bytes)"
    }
    return StoreError(
      .damaged,
      "\(path) is cut off: it has \(size)\(whole) bytes, as after a copy that was broken off.",
      suggestion: "Copy it once more from where it is whole, or restore it from a backup.")
  }
}

extension PersistentStore {
  /// Whether a file begins as a database does, whoever has it open; nil where it cannot be read.
  package static func isDatabase(_ url: URL) -> Bool? { SQLiteConnection.isDatabase(at: url.path) }
}
