import Foundation

/// 16 bytes as two words: what digests are kept in.
struct SixteenBytes: Hashable, Sendable {
  static let size = 16

  private let high: UInt64
  private let low: UInt64

  private init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// - Parameter bytes: 16 of them; any other number gives nil.
  init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == Self.size else { return nil }
    self.init(prefixOf: bytes)
  }

  /// - Parameter bytes: At least 16, of which the first 16 count.
  init(prefixOf bytes: some Sequence<UInt8>) {
    // A chain is made of each entry of a log: bytes that lie together are read as the two words that they are.
    let here = bytes.withContiguousStorageIfAvailable { bytes -> SixteenBytes? in
      let bytes = UnsafeRawBufferPointer(bytes)
      guard bytes.count >= Self.size else { return nil }
      return SixteenBytes(
        high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
        low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
    if let here = here ?? nil {
      self = here
      return
    }
    var words: (UInt64, UInt64) = (0, 0)
    for (place, byte) in bytes.prefix(Self.size).enumerated() {
      if place < 8 {
        words.0 = words.0 << 8 | UInt64(byte)
      } else {
        words.1 = words.1 << 8 | UInt64(byte)
      }
    }
    (high, low) = words
  }

  /// - Parameter hexadecimal: 32 digits; anything else gives nil.
  init?(hexadecimal: String) {
    guard hexadecimal.utf8.count == 2 * Self.size,
      hexadecimal.utf8.allSatisfy({ UInt8(ascii: "0") <= $0 }),
      let high = UInt64(hexadecimal.prefix(16), radix: 16),
      let low = UInt64(hexadecimal.suffix(16), radix: 16)
    else { return nil }
    self.high = high
    self.low = low
  }

  func append(to data: inout Data) {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { data.append(contentsOf: $0) }
  }

  var data: Data {
    var data = Data(capacity: Self.size)
    append(to: &data)
    return data
  }

  var hexadecimal: String {
    [high, low].map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// - Parameter name: What the error calls it: `A chain`.
  init(from decoder: any Decoder, as name: String) throws {
    let container = try decoder.singleValueContainer()
    guard let bytes = SixteenBytes(hexadecimal: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\(name) is 32 hexadecimal digits")
    }
    self = bytes
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(hexadecimal)
  }
}
