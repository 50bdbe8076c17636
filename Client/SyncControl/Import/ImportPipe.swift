import Foundation
import Glibc
import SyncDaemon

/// What a pipe brings, in a file that has no name: an import may have to read a transaction twice. What was saved of it is
/// given back to the file system.
final class ImportPipe {
  let kept: FileHandle
  private let source: FileHandle
  private let isInterrupted: @Sendable () -> Bool
  /// How much came.
  private var bytes: off_t = 0
  /// Where the file begins in what came.
  private(set) var base: off_t = 0
  private var forgotten: off_t = 0
  private var buffer = [UInt8](repeating: 0, count: 64 << 10)

  /// - Parameters:
  ///   - source: What is read, to its end.
  ///   - isInterrupted: Asked while nothing comes.
  /// - Throws: `Failure` where no file can be made.
  init(_ source: FileHandle, isInterrupted: @escaping @Sendable () -> Bool) throws(Failure) {
    self.source = source
    self.isInterrupted = isInterrupted
    let folder = FileManager.default.temporaryDirectory.path
    var path = Array("\(folder)/syncctl-import-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    guard file >= 0 else {
      throw Failure(
        .failed, code: "no-folder",
        "No file can be made in \(folder) for what the pipe brings: \(String(cString: strerror(errno))).",
        suggestion: "name a folder that this user may write: TMPDIR=DIR syncctl import …")
    }
    _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    unlink(path)
    kept = FileHandle(fileDescriptor: file, closeOnDealloc: true)
  }

  /// Waits for more, and keeps it. False at the end.
  func more() throws(ImportBytes.ReadFailure) -> Bool {
    while true {
      var waiting = pollfd(fd: source.fileDescriptor, events: Int16(POLLIN), revents: 0)
      let isReady = poll(&waiting, 1, Self.lookMilliseconds) > 0
      if isInterrupted() { throw ImportBytes.ReadFailure(isInterrupted: true) }
      guard isReady else { continue }
      let count = Glibc.read(source.fileDescriptor, &buffer, buffer.count)
      if count == 0 { return false }
      guard count > 0 else {
        if errno == EINTR || errno == EAGAIN { continue }
        throw ImportBytes.ReadFailure(errno)
      }
      try keep(count)
      return true
    }
  }

  private func keep(_ count: Int) throws(ImportBytes.ReadFailure) {
    var written = 0
    while written < count {
      let more = buffer.withUnsafeBytes { buffer in
        buffer.baseAddress.map {
          pwrite(kept.fileDescriptor, $0 + written, count - written, bytes - base + off_t(written))
        } ?? -1
      }
      if more < 0, errno == EINTR { continue }
      guard more > 0 else { throw ImportBytes.ReadFailure(errno) }
      written += more
    }
    bytes += off_t(count)
    try compact()
  }

  /// What lies before a place is not read again.
  func forget(before place: Int) { forgotten = off_t(place) }

  /// Makes room: what is still to be read goes to the beginning of the file, where that is little.
  private func compact() throws(ImportBytes.ReadFailure) {
    let rest = Int(bytes - forgotten)
    guard forgotten - base >= Self.forgottenBytesMin, rest <= Self.movedBytesMax else { return }
    var moved = [UInt8](repeating: 0, count: rest)
    guard rest == 0 || pread(kept.fileDescriptor, &moved, rest, forgotten - base) == rest,
      ftruncate(kept.fileDescriptor, 0) == 0,
      rest == 0 || pwrite(kept.fileDescriptor, moved, rest, 0) == rest
    else { throw ImportBytes.ReadFailure(errno) }
    base = forgotten
  }

  private static let forgottenBytesMin: off_t = 1 << 20
  private static let movedBytesMax = 1 << 20
  private static let lookMilliseconds: Int32 = 200
}
