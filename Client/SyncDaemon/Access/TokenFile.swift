import Driftless
package import Foundation
import Glibc

/// The bearer token of a store, in a file beside it that nobody else may read.
package enum TokenFile {
  /// Where the token of the store at `store` is kept.
  package static func url(forStore store: URL) -> URL {
    URL(fileURLWithPath: store.path + suffix)
  }

  private static let suffix = "-driftless-token"

  /// Reads a token.
  ///
  /// - Throws: `Failure` when the file is missing, others may read it, or it holds no token.
  package static func read(_ url: URL) throws(Failure) -> String {
    try token(in: text(of: url), from: url.path)
  }

  /// What a file has that is for its owner alone.
  ///
  /// - Throws: `Failure` when the file is missing, or others may read it.
  package static func text(of url: URL) throws(Failure) -> String {
    if let text = try textIfThere(at: url) { return text }
    throw Failure(
      .failed, code: "no-token",
      "\(url.path) cannot be read: \(String(cString: strerror(ENOENT))).",
      suggestion: "syncctl enroll --store STORE --server URL --zone NAME --token-file FILE")
  }

  /// As `text(of:)`; nil when there is no file.
  package static func textIfThere(
    at url: URL, bytesMax: Int = 8_192
  ) throws(Failure) -> String? {
    let content = try SideFile.readIfThere(url, bytesMax: bytesMax) { problem in
      if case .cannotOpen(EACCES) = problem { return notReadable(url) }
      if case .isNotPlain = problem {
        return Failure(
          .notAllowed, code: "no-token", "\(url.path) is not a plain file.",
          suggestion: "give the path of a file that holds the token alone")
      }
      return unread(url, problem)
    }
    guard let content else { return nil }
    guard content.isForOwnerAlone else {
      throw Failure(
        .notAllowed, code: "token-readable",
        "\(url.path) can be read by others (mode \(content.modeText)).",
        suggestion: "chmod 600 \(url.path.shellWord)")
    }
    return content.text
  }

  private static func unread(_ url: URL, _ problem: SideFile.Problem) -> Failure {
    Failure(
      .notAllowed, code: "no-token", "\(url.path) cannot be read: \(problem.reason).",
      suggestion: "syncctl enroll --store STORE --server URL --zone NAME --token-file FILE")
  }

  /// Whose the file is, and who may not read it.
  private static func notReadable(_ url: URL) -> Failure {
    func name(_ user: uid_t) -> String {
      getpwuid(user).flatMap { $0.pointee.pw_name }.map { String(cString: $0) } ?? "\(user)"
    }
    var status = stat()
    let own = name(geteuid())
    guard lstat(url.path, &status) == 0 else {
      return Failure(
        .notAllowed, code: "no-token", "\(own) may not enter a folder on the way to \(url.path).",
        suggestion: "see who may: namei -l \(url.path.shellWord)")
    }
    let mode = String(status.st_mode & 0o777, radix: 8)
    let isOwn = status.st_uid == geteuid()
    return Failure(
      .notAllowed, code: "no-token",
      isOwn
        ? "\(url.path) has mode \(mode): its owner, \(own), may not read it."
        : "\(url.path) is \(name(status.st_uid))'s (mode \(mode)): \(own) may not read it.",
      suggestion: isOwn
        ? "chmod 600 \(url.path.shellWord)"
        : "run the command as \(name(status.st_uid)); or give the file to \(own), as root: "
          + "chown \(own) \(url.path.shellWord)")
  }

  /// Keeps a token: a new file with mode 0600, moved into place, so that no half token is ever
  /// read.
  package static func write(_ token: String, to url: URL) throws(Failure) {
    try SideFile.put(token + "\n", at: url, beside: storePath(of: url)) { reason in
      Failure(
        .failed, code: "token-unwritable", "The token cannot be kept in \(url.path): \(reason).",
        suggestion: "make the store's folder writable, and room in it")
    }
  }

  /// Removes the token of a store. One that is not there is no error.
  package static func remove(forStore store: URL) throws(Failure) {
    let url = url(forStore: store)
    try SideFile.remove(url) { reason in
      Failure(
        .failed, code: "token-unwritable", "\(url.path) cannot be removed: \(reason).",
        suggestion: "remove it, and revoke the token at the server: driftless-server token revoke")
    }
  }

  private static func storePath(of token: URL) -> String {
    token.path.hasSuffix(suffix) ? String(token.path.dropLast(suffix.count)) : token.path
  }

  /// The token in text that was read or typed: one word.
  package static func token(in text: String, from source: String) throws(Failure) -> String {
    let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
    guard !token.isEmpty, token.utf8.count <= 4_096,
      token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
    else {
      throw Failure(
        .badData, code: "no-token", "\(source) holds no token.",
        suggestion: "driftless-server token create --zone NAME --data DIR")
    }
    return token
  }
}
