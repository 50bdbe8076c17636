import Foundation
import Synchronization

/// The system lets this process open fewer files than its work needs.
package struct TooFewFiles: Error, Hashable, CustomStringConvertible {
  /// sysexits.h: EX_OSERR; where the whole host has none left for now EX_TEMPFAIL, after which a unit is started again.
  package var exitStatus: Int32 { isPassing ? 75 : 71 }

  /// Whether it is the host that has none left, and not this process that may have no more.
  package let isPassing: Bool
  package let message: String
  package let suggestion: String

  /// - Parameters:
  ///   - count: how many files the process needs to open.
  ///   - other: what helps as well, as a sentence.
  ///   - isPassing: whether the host has none left.
  init(_ message: String, count: Int, or other: String?, isPassing: Bool = false) {
    self.message = message
    self.isPassing = isPassing
    guard !isPassing else {
      suggestion = "Close other programs, or raise fs.file-max, and try again."
      return
    }
    var limit = 1024
    while limit < count + 256 { limit *= 2 }
    suggestion =
      "Raise the limit: ulimit -n \(limit), or LimitNOFILE=\(limit) in a unit of systemd."
      + (other.map { " \($0)" } ?? "")
  }

  package var description: String { FailureText.line(message, try: suggestion) }
}

package enum OpenFiles {
  /// More is not asked for: some systems let a process open a thousand million, and what goes through all of them takes long.
  private static let most: rlim_t = 1 << 20

  private static let former = Mutex<rlim_t?>(nil)

  /// The lower limit that this process began with, where it has raised that: who is started by it may count on it.
  package static var formerLimit: UInt64? { former.withLock { $0 }.map { UInt64($0) } }

  /// Takes what the system lets this process take: the lower limit, which a process begins with, is that of old programs.
  static func raiseLimit() {
    var limit = rlimit()
    // A unit of systemd may forbid both calls, and says LimitNOFILE then.
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    let wanted = min(limit.rlim_max, most)
    guard limit.rlim_cur < wanted else { return }
    let begun = limit.rlim_cur
    limit.rlim_cur = wanted
    guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    former.withLock { $0 = begun }
  }

  /// How many files this process may have open, and how many it has; nil where the system does not say. A process that serves
  /// asks so: to try it would take the files away from what it is at.
  private static func counts() -> (limit: Int, open: Int)? {
    guard let limit = saidLimit() ?? askedLimit() else { return nil }
    if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
      return (limit, open)
    }
    // Where none is left the folder cannot be opened either.
    return (limit, (0..<Int32(min(limit, Int(most)))).count { fcntl($0, F_GETFD) >= 0 })
  }

  /// As /proc says it, also to a unit that may not ask.
  private static func saidLimit() -> Int? {
    (try? String(contentsOfFile: "/proc/self/limits", encoding: .utf8))?.split(separator: "\n")
      .first { $0.hasPrefix("Max open files") }?.split(separator: " ").dropFirst(3).first
      .flatMap { Int($0) }
  }

  private static func askedLimit() -> Int? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
    return Int(clamping: limit.rlim_cur)
  }

  /// Checks that this process may have `count` files open in all, what is open already among them.
  package static func require(inAll count: Int) throws(TooFewFiles) {
    guard let (limit, open) = counts() else {
      throw TooFewFiles(
        "The system does not say whether this process may have \(count) files open.",
        count: count, or: nil)
    }
    guard max(count, open) > limit else { return }
    throw TooFewFiles(
      "The system lets this process have \(limit) files open, and it needs \(count).",
      count: count, or: nil)
  }

  /// Checks that `count` files more can be opened, by opening them: what is open already counts, whoever opened it.
  ///
  /// - Parameter other: what helps as well, as a sentence.
  package static func require(_ count: Int, or other: String? = nil) throws(TooFewFiles) {
    var opened: [Int32] = []
    defer { for file in opened { close(file) } }
    while opened.count < count {
      let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard file >= 0 else {
        if errno == ENFILE {
          throw TooFewFiles(
            "The host has as many files open as it can have.", count: count, or: nil,
            isPassing: true)
        }
        throw TooFewFiles(
          "The system lets this process open \(opened.count) more files, and it needs \(count).",
          count: count, or: other)
      }
      opened.append(file)
    }
  }
}
