package import Foundation

// Bytes of numbers and identities, as files have them, read and written where they lie.

extension UUID {
  /// The UUID of 16 bytes in network order; nil for another count.
  package init?(networkBytes bytes: Data) {
    guard bytes.count == 16 else { return nil }
    self.init(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
  }

  /// The 16 bytes, in network order.
  package var networkBytes: Data { withUnsafeBytes(of: uuid) { Data($0) } }

  /// Lends the 16 bytes.
  @inline(__always)
  func withNetworkBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try withUnsafeBytes(of: uuid, body)
  }
}

extension FixedWidthInteger {
  /// The bytes, the lowest first.
  package var littleEndianBytes: [UInt8] { Swift.withUnsafeBytes(of: littleEndian) { Array($0) } }
}

extension RangeReplaceableCollection where Element == UInt8 {
  /// Appends the bytes of a number, the lowest first.
  package mutating func append(littleEndian number: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }
}

extension Data {
  /// The numbers of eight bytes each, the lowest byte first; what is left over at the end is none.
  package var littleEndianNumbers: [UInt64] {
    withUnsafeBytes { bytes in
      (0..<bytes.count / 8).map {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self))
      }
    }
  }

  /// How often it has a byte.
  package func count(of byte: UInt8) -> Int {
    withUnsafeBytes { bytes in bytes.reduce(0) { $0 + ($1 == byte ? 1 : 0) } }
  }
}
