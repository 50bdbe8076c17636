import Driftless
import Foundation

/// The cache's file, and what lies beside it.
enum CacheFile {
  /// Whether nothing can be done with the file but to remove it.
  static func isPastUse(_ error: StoreError) -> Bool {
    [
      .notADatabase, .notAStore, .damaged, .incompatibleModel, .missingModel, .newerFormat,
      .newerModel,
    ].contains(error.code)
  }

  static func remove(at location: URL) throws {
    let folder = location.deletingLastPathComponent()
    let name = location.lastPathComponent
    let support = ".\(location.deletingPathExtension().lastPathComponent)_SUPPORT"
    for name in [name, name + "-wal", name + "-shm", name + "-journal", support] {
      let file = folder.appendingPathComponent(name)
      guard FileManager.default.fileExists(atPath: file.path) else { continue }
      try FileManager.default.removeItem(at: file)
    }
  }

  /// Runs `body` while no other process opens the cache: of two that find it damaged, one must not remove what the other
  /// has just made.
  static func alone(at location: URL, _ body: () throws -> Void) throws {
    let path = location.path + "-opening"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw CacheError(
        .unreachable, "\(path) cannot be opened: \(String(cString: strerror(errno)))",
        suggestion: "Make its folder, one that this user may write.")
    }
    defer { close(descriptor) }
    while flock(descriptor, LOCK_EX) != 0 && errno == EINTR {}
    try body()
  }
}
