package import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// The folder that holds all a server knows. Only its owner may read what is in it.
package struct DataFolder: Sendable {
  package let url: URL

  package var database: URL { url.appendingPathComponent("driftless.sqlite") }
  /// Held by the serving process, with its process ID inside.
  package var serveLock: URL { url.appendingPathComponent("serve.lock") }
  /// Held shared by other processes while they write, exclusively while the server checkpoints.
  package var writeLock: URL { url.appendingPathComponent("write.lock") }

  /// Opens a data folder, creating it when it is not there; from now on this process creates files
  /// that only its user may read.
  ///
  /// - Throws: `ServerError` (`.folder`).
  package init(_ url: URL) throws {
    umask(0o077)
    self.url = url
    do {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    } catch {
      throw ServerError(
        .folder, "cannot create the data folder \(url.path): \(error.localizedDescription)",
        suggestion: "Name a folder that this user may write, with --data.")
    }
    guard access(url.path, W_OK | X_OK) == 0 else {
      throw ServerError(
        .folder, "cannot write in the data folder \(url.path)",
        suggestion: "Name a folder that this user may write, with --data.")
    }
  }

  /// Whether other users may enter the folder.
  package var isOpenToOthers: Bool {
    let permissions = try? FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions]
    return ((permissions as? Int) ?? 0) & 0o077 != 0
  }

  /// Makes this process the one that serves the folder, until the lock is released.
  ///
  /// - Throws: `ServerError` (`.locked`) with the other's process ID.
  package func lockForServing() throws -> FileLock {
    guard let lock = try FileLock(serveLock, .exclusive, waits: false) else {
      let text = (try? String(contentsOf: serveLock, encoding: .utf8)) ?? ""
      let holder = text.trimmingCharacters(in: .whitespacesAndNewlines)
      throw ServerError(
        .locked, "another server (process \(holder)) serves \(url.path)",
        suggestion: "Stop it first, or name another folder with --data.")
    }
    lock.writeProcessID()
    return lock
  }
}
