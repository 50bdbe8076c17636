/// Appends fixed-width little-endian numbers.
struct ByteWriter {
  private(set) var bytes: [UInt8] = []

  init(capacity: Int) { bytes.reserveCapacity(capacity) }

  mutating func append(_ number: some FixedWidthInteger) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func append(contentsOf bytes: some Sequence<UInt8>) {
    self.bytes.append(contentsOf: bytes)
  }
}
