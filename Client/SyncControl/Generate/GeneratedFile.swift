import Crypto
import Foundation

/// A file that `model generate` writes: its first line is a mark, with a digest of the rest, by which a file that was changed
/// since is known.
struct GeneratedFile: Hashable {
  /// What a file is to who wants to write it.
  enum Standing: Hashable {
    case absent
    /// Written by this command, and as it was written.
    case ours
    /// Written by this command, and changed since.
    case changed
    /// Anything else.
    case foreign
  }

  /// The text that is written, mark and all.
  let text: String

  /// - Parameter source: What stands below the mark.
  init(source: String) { text = Self.mark(of: source) + "\n" + source }

  private static let opening = "// Made by syncctl model generate; SHA-256 of the rest: "
  private static let bytesMax = 16 << 20

  private static func mark(of source: String) -> String {
    let digest = SHA256.hash(data: Data(source.utf8)).prefix(16)
    let digits = digest.map { byte in
      let text = String(byte, radix: 16)
      return text.count == 1 ? "0\(text)" : text
    }
    return opening + digits.joined()
  }

  /// What stands at a path. What is no plain file is foreign, and so is what cannot be read.
  static func standing(at url: URL) -> (standing: Standing, text: String?) {
    var information = stat()
    guard lstat(url.path, &information) == 0 else {
      return (errno == ENOENT ? .absent : .foreign, nil)
    }
    guard information.st_mode & S_IFMT == S_IFREG, information.st_size <= bytesMax,
      let data = try? Data(contentsOf: url), let text = String(validating: data, as: UTF8.self)
    else { return (.foreign, nil) }
    return (standing(of: text), text)
  }

  static func standing(of text: String) -> Standing {
    // Where lines end otherwise, a version control system did that.
    let text = text.replacingOccurrences(of: "\r\n", with: "\n")
    guard text.hasPrefix(opening) else { return .foreign }
    guard let end = text.firstIndex(of: "\n") else { return .changed }
    let rest = String(text[text.index(after: end)...])
    return text[..<end] == mark(of: rest) ? .ours : .changed
  }
}
