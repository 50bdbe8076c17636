import Driftless
import Foundation
import Glibc

/// The small files beside a store: read as they are when they are open, and written whole or not at all.
enum SideFile {
  /// Why nothing was read.
  enum Problem {
    /// `errno`.
    case cannotOpen(Int32)
    case isNotPlain
    case cannotRead

    /// In words that go on after a colon.
    var reason: String {
      switch self {
      case .cannotOpen(let number): String(cString: strerror(number))
      case .isNotPlain: "it is no plain file"
      case .cannotRead: "reading it failed"
      }
    }
  }

  /// What one holds, and who may read it.
  struct Content {
    let data: Data
    private let mode: mode_t

    init(_ data: Data, mode: mode_t) {
      self.data = data
      self.mode = mode & 0o777
    }

    var text: String { String(decoding: data, as: UTF8.self) }
    var isForOwnerAlone: Bool { mode & 0o077 == 0 }
    /// As `chmod` takes it.
    var modeText: String { String(mode, radix: 8) }
  }

  /// The file, where something of that name is there.
  static func kept(_ url: URL) -> URL? {
    var status = stat()
    return lstat(url.path, &status) == 0 ? url : nil
  }

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - bytesMax: At most so many bytes are read.
  ///   - failure: The error for what is wrong.
  static func read(
    _ url: URL, bytesMax: Int, failure: (Problem) -> Failure
  ) throws(Failure) -> Content {
    guard let content = try readIfThere(url, bytesMax: bytesMax, failure: failure) else {
      throw failure(.cannotOpen(ENOENT))
    }
    return content
  }

  /// As `read`; nil when there is no file.
  static func readIfThere(
    _ url: URL, bytesMax: Int, failure: (Problem) -> Failure
  ) throws(Failure) -> Content? {
    // A pipe would be waited for without end.
    let descriptor = open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      let reason = errno
      if reason == EMFILE || reason == ENFILE { throw .noFileLeft(for: url.path) }
      if reason == ENOENT { return nil }
      throw failure(.cannotOpen(reason))
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    // The open file is looked at, not the path: nobody can swap it in between.
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw failure(.isNotPlain)
    }
    // Nothing is nil here, and no error.
    guard let data = try? file.read(upToCount: bytesMax) ?? Data() else {
      throw failure(.cannotRead)
    }
    return Content(data, mode: status.st_mode)
  }

  /// Writes a new file for the store's owner alone, and moves it into place when it is on the disk.
  static func put(
    _ text: String, at url: URL, beside store: String, failure: (String) -> Failure
  ) throws(Failure) {
    let temporary = "\(url.path).\(getpid())"
    unlink(temporary)
    let descriptor = StoreSideFile.create(temporary, beside: store)
    guard descriptor >= 0 else { throw failure(String(cString: strerror(errno))) }
    var rest = Array(text.utf8)[...]
    var reason: Int32 = 0
    while reason == 0, !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { reason = count < 0 ? errno : EIO } else { rest = rest.dropFirst(count) }
    }
    if reason == 0, fsync(descriptor) != 0 { reason = errno }
    close(descriptor)
    if reason == 0, rename(temporary, url.path) != 0 { reason = errno }
    guard reason == 0 else {
      unlink(temporary)
      throw failure(String(cString: strerror(reason)))
    }
    // The name lasts once the folder is written; one that may not be read is written all the same, later.
    let folder = open(url.deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
    guard folder >= 0 else { return }
    fsync(folder)
    close(folder)
  }

  /// Removes a file. One that is not there is no error.
  static func remove(_ url: URL, failure: (String) -> Failure) throws(Failure) {
    guard unlink(url.path) != 0, errno != ENOENT else { return }
    throw failure(String(cString: strerror(errno)))
  }
}
