import Foundation

/// The system lets this process open fewer files than its work needs.
package struct TooFewFiles: Error, Hashable, CustomStringConvertible {
  /// sysexits.h: EX_OSERR.
  package static let exitStatus: Int32 = 71

  package let message: String
  package let suggestion: String

  /// - Parameters:
  ///   - count: how many files the process needs to open.
  ///   - other: what helps as well, as a sentence.
  init(_ message: String, count: Int, or other: String?) {
    self.message = message
    var limit = 1024
    while limit < count + 256 { limit *= 2 }
    suggestion =
      "Raise the limit: ulimit -n \(limit), or LimitNOFILE=\(limit) in a unit of systemd."
      + (other.map { " \($0)" } ?? "")
  }

  package var description: String { "\(message) \(suggestion)" }
}

package enum OpenFiles {
  /// More is not asked for: some systems let a process open a thousand million, and what goes through all of them takes long.
  private static let most: rlim_t = 1 << 20

  /// Takes what the system lets this process take: the lower limit, which a process begins with, is that of old programs.
  static func raiseLimit() {
    var limit = rlimit()
    // A unit of systemd may forbid both calls, and says LimitNOFILE then.
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    let wanted = min(limit.rlim_max, most)
    guard limit.rlim_cur < wanted else { return }
    limit.rlim_cur = wanted
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// How many files this process may have open, and how many it has; nil where the system does not say. A process that serves
  /// asks so: to try it would take the files away from what it is at.
  private static func counts() -> (limit: Int, open: Int)? {
    guard let limits = try? String(contentsOfFile: "/proc/self/limits", encoding: .utf8),
      let line = limits.split(separator: "\n").first(where: { $0.hasPrefix("Max open files") }),
      let limit = line.split(separator: " ").dropFirst(3).first.flatMap({ Int($0) }),
      let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    else { return nil }
    return (limit, open)
  }

  /// Checks that this process may have `count` files open in all, what is open already among them.
  package static func require(inAll count: Int) throws(TooFewFiles) {
    guard let (limit, open) = counts(), max(count, open) > limit else { return }
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
        throw TooFewFiles(
          "The system lets this process open \(opened.count) more files, and it needs \(count).",
          count: count, or: other)
      }
      opened.append(file)
    }
  }
}
