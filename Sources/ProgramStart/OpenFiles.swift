import Foundation

/// The system lets this process open fewer files than its work needs.
package struct TooFewFiles: Error, Hashable, CustomStringConvertible {
  /// sysexits.h: EX_OSERR.
  package static let exitStatus: Int32 = 71

  package let message: String
  package let suggestion =
    "Raise the limit: ulimit -n 1024, or LimitNOFILE=1024 in a unit of systemd."

  package var description: String { "\(message) \(suggestion)" }
}

package enum OpenFiles {
  /// Checks that `count` files more can be opened, by opening them: what is open already counts, whoever opened it.
  package static func require(_ count: Int) throws(TooFewFiles) {
    var opened: [Int32] = []
    defer { for file in opened { close(file) } }
    while opened.count < count {
      let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard file >= 0 else {
        throw TooFewFiles(
          message:
            "The system lets this process open \(opened.count) more files, and it needs \(count).")
      }
      opened.append(file)
    }
  }
}
