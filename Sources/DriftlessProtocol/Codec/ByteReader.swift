/// Reads fixed-width little-endian numbers; never beyond the end.
struct ByteReader {
  private let bytes: [UInt8]
  private(set) var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func next<Number: FixedWidthInteger>(
    _ type: Number.Type
  ) throws(ProtocolError) -> Number {
    let size = Number.bitWidth / 8
    guard bytes.count - position >= size else { throw .damaged("The bytes end too early") }
    let number = bytes.withUnsafeBytes {
      Number(littleEndian: $0.loadUnaligned(fromByteOffset: position, as: Number.self))
    }
    position += size
    return number
  }

  mutating func next(count: Int) throws(ProtocolError) -> ArraySlice<UInt8> {
    guard count >= 0, bytes.count - position >= count else {
      throw .damaged("The bytes end too early")
    }
    defer { position += count }
    return bytes[position..<position + count]
  }
}
