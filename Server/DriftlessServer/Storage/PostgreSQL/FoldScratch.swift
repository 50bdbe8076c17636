#if PostgreSQL
  import Foundation

  #if canImport(Glibc)
    import Glibc
  #endif

  /// A folder for what a fold has done before its snapshot is in the database: of this process alone, and removed with it.
  struct FoldScratch {
    let folder: URL
    private let lock: FileLock

    /// Where the fold's own files lie.
    var work: URL { folder.appendingPathComponent("fold", isDirectory: true) }

    private static let prefix = "driftless-fold-"

    /// The folder that TMPDIR names, else /var/tmp: what lies in /tmp may be in memory.
    private static var place: String {
      if let named = ProcessInfo.processInfo.environment["TMPDIR"], !named.isEmpty { return named }
      return access("/var/tmp", W_OK | X_OK) == 0 ? "/var/tmp" : "/tmp"
    }

    /// Makes a folder that only this user may read, and removes those that killed processes of this user left.
    ///
    /// - Throws: `ServerError` (`.folder`).
    init() throws {
      Self.sweep()
      // Under its name it is locked: until then it has another one.
      var made = Array("\(Self.place)/.\(Self.prefix)XXXXXX".utf8CString)
      guard mkdtemp(&made) != nil else { throw Self.error(Self.place) }
      let path = made.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } } ?? ""
      let hidden = URL(fileURLWithPath: path, isDirectory: true)
      lock = try FileLock(folder: hidden)
      folder = hidden.deletingLastPathComponent()
        .appendingPathComponent(String(hidden.lastPathComponent.dropFirst()), isDirectory: true)
      guard rename(hidden.path, folder.path) == 0 else { throw Self.error(hidden.path) }
    }

    func remove() {
      try? FileManager.default.removeItem(at: folder)
      lock.release()
    }

    /// Where such folders lie.
    static var parent: URL { URL(fileURLWithPath: place, isDirectory: true) }

    static var freeBytes: Int? { DiskSpace.free(at: parent) }

    private static func sweep() {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
      where name.hasPrefix(prefix) {
        let folder = URL(fileURLWithPath: place).appendingPathComponent(name, isDirectory: true)
        var status = stat()
        guard lstat(folder.path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
          status.st_uid == geteuid(), let lock = try? FileLock(freeFolder: folder)
        else { continue }
        try? FileManager.default.removeItem(at: folder)
        lock.release()
      }
    }

    private static func error(_ path: String) -> ServerError {
      ServerError(
        .folder, "cannot make a folder in \(path): \(String(cString: strerror(errno)))",
        suggestion: "Name a folder with room for what a zone's log comes to in TMPDIR.")
    }
  }
#endif
