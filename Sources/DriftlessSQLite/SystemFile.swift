import Glibc

/// A file that the system writes while it is read, as those in `/proc`.
package enum SystemFile {
  /// All of its text; nil where it cannot be read.
  ///
  /// Its size is not known before, and Foundation's reading of a whole file ends after the first part of such a one.
  package static func text(_ path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(file, &part, part.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return nil }
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += part.prefix(count)
    }
  }
}
