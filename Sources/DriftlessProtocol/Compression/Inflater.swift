import CZlib

/// Inflates a zlib stream piece by piece, as its bytes are asked for.
final class Inflater {
  // zlib notes where its state lies: it must not move.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private var status: Int32
  private static let inputBytesMax = Int(Int32.max)

  /// - Parameter input: Stays where it is as long as this is used.
  init(_ input: UnsafeRawBufferPointer) {
    stream.initialize(to: z_stream())
    status = driftless_inflate_init(stream)
    if input.count > Self.inputBytesMax { status = Z_DATA_ERROR }
    // zlib does not write to its input.
    stream.pointee.next_in = UnsafeMutablePointer(
      mutating: input.bindMemory(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = uInt(clamping: input.count)
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Fills the buffer.
  ///
  /// - Returns: How many bytes there were; fewer than asked for where the stream ends or is damaged.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard status == Z_OK, !buffer.isEmpty else { return 0 }
    stream.pointee.next_out = buffer.bindMemory(to: UInt8.self).baseAddress
    stream.pointee.avail_out = uInt(clamping: buffer.count)
    while status == Z_OK, stream.pointee.avail_out > 0 { status = inflate(stream, Z_NO_FLUSH) }
    return buffer.count - Int(stream.pointee.avail_out)
  }

  /// Whether the stream is whole, all of it was read, and nothing stands behind it.
  var isAtEnd: Bool {
    if status == Z_OK {
      var byte: UInt8 = 0
      guard withUnsafeMutableBytes(of: &byte, { read(into: $0) }) == 0 else { return false }
    }
    return status == Z_STREAM_END && stream.pointee.avail_in == 0
  }
}
