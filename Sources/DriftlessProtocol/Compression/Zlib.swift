import CZlib

/// zlib streams in memory, bounded.
enum Zlib {
  /// Inflates a stream that must give exactly `size` bytes and be used up.
  static func inflate(
    _ input: UnsafeRawBufferPointer, size: Int
  ) throws(ProtocolError) -> [UInt8] {
    var length = uLongf(size)
    var used = uLong(input.count)
    var status = Z_OK
    let output = [UInt8](capacity: size) { buffer, count in
      status = uncompress2(
        buffer.baseAddress, &length, input.bindMemory(to: UInt8.self).baseAddress, &used)
      count = status == Z_OK ? Int(length) : 0
    }
    guard status == Z_OK, output.count == size, Int(used) == input.count else {
      throw .damaged("A section does not inflate to the length that the header says")
    }
    return output
  }

  /// - Parameter before: The checksum of what stands before them.
  static func crc32(of bytes: [UInt8], after before: UInt32 = 0) -> UInt32 {
    UInt32(truncatingIfNeeded: CZlib.crc32(uLong(before), bytes, uInt(bytes.count)))
  }
}
