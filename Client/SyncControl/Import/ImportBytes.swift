import Foundation

/// The bytes that an import reads lines of: a plain file, of which a piece is in memory, or those of a pipe, which become such
/// a file as they come.
///
/// A file is read and not mapped: what was read of a mapped one counts as memory of the process, and one that gets shorter
/// meanwhile ends it.
final class ImportBytes {
  /// How much of a file is read at once; a line that is longer is in memory all the same.
  static let pieceBytes = 256 << 10

  private let file: FileHandle?
  /// Where the file's bytes come from, when they are still to come.
  private let pipe: ImportPipe?
  private let pieceBytes: Int
  /// The bytes from `start` on.
  private var piece: [UInt8]
  private var start = 0

  init(_ data: Data) {
    file = nil
    pipe = nil
    pieceBytes = 0
    piece = Array(data)
  }

  /// - Parameter file: A file that can be read at any place.
  init(_ file: FileHandle, pieceBytes: Int = ImportBytes.pieceBytes) {
    self.file = file
    pipe = nil
    self.pieceBytes = max(1, pieceBytes)
    piece = []
  }

  init(_ pipe: ImportPipe, pieceBytes: Int = ImportBytes.pieceBytes) {
    file = pipe.kept
    self.pipe = pipe
    self.pieceBytes = max(1, pieceBytes)
    piece = []
  }

  /// What lies before a place is not read again: of a pipe it is kept no longer.
  func forget(before place: Int) { pipe?.forget(before: place) }

  /// Whether a text begins with these bytes.
  func begins(with bytes: [UInt8]) throws(ReadFailure) -> Bool {
    if piece.count < bytes.count { try read(at: 0, count: max(pieceBytes, bytes.count)) }
    return start == 0 && piece.starts(with: bytes)
  }

  /// Whether nothing but the end of a line is behind a place.
  func isBlank(from place: Int) throws(ReadFailure) -> Bool {
    guard let rest = try bytes(at: place, count: 8) else { return false }
    return rest.count < 8 && rest.allSatisfy { $0 == 10 || $0 == 13 || $0 == 32 }
  }

  /// Bytes of a plain file; fewer where it ends before, and nil of a pipe, whose beginning is not kept.
  func bytes(at place: Int, count: Int) throws(ReadFailure) -> [UInt8]? {
    guard pipe == nil else { return nil }
    guard let file else { return Array(piece.dropFirst(place).prefix(count)) }
    var failure: ReadFailure?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { bytes, size in
      while size < count, let base = bytes.baseAddress {
        let got = pread(file.fileDescriptor, base + size, count - size, off_t(place + size))
        if got < 0, errno == EINTR { continue }
        if got < 0 { failure = ReadFailure(errno) }
        guard got > 0 else { return }
        size += got
      }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Hands over the bytes from a place up to the next line feed, or to the end; nil at the end.
  ///
  /// - Parameter bytesMax: A line that is longer is handed over as far as it was read.
  func withLine<Value>(
    at place: Int, bytesMax: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Value
  ) throws(ReadFailure) -> Value? {
    var isWhole = file == nil
    while true {
      let first = place - start
      if first >= 0, first < piece.count {
        let found: Value? = piece.withUnsafeBufferPointer { bytes in
          let rest = UnsafeBufferPointer(rebasing: bytes[first...])
          if let end = rest.firstLineFeed { return body(.init(rebasing: rest[..<end])) }
          return isWhole || rest.count > bytesMax ? body(rest) : nil
        }
        if let found { return found }
      } else if isWhole {
        return nil
      }
      let known = max(0, min(piece.count, piece.count - first))
      let wanted = first >= 0 && first < piece.count ? known * 2 : pieceBytes
      isWhole = try read(at: place, count: max(wanted, pieceBytes))
    }
  }

  /// Reads a piece of the file. True when the file ends with it.
  @discardableResult
  private func read(at place: Int, count: Int) throws(ReadFailure) -> Bool {
    guard let file else { return true }
    start = place
    var (filled, failure) = (0, nil as ReadFailure?)
    // What a pipe has brought is read, and what is still to come is waited for no longer than a line needs.
    var isReady = false
    piece = [UInt8](unsafeUninitializedCapacity: count) { bytes, size in
      while filled < count, !isReady, let base = bytes.baseAddress {
        let offset = off_t(place + filled) - (pipe?.base ?? 0)
        let got = pread(file.fileDescriptor, base + filled, count - filled, offset)
        if got < 0, errno == EINTR { continue }
        if got < 0 {
          failure = ReadFailure(errno)
          break
        }
        if pipe != nil, got > 0, memchr(base + filled, 0x0A, got) != nil { isReady = true }
        filled += got
        guard got == 0 else { continue }
        do throws(ReadFailure) {
          guard let pipe, try pipe.more() else { break }
        } catch {
          failure = error
          break
        }
      }
      size = filled
    }
    if let failure { throw failure }
    return filled < count && !isReady
  }

  /// The file's bytes cannot be had.
  struct ReadFailure: Error {
    var reason: String
    /// Somebody does not want it to go on.
    var isInterrupted = false

    init(_ error: Int32) { reason = String(cString: strerror(error)) }

    init(isInterrupted: Bool) {
      reason = "it was interrupted"
      self.isInterrupted = isInterrupted
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// The place of the first line feed.
  fileprivate var firstLineFeed: Int? {
    guard let base = baseAddress, let found = memchr(base, 0x0A, count) else { return nil }
    return UnsafeRawPointer(found) - UnsafeRawPointer(base)
  }
}
