import Foundation

/// Undoes raw deflate (RFC 1951), as Core Data packs the model in `Z_MODELCACHE`.
///
/// The bytes come from a file that anybody may have made: whatever they are, the answer is the unpacked bytes or nil,
/// and never more than `bytesMax`.
struct Inflate {
  private let input: [UInt8]
  private var position = 0
  private var bits: UInt32 = 0
  private var bitCount = 0
  private var output: [UInt8] = []
  private let bytesMax: Int

  private struct Damaged: Error {}

  static func unpack(_ data: Data, bytesMax: Int = 64 << 20) -> Data? {
    var inflate = Inflate(input: [UInt8](data), bytesMax: bytesMax)
    return (try? inflate.run()).map { Data($0) }
  }

  private init(input: [UInt8], bytesMax: Int) {
    self.input = input
    self.bytesMax = bytesMax
  }

  private mutating func run() throws -> [UInt8] {
    var isLast = false
    while !isLast {
      isLast = try take(1) == 1
      switch try take(2) {
      case 0: try stored()
      case 1: try block(literals: Self.fixedLiterals, distances: Self.fixedDistances)
      case 2: try dynamicBlock()
      default: throw Damaged()
      }
    }
    return output
  }

  private mutating func take(_ count: Int) throws -> Int {
    while bitCount < count {
      guard position < input.count else { throw Damaged() }
      bits |= UInt32(input[position]) << UInt32(bitCount)
      position += 1
      bitCount += 8
    }
    defer {
      bits >>= UInt32(count)
      bitCount -= count
    }
    return Int(bits & (1 << UInt32(count) - 1))
  }

  private mutating func append(_ byte: UInt8) throws {
    guard output.count < bytesMax else { throw Damaged() }
    output.append(byte)
  }

  private mutating func stored() throws {
    bits = 0
    bitCount = 0
    let count = try take(16)
    guard try take(16) == count ^ 0xffff, position + count <= input.count else { throw Damaged() }
    for byte in input[position..<position + count] { try append(byte) }
    position += count
  }

  private mutating func dynamicBlock() throws {
    let literalCount = try take(5) + 257
    let distanceCount = try take(5) + 1
    let orderCount = try take(4) + 4
    var orderLengths = [Int](repeating: 0, count: 19)
    for place in Self.order.prefix(orderCount) { orderLengths[place] = try take(3) }
    let codes = Codes(orderLengths)
    var lengths: [Int] = []
    while lengths.count < literalCount + distanceCount {
      let symbol = try symbol(codes)
      switch symbol {
      case 0...15: lengths.append(symbol)
      case 16:
        guard let last = lengths.last else { throw Damaged() }
        lengths += [Int](repeating: last, count: try take(2) + 3)
      case 17: lengths += [Int](repeating: 0, count: try take(3) + 3)
      default: lengths += [Int](repeating: 0, count: try take(7) + 11)
      }
    }
    guard lengths.count == literalCount + distanceCount else { throw Damaged() }
    try block(
      literals: Codes(Array(lengths[..<literalCount])),
      distances: Codes(Array(lengths[literalCount...])))
  }

  private mutating func block(literals: Codes, distances: Codes) throws {
    while true {
      let symbol = try symbol(literals)
      if symbol < 256 {
        try append(UInt8(symbol))
        continue
      }
      if symbol == 256 { return }
      guard symbol - 257 < Self.lengthBases.count else { throw Damaged() }
      let length = Self.lengthBases[symbol - 257] + (try take(Self.lengthBits[symbol - 257]))
      let code = try self.symbol(distances)
      guard code < Self.distanceBases.count else { throw Damaged() }
      let distance = Self.distanceBases[code] + (try take(Self.distanceBits[code]))
      guard distance <= output.count else { throw Damaged() }
      for _ in 0..<length { try append(output[output.count - distance]) }
    }
  }

  /// A canonical Huffman code: how many symbols each length has, and the symbols in the order of their codes.
  private struct Codes {
    var counts = [Int](repeating: 0, count: 16)
    var symbols: [Int] = []

    init(_ lengths: [Int]) {
      for length in lengths where length > 0 { counts[length] += 1 }
      for length in 1...15 {
        for (symbol, own) in lengths.enumerated() where own == length { symbols.append(symbol) }
      }
    }
  }

  private mutating func symbol(_ codes: Codes) throws -> Int {
    var code = 0
    var first = 0
    var index = 0
    for length in 1...15 {
      code |= try take(1)
      let count = codes.counts[length]
      if code - count < first {
        guard index + code - first < codes.symbols.count, code >= first else { throw Damaged() }
        return codes.symbols[index + code - first]
      }
      index += count
      first = (first + count) << 1
      code <<= 1
    }
    throw Damaged()
  }

  private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
  private static let lengthBits = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
  ]
  private static let lengthBases = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258,
  ]
  private static let distanceBits = (0..<30).map { max(0, $0 / 2 - 1) }
  private static let distanceBases = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049,
    3073, 4097, 6145, 8193, 12289, 16385, 24577,
  ]
  private static let fixedLiterals = Codes(
    (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
  private static let fixedDistances = Codes([Int](repeating: 5, count: 30))
}
