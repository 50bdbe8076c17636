import DriftlessSQLite
import Foundation
import Synchronization

/// When a file was written last, and which file it is: what changes with each write into it, whoever makes it.
struct FileStamp: Hashable {
  private let number: FileNumber
  private let size: Int64
  /// Nanoseconds since 1970. A program may set the first of them to what it likes, the second it may not.
  private let modified: Int64
  private let changed: Int64

  /// Nil when there is no file. A symbolic link is followed.
  init?(of path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    number = FileNumber(status)
    size = Int64(status.st_size)
    modified = Self.nanoseconds(status.st_mtim)
    changed = Self.nanoseconds(status.st_ctim)
  }

  /// Whether it is of a file.
  func isOf(_ file: FileNumber?) -> Bool { number == file }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }

  /// Whether a write from now on gives another stamp. The clock that files are stamped by moves in steps: of what was written
  /// within the last step nothing can be told.
  var isSettled: Bool {
    var now = timespec()
    guard clock_gettime(CLOCK_REALTIME, &now) == 0 else { return false }
    return Self.nanoseconds(now) &- changed > StoreTuning.fileClockStepNanoseconds
  }
}

/// What a store's file says by itself, without its log: looked at anew only where the file was written since. A look is a
/// connection of its own, which reads the definitions of all tables, and an engine asks before each operation.
final class FileLook: Sendable {
  private struct Seen {
    let stamp: FileStamp
    let look: StrayLogs.Look
  }

  private let seen = Mutex<Seen?>(nil)
  /// The file as it was when a question about it was answered last.
  private let answered = Mutex<FileStamp?>(nil)

  /// Asks about the file, unless nobody wrote into it since an answer, as far as that can be told.
  ///
  /// - Parameter question: Whether it got an answer.
  func ask(_ url: URL, _ question: () -> Bool) {
    let stamp = FileStamp(of: url.path)
    let isSettled = stamp?.isSettled ?? false
    guard stamp == nil || answered.withLock({ $0 }) != stamp else { return }
    let isAnswered = question()
    answered.withLock { $0 = isAnswered && isSettled ? stamp : nil }
  }

  /// - Throws: `SQLiteError` where the file alone is no database.
  func look(_ url: URL) throws -> StrayLogs.Look {
    guard let stamp = FileStamp(of: url.path) else { return try StrayLogs.Look(url, .immutable) }
    if let seen = seen.withLock({ $0 }), seen.stamp == stamp { return seen.look }
    let isSettled = stamp.isSettled
    let look = try StrayLogs.Look(url, .immutable)
    let isKept = isSettled && FileStamp(of: url.path) == stamp
    seen.withLock { $0 = isKept ? Seen(stamp: stamp, look: look) : nil }
    return look
  }
}
