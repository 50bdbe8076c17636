import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Who waits for the writer of a folder's database has it known, so that one who writes much, in many transactions, lets it go in
/// between until the other has it, and else not.
///
/// It is a lock on a file of its own: those who wait share it. It goes with a process that is killed.
struct WriterWait: Sendable {
  private let file: URL

  init(_ folder: DataFolder) { file = folder.waitLock }

  /// Runs what waits. Where that cannot be made known, it waits all the same.
  func run(_ body: () throws -> Void) throws {
    let lock = try? FileLock(file, .shared, waits: true)
    defer { lock?.release() }
    try body()
  }

  /// Waits until nobody waits for the writer. One who is stopped, or who comes again and again, is waited for no longer than this.
  func giveWay(milliseconds: Int = 1_000) {
    let end = ContinuousClock.now + .milliseconds(milliseconds)
    while isWaitedFor, ContinuousClock.now < end { usleep(1_000) }
  }

  private var isWaitedFor: Bool {
    guard access(file.path, F_OK) == 0 else { return false }
    do {
      guard let lock = try FileLock(file, .exclusive, waits: false) else { return true }
      lock.release()
    } catch {
      // Then nobody can tell.
    }
    return false
  }
}
