import Foundation

/// A lock between processes, on a file beside the store. It goes with the process that held it.
final class FileLock: Sendable {
  enum Mode { case shared, exclusive }

  private let descriptor: Int32
  let path: String

  init(path: String) throws {
    self.path = path
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw StoreError(
        .cannotOpen, "The lock file \(path) cannot be opened: \(String(cString: strerror(errno))).",
        suggestion: "Give the process the right to write the store's folder.")
    }
  }

  deinit { close(descriptor) }

  /// Waits for the lock.
  func lock(_ mode: Mode) throws {
    while flock(descriptor, mode == .shared ? LOCK_SH : LOCK_EX) != 0 {
      guard errno == EINTR else {
        throw StoreError(
          .busy, "\(path) cannot be locked: \(String(cString: strerror(errno))).",
          suggestion: "Keep the store on a local file system.")
      }
    }
  }

  /// Takes the lock if nobody holds it.
  func tryLock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

  func unlock() { flock(descriptor, LOCK_UN) }

  /// Writes a byte, for those who watch the file.
  func touch() {
    var byte: UInt8 = 0x2e
    pwrite(descriptor, &byte, 1, 0)
  }

  /// The text in the file.
  var content: String {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  func write(_ text: String) {
    ftruncate(descriptor, 0)
    _ = text.utf8CString.withUnsafeBufferPointer {
      pwrite(descriptor, $0.baseAddress, $0.count - 1, 0)
    }
  }
}

/// The right to sync a store: one process, one engine. It ends when this goes.
package final class SyncLock: Sendable {
  private let lock: FileLock

  init(path: String) throws {
    // Kept only once it is held: `deinit` also runs for an init that throws, and must not wipe the holder's number.
    let candidate = try FileLock(path: path)
    guard candidate.tryLock() else {
      let holder = candidate.content.trimmingCharacters(in: .whitespacesAndNewlines)
      throw StoreError(
        .syncLocked, "Process \(holder) syncs this store.",
        suggestion: "Let it sync, or stop process \(holder) and try again.")
    }
    lock = candidate
    lock.write("\(getpid())\n")
  }

  deinit {
    lock.write("")
    lock.unlock()
  }
}
