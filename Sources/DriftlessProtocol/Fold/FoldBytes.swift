import Foundation

/// Writes the records of a fold.
struct FoldBytes {
  var bytes: [UInt8] = []

  mutating func append(varint number: UInt64) {
    var rest = number
    while rest > 127 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func append(_ number: UInt64) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func append(_ identity: UUID) {
    withUnsafeBytes(of: identity.uuid) { bytes.append(contentsOf: $0) }
  }

  /// Bytes with their count before them.
  mutating func append(block: some Collection<UInt8>) {
    append(varint: UInt64(block.count))
    bytes.append(contentsOf: block)
  }
}

/// Reads the records of a fold; never beyond their end.
struct FoldScanner {
  private let bytes: [UInt8]
  private(set) var position: Int
  private let end: Int

  init(_ bytes: [UInt8]) { self.init(bytes, 0..<bytes.count) }

  /// - Parameter range: Within the bytes.
  init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    position = range.lowerBound
    end = range.upperBound
  }

  var isAtEnd: Bool { position >= end }

  mutating func nextByte() throws(ProtocolError) -> UInt8 {
    guard position < end else { throw .damagedFold }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func nextVarint() throws(ProtocolError) -> UInt64 {
    var number: UInt64 = 0
    var shift: UInt64 = 0
    while shift < 64 {
      let byte = try nextByte()
      number |= UInt64(byte & 127) << shift
      if byte < 128 { return number }
      shift += 7
    }
    throw .damagedFold
  }

  /// A varint that counts what is in memory.
  mutating func nextCount() throws(ProtocolError) -> Int {
    let count = try nextVarint()
    guard count <= UInt64(end) else { throw .damagedFold }
    return Int(count)
  }

  mutating func nextPlace() throws(ProtocolError) -> UInt32 {
    guard let place = UInt32(exactly: try nextVarint()) else { throw .damagedFold }
    return place
  }

  mutating func nextNumber() throws(ProtocolError) -> UInt64 {
    let bytes = try next(8)
    return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  mutating func nextUUID() throws(ProtocolError) -> UUID { UUID(bytes: try next(16)) }

  mutating func nextBlock() throws(ProtocolError) -> [UInt8] { Array(try next(try nextCount())) }

  mutating func next(_ count: Int) throws(ProtocolError) -> ArraySlice<UInt8> {
    guard count >= 0, end - position >= count else { throw .damagedFold }
    defer { position += count }
    return bytes[position..<position + count]
  }
}
