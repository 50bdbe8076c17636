import Foundation

/// The bytes that an import reads lines of: those of a pipe, which are in memory, or a plain file, of which a piece is.
///
/// A file is read and not mapped: what was read of a mapped one counts as memory of the process, and one that gets shorter
/// meanwhile ends it.
final class ImportBytes {
  /// How much of a file is read at once; a line that is longer is in memory all the same.
  static let pieceBytes = 256 << 10

  private let file: FileHandle?
  private let pieceBytes: Int
  /// The bytes from `start` on.
  private var piece: [UInt8]
  private var start = 0

  init(_ data: Data) {
    file = nil
    pieceBytes = 0
    piece = Array(data)
  }

  /// - Parameter file: A file that can be read at any place.
  init(_ file: FileHandle, pieceBytes: Int = ImportBytes.pieceBytes) {
    self.file = file
    self.pieceBytes = max(1, pieceBytes)
    piece = []
  }

  /// Whether a text begins with these bytes.
  func begins(with bytes: [UInt8]) throws(ReadFailure) -> Bool {
    if piece.count < bytes.count { try read(at: 0, count: max(pieceBytes, bytes.count)) }
    return start == 0 && piece.starts(with: bytes)
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
    var (filled, failure) = (0, Int32(0))
    piece = [UInt8](unsafeUninitializedCapacity: count) { bytes, size in
      while filled < count, let base = bytes.baseAddress {
        let got = pread(file.fileDescriptor, base + filled, count - filled, off_t(place + filled))
        if got < 0, errno == EINTR { continue }
        if got < 0 { failure = errno }
        if got <= 0 { break }
        filled += got
      }
      size = filled
    }
    guard failure == 0 else { throw ReadFailure(reason: String(cString: strerror(failure))) }
    return filled < count
  }

  /// The file's bytes cannot be had.
  struct ReadFailure: Error { var reason: String }
}

extension UnsafeBufferPointer<UInt8> {
  /// The place of the first line feed.
  fileprivate var firstLineFeed: Int? {
    guard let base = baseAddress, let found = memchr(base, 0x0A, count) else { return nil }
    return UnsafeRawPointer(found) - UnsafeRawPointer(base)
  }
}
