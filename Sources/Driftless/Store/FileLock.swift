import Foundation
import Synchronization

/// A lock between processes, on a file beside the store. It goes with the process that held it.
final class FileLock: Sendable {
  enum Mode { case shared, exclusive }

  private let descriptor: Int32
  let path: String
  /// As what this process holds it, by this object.
  private let held = Mutex<Mode?>(nil)

  init(path: String) throws {
    self.path = path
    descriptor = StoreSideFile.open(path)
    guard descriptor >= 0 else {
      let reason = errno
      if reason == EMFILE || reason == ENFILE { throw StoreError.tooManyFiles(path) }
      if let failure = StoreSideFile.rightsFailure(
        at: path, beside: StoreSideFile.storePath(of: path))
      {
        throw failure
      }
      throw StoreError(
        .cannotOpen,
        "The lock file \(path) cannot be opened: \(String(cString: strerror(reason))).",
        suggestion: StoreSideFile.advice(for: reason))
    }
  }

  deinit { close(descriptor) }

  /// Waits for the lock until the time is up: who has it may be stopped.
  func lock(_ mode: Mode, milliseconds: Int32 = StoreOptions().busyTimeoutMilliseconds) throws {
    let operation = (mode == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB
    let end = ContinuousClock.now + .milliseconds(milliseconds)
    var pause: useconds_t = 500
    while flock(descriptor, operation) != 0 {
      let reason = errno
      if reason == EINTR { continue }
      guard reason == EWOULDBLOCK else {
        throw StoreError(
          .busy, "\(path) cannot be locked: \(String(cString: strerror(reason))).",
          suggestion: "Keep the store on a local file system.")
      }
      guard ContinuousClock.now < end else {
        throw LockHolder.ofFile(path)?.failure(path)
          ?? StoreError(
            .busy, "Another process holds \(path) and does not let go of it.",
            suggestion: "Wait until it is done, or see with `fuser \(path)` which one it is.")
      }
      usleep(pause)
      pause = min(pause * 2, 16_000)
    }
    held.withLock { $0 = mode }
  }

  /// Takes the lock if nobody holds it.
  func tryLock() -> Bool {
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return false }
    held.withLock { $0 = .exclusive }
    return true
  }

  /// Runs `body` with the lock alone, when nobody else gets in the way for so long. Who shares the lock shares it again after
  /// that, and may have let others have it in between.
  ///
  /// - Returns: Nil where somebody else has it.
  func alone<T>(milliseconds: Int32 = 0, _ body: () -> T) -> T? {
    let former = held.withLock { $0 }
    assert(former != .exclusive, "the lock is held alone already")
    defer {
      // A lock that cannot be made stronger is lost as well.
      if former == .shared {
        while flock(descriptor, LOCK_SH) != 0, errno == EINTR {}
        held.withLock { $0 = .shared }
      } else {
        unlock()
      }
    }
    guard (try? lock(.exclusive, milliseconds: milliseconds)) != nil else { return nil }
    return body()
  }

  /// Takes the lock beside others who share it, unless somebody holds it alone for longer.
  func tryShared(milliseconds: Int32) -> Bool {
    let end = ContinuousClock.now + .milliseconds(milliseconds)
    while flock(descriptor, LOCK_SH | LOCK_NB) != 0 {
      guard ContinuousClock.now < end else { return false }
      usleep(1_000)
    }
    held.withLock { $0 = .shared }
    return true
  }

  func unlock() {
    held.withLock { $0 = nil }
    flock(descriptor, LOCK_UN)
  }

  /// Whether the file that is locked still lies under its name: the lock of one that was removed keeps nobody out.
  var isInPlace: Bool {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_nlink > 0 else { return false }
    return FileNumber(of: path) == FileNumber(status)
  }

  /// Writes a byte, for those who watch the file.
  func touch() {
    var byte: UInt8 = 0x2e
    pwrite(descriptor, &byte, 1, 0)
  }

  /// What the file holds; nil when it has not as many bytes.
  func bytes(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return pread(descriptor, &bytes, count, 0) == count ? bytes : nil
  }

  /// Writes over the first bytes of the file.
  func write(_ bytes: [UInt8]) { _ = pwrite(descriptor, bytes, bytes.count, 0) }

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
