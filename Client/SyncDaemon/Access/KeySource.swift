import Driftless
package import DriftlessProtocol
package import Foundation

/// Where the keys of a store's encrypted properties come from.
package enum KeySource: Hashable, Sendable {
  /// A file that nobody else may read.
  case file(URL)
  /// A command of the shell that prints what the file has: of a keeper of secrets, say.
  case command(String)
  /// Read before.
  case known(KeyRing)

  /// How long a command may take. Seconds.
  private static let secondsMax = 30.0

  /// The source that is named, or the file beside the store, where there is one.
  package static func of(
    store: URL, file: URL? = nil, command: String? = nil
  ) -> KeySource? {
    if let command { return .command(command) }
    return (file ?? KeyFile.kept(forStore: store)).map { .file($0) }
  }

  /// Reads the keys.
  ///
  /// - Throws: `Failure`, without a word of what the source has.
  package func read() throws(Failure) -> KeyRing {
    switch self {
    case .file(let url): try KeyFile.read(url)
    case .command(let command): try Self.run(command)
    case .known(let ring): ring
    }
  }

  private static func run(_ command: String) throws(Failure) -> KeyRing {
    switch ShellCommand.run(command, secondsMax: secondsMax, bytesMax: KeyRing.textBytesMax) {
    case .output(let data): return try KeyFile.ring(in: data, from: "What the command printed")
    case .noRoom(let reason):
      throw .noRoom(for: "The command that prints the keys", reason)
    case .failed(let reason):
      throw Failure(
        .notAllowed, code: "no-key", "The command that prints the keys failed: \(reason).",
        suggestion: "run it by hand, as the same user: it prints the key file and ends with 0")
    }
  }
}

/// A file of keys: it is the secret, so that nobody else may read it.
package enum KeyFile {
  /// Where the keys of the store at `store` are kept, if they are kept beside it.
  package static func url(forStore store: URL) -> URL {
    URL(fileURLWithPath: store.path + suffix)
  }

  private static let suffix = "-driftless-keys"

  /// The file of a store, where it has one.
  package static func kept(forStore store: URL) -> URL? { SideFile.kept(url(forStore: store)) }

  /// Reads a file.
  ///
  /// - Throws: `Failure` when it cannot be read, others may read it, or it holds no keys.
  package static func read(_ url: URL) throws(Failure) -> KeyRing {
    let content = try SideFile.read(url, bytesMax: KeyRing.textBytesMax + 1) { problem in
      unread(url, problem)
    }
    guard content.isForOwnerAlone else {
      throw Failure(
        .notAllowed, code: "key-readable",
        "\(url.path) can be read by others (mode \(content.modeText)).",
        suggestion:
          "chmod 600 \(url.path.shellWord); who could read it may have the keys: syncctl key rotate"
      )
    }
    guard !content.data.isEmpty else {
      throw Failure(
        .badData, code: "no-key", "\(url.path) is empty.",
        suggestion: "copy it again: what broke off leaves an empty file")
    }
    return try ring(in: content.data, from: url.path)
  }

  private static func unread(_ url: URL, _ problem: SideFile.Problem) -> Failure {
    let (what, suggestion) =
      switch problem {
      case .cannotOpen:
        (
          "cannot be read: \(problem.reason)",
          "give the path of a key file: syncctl key create FILE makes one"
        )
      case .isNotPlain: ("is not a plain file", "give the path of a key file")
      case .cannotRead: ("cannot be read", "check the disk")
      }
    return Failure(
      .notAllowed, code: "no-key", "\(url.path) \(what).", suggestion: suggestion)
  }

  /// Keeps keys in a file: a new one with mode 0600, moved into place, so that no half file is ever read.
  package static func write(_ ring: KeyRing, to url: URL) throws(Failure) {
    let store = url.path.hasSuffix(suffix) ? String(url.path.dropLast(suffix.count)) : url.path
    try SideFile.put(ring.text, at: url, beside: store) { reason in
      Failure(
        .failed, code: "key-unwritable", "The keys cannot be kept in \(url.path): \(reason).",
        suggestion: "make the folder writable, and room in it")
    }
  }

  /// Removes the file beside a store. One that is not there is no error.
  package static func remove(forStore store: URL) throws(Failure) {
    let url = url(forStore: store)
    try SideFile.remove(url) { reason in
      Failure(
        .failed, code: "key-unwritable", "\(url.path) cannot be removed: \(reason).",
        suggestion: "remove it by hand")
    }
  }

  static func ring(in data: Data, from source: String) throws(Failure) -> KeyRing {
    do {
      return try KeyRing(text: String(decoding: data, as: UTF8.self))
    } catch {
      throw Failure(
        .badData, code: "no-key", "\(source) holds no keys: \(error.message).",
        suggestion: error.suggestion)
    }
  }
}
