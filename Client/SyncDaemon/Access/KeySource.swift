import Driftless
package import DriftlessProtocol
package import Foundation
import Glibc

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
  package static func kept(forStore store: URL) -> URL? {
    let url = url(forStore: store)
    var status = stat()
    return lstat(url.path, &status) == 0 ? url : nil
  }

  /// Reads a file.
  ///
  /// - Throws: `Failure` when it cannot be read, others may read it, or it holds no keys.
  package static func read(_ url: URL) throws(Failure) -> KeyRing {
    // A pipe would be waited for without end.
    let descriptor = open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      let reason = errno
      if reason == EMFILE || reason == ENFILE { throw .noFileLeft(for: url.path) }
      throw Failure(
        .notAllowed, code: "no-key",
        "\(url.path) cannot be read: \(String(cString: strerror(reason))).",
        suggestion: "give the path of a key file: syncctl key create FILE makes one")
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    // The open file is looked at, not the path: nobody can swap it in between.
    var information = stat()
    guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
      throw Failure(
        .notAllowed, code: "no-key", "\(url.path) is not a plain file.",
        suggestion: "give the path of a key file")
    }
    guard information.st_mode & 0o077 == 0 else {
      throw Failure(
        .notAllowed, code: "key-readable",
        "\(url.path) can be read by others (mode \(String(information.st_mode & 0o777, radix: 8))).",
        suggestion:
          "chmod 600 \(url.path.shellWord); who could read it may have the keys: syncctl key rotate"
      )
    }
    let data: Data
    do {
      // Nothing is nil here, and no error.
      data = try file.read(upToCount: KeyRing.textBytesMax + 1) ?? Data()
    } catch {
      throw Failure(
        .notAllowed, code: "no-key", "\(url.path) cannot be read.", suggestion: "check the disk")
    }
    guard !data.isEmpty else {
      throw Failure(
        .badData, code: "no-key", "\(url.path) is empty.",
        suggestion: "copy it again: what broke off leaves an empty file")
    }
    return try ring(in: data, from: url.path)
  }

  /// Keeps keys in a file: a new one with mode 0600, moved into place, so that no half file is ever read.
  package static func write(_ ring: KeyRing, to url: URL) throws(Failure) {
    let store = url.path.hasSuffix(suffix) ? String(url.path.dropLast(suffix.count)) : url.path
    try SideFileDraft.put(ring.text, at: url, beside: store) { reason in
      Failure(
        .failed, code: "key-unwritable", "The keys cannot be kept in \(url.path): \(reason).",
        suggestion: "make the folder writable, and room in it")
    }
  }

  /// Removes the file beside a store. One that is not there is no error.
  package static func remove(forStore store: URL) throws(Failure) {
    let url = url(forStore: store)
    guard unlink(url.path) != 0, errno != ENOENT else { return }
    throw Failure(
      .failed, code: "key-unwritable",
      "\(url.path) cannot be removed: \(String(cString: strerror(errno))).",
      suggestion: "remove it by hand")
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
