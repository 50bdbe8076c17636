/// Walks over the fields of one protobuf message without decoding them, to count what a decoder
/// would allocate before it does.
struct ProtobufFields {
  private let bytes: UnsafeRawBufferPointer
  private var position: Int
  private let end: Int
  /// The bytes are no message: the walk stopped there.
  private(set) var isMalformed = false

  init(_ bytes: UnsafeRawBufferPointer, range: Range<Int>? = nil) {
    self.bytes = bytes
    position = range?.lowerBound ?? 0
    end = range?.upperBound ?? bytes.count
  }

  /// The next length-delimited field; nil at the end.
  mutating func next() -> (number: UInt64, payload: Range<Int>)? {
    while position < end {
      // Field numbers begin at 1, and a tag has 32 bits.
      guard let tag = varint(), tag >> 3 > 0, tag <= UInt32.max else { return stop() }
      switch tag & 7 {
      case 0:
        guard varint() != nil else { return stop() }
      case 1:
        guard skip(8) else { return stop() }
      case 2:
        let length = varint() ?? .max
        guard length <= UInt64(end - position) else { return stop() }
        let start = position
        position += Int(length)
        return (tag >> 3, start..<position)
      case 5:
        guard skip(4) else { return stop() }
      default:
        return stop()
      }
    }
    return nil
  }

  private mutating func stop() -> (number: UInt64, payload: Range<Int>)? {
    isMalformed = true
    position = end
    return nil
  }

  private mutating func skip(_ count: Int) -> Bool {
    guard end - position >= count else { return false }
    position += count
    return true
  }

  private mutating func varint() -> UInt64? {
    var number: UInt64 = 0
    var shift: UInt64 = 0
    while position < end, shift < 64 {
      let byte = bytes[position]
      position += 1
      number |= UInt64(byte & 127) << shift
      if byte < 128 { return number }
      shift += 7
    }
    return nil
  }
}
