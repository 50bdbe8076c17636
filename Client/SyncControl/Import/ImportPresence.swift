import Driftless
import Foundation
import Glibc

/// Tells others that an import is under way, for as long as its process lives: two files may have equal lines, and what one of the
/// imports has saved is no sign that the other one was cut off.
///
/// It is a lock on one byte, far behind what the file has, of the lock file beside the store. It goes with the process.
final class ImportPresence: Sendable {
  /// Which byte that is, counted from the first of them.
  let number: Int64
  private let descriptor: Int32

  private static let first: Int64 = 1 << 40
  private static let numbers: Range<Int64> = 1..<1 << 40

  // F_OFD_GETLK and F_OFD_SETLK of Linux, which C's headers give to those alone who ask for GNU's extensions.
  private static let getLock: Int32 = 36
  private static let setLock: Int32 = 37

  /// Nil where the file cannot be locked so: then its import looks to others as one that was cut off.
  init?(in store: PersistentStore) {
    guard let path = store.url?.path else { return nil }
    descriptor = open(path + "-driftless-lock", O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    number = .random(in: Self.numbers)
    var lock = Self.lock(number)
    // What has all its parts is ended, and its descriptor closed with it.
    guard fcntl(descriptor, Self.setLock, &lock) == 0 else { return nil }
  }

  deinit { close(descriptor) }

  /// Whether an import of another process, or another one of this process, is under way.
  func isUnderWay(_ other: Int64) -> Bool {
    guard other != number, Self.numbers.contains(other) else { return false }
    var lock = Self.lock(other)
    return fcntl(descriptor, Self.getLock, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
  }

  private static func lock(_ number: Int64) -> flock {
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = off_t(first + number)
    lock.l_len = 1
    return lock
  }
}
