/// The lines of a file that are not blank, read one at a time.
struct LineReader {
  /// A line is held whole; one that is longer is no import line.
  static let lineBytesMax = 256 << 20

  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0
  private var number = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
    // Some editors begin a file with a byte order mark.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
  }

  mutating func next() throws(ImportError) -> ImportLine? {
    while position < bytes.count {
      let start = position
      while position < bytes.count, bytes[position] != 0x0A { position += 1 }
      let line = UnsafeBufferPointer(rebasing: bytes[start..<position])
      position += 1
      number += 1
      if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
      guard line.count <= Self.lineBytesMax else {
        throw ImportError(line: number, "longer than \(Self.lineBytesMax) bytes")
      }
      return try ImportLine(line, number: number)
    }
    return nil
  }
}
