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
