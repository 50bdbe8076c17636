import CZlib

/// Makes a zlib stream of bytes that come piece by piece: the same stream as of all at once.
final class Deflater {
  // zlib notes where its state lies: it must not move.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  /// What came so far. Bytes.
  private(set) var inputCount = 0
  /// What is made so far. Bytes.
  private(set) var outputCount = 0
  /// The stream in pieces: one that grows would be copied as it does.
  private(set) var pieces: [[UInt8]] = []
  private var piece = [UInt8](repeating: 0, count: Deflater.firstPieceBytes)
  private var filled = 0
  private var isBroken: Bool
  /// Most change sets are a few edits.
  private static let firstPieceBytes = 4 << 10
  private static let pieceBytes = 256 << 10
  /// zlib counts its input in 32 bits.
  private static let inputBytesMax = 1 << 30

  init(level: Int32) {
    stream.initialize(to: z_stream())
    isBroken = driftless_deflate_init(stream, level) != Z_OK
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }

  func append(_ bytes: UnsafeRawBufferPointer) {
    inputCount += bytes.count
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = rest.prefix(Self.inputBytesMax)
      rest = rest.dropFirst(part.count)
      run(UnsafeRawBufferPointer(rebasing: part), Z_NO_FLUSH)
    }
  }

  /// Ends the stream.
  ///
  /// - Returns: Whether zlib could make it.
  func finish() -> Bool {
    run(UnsafeRawBufferPointer(start: nil, count: 0), Z_FINISH)
    pieces.append(Array(piece.prefix(filled)))
    piece = []
    filled = 0
    return !isBroken
  }

  private func run(_ bytes: UnsafeRawBufferPointer, _ flush: Int32) {
    guard !isBroken else { return }
    // zlib does not write to its input.
    stream.pointee.next_in = UnsafeMutablePointer(
      mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = uInt(bytes.count)
    var status = Z_OK
    repeat {
      if filled == piece.count {
        pieces.append(piece)
        piece = [UInt8](repeating: 0, count: Self.pieceBytes)
        filled = 0
      }
      let room = piece.count - filled
      piece.withUnsafeMutableBufferPointer { buffer in
        stream.pointee.next_out = buffer.baseAddress.map { $0 + filled }
        stream.pointee.avail_out = uInt(room)
        status = deflate(stream, flush)
      }
      let made = room - Int(stream.pointee.avail_out)
      filled += made
      outputCount += made
      isBroken = status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR
    } while !isBroken && stream.pointee.avail_out == 0
    if flush == Z_FINISH, status != Z_STREAM_END { isBroken = true }
  }
}
