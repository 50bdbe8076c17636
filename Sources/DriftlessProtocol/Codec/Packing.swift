import Foundation

/// The packings of numbers in `ChangeSet.proto`: varints, zigzag, deltas, bits.
///
/// Reading gives nil when the bytes are not exactly `count` numbers; memory is taken only after the
/// count was found to fit the bytes.
enum Packing {
  @inline(__always)
  static func size(ofVarint number: UInt64) -> Int {
    ((64 &- (number | 1).leadingZeroBitCount) &* 9 &+ 64) >> 6
  }

  @inline(__always)
  static func zigzag(_ number: Int64) -> UInt64 {
    UInt64(bitPattern: (number << 1) ^ (number >> 63))
  }

  @inline(__always)
  static func unzigzag(_ number: UInt64) -> Int64 {
    Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
  }

  // MARK: - Writing

  /// Varints of `count` numbers.
  @inline(__always)
  static func varints(count: Int, _ number: (Int) -> UInt64) -> Data {
    var size = 0
    for place in 0..<count { size &+= Self.size(ofVarint: number(place)) }
    guard size > 0 else { return Data() }
    var data = Data(count: size)
    data.withUnsafeMutableBytes { (bytes: UnsafeMutableRawBufferPointer) in
      var position = 0
      for place in 0..<count {
        var rest = number(place)
        while rest > 127 {
          bytes[position] = UInt8(truncatingIfNeeded: rest) | 128
          position &+= 1
          rest >>= 7
        }
        bytes[position] = UInt8(truncatingIfNeeded: rest)
        position &+= 1
      }
    }
    return data
  }

  static func zigzags(_ numbers: [Int64]) -> Data {
    numbers.withUnsafeBufferPointer { numbers in
      varints(count: numbers.count) { zigzag(numbers[$0]) }
    }
  }

  static func deltas(_ numbers: [Int64]) -> Data {
    numbers.withUnsafeBufferPointer { numbers in
      varints(count: numbers.count) {
        zigzag($0 == 0 ? numbers[0] : numbers[$0] &- numbers[$0 &- 1])
      }
    }
  }

  /// Whether deltas take fewer bytes than the numbers themselves.
  static func deltasAreShorter(_ numbers: [Int64]) -> Bool {
    var previous: Int64 = 0
    var gain = 0
    for number in numbers {
      gain &+= size(ofVarint: zigzag(number)) &- size(ofVarint: zigzag(number &- previous))
      previous = number
    }
    return gain > 0
  }

  // MARK: - Reading

  /// Calls `body` with each of exactly `count` numbers; false when the bytes are something else, or
  /// when `body` says so.
  @inline(__always)
  static func readVarints(
    _ data: Data, count: Int, _ body: (_ place: Int, _ number: UInt64) -> Bool
  ) -> Bool {
    guard count >= 0, count <= data.count else { return false }
    return data.withUnsafeBytes { bytes in
      var position = 0
      for place in 0..<count {
        guard let number = next(bytes, &position), body(place, number) else { return false }
      }
      return position == bytes.count
    }
  }

  static func readZigzags(_ data: Data, count: Int) -> [Int64]? {
    numbers(data, count: count) { $0 }
  }

  static func readDeltas(_ data: Data, count: Int) -> [Int64]? {
    var previous: Int64 = 0
    return numbers(data, count: count) {
      previous &+= $0
      return previous
    }
  }

  /// All numbers of a field whose count nothing else tells.
  static func readAllVarints(_ data: Data, countMax: Int) -> [UInt64]? {
    let count = count(of: data)
    guard count <= countMax else { return nil }
    return data.withUnsafeBytes { bytes in
      var numbers: [UInt64] = []
      numbers.reserveCapacity(count)
      var position = 0
      while position < bytes.count {
        guard let number = next(bytes, &position) else { return nil }
        numbers.append(number)
      }
      return numbers
    }
  }

  @inline(__always)
  private static func numbers(
    _ data: Data, count: Int, _ transform: (Int64) -> Int64
  ) -> [Int64]? {
    guard count >= 0, count <= data.count else { return nil }
    var isWhole = false
    let numbers = [Int64](capacity: count) { buffer, initialized in
      data.withUnsafeBytes { bytes in
        var position = 0
        while initialized < count, let number = next(bytes, &position) {
          buffer[initialized] = transform(unzigzag(number))
          initialized &+= 1
        }
        isWhole = initialized == count && position == bytes.count
      }
    }
    return isWhole ? numbers : nil
  }

  @inline(__always)
  private static func next(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> UInt64? {
    guard position < bytes.count else { return nil }
    let first = bytes[position]
    position &+= 1
    if first < 128 { return UInt64(first) }
    var number = UInt64(first & 127)
    var shift: UInt64 = 7
    while position < bytes.count {
      let byte = bytes[position]
      position &+= 1
      number |= UInt64(byte & 127) << shift
      if byte < 128 { return shift < 63 || byte <= 1 ? number : nil }
      shift &+= 7
      if shift > 63 { return nil }
    }
    return nil
  }

  // MARK: - Bits

  static func bits(_ flags: [Bool]) -> Data {
    var data = Data(count: (flags.count + 7) / 8)
    data.withUnsafeMutableBytes { (bytes: UnsafeMutableRawBufferPointer) in
      for (place, flag) in flags.enumerated() where flag {
        bytes[place >> 3] |= 1 << UInt8(place & 7)
      }
    }
    return data
  }

  static func readBits(_ data: Data, count: Int) -> [Bool]? {
    guard data.count == (count + 7) / 8 else { return nil }
    return data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) -> [Bool] in
      [Bool](capacity: count) { buffer, initialized in
        for place in 0..<count {
          buffer[place] = bytes[place >> 3] & (1 << UInt8(place & 7)) != 0
        }
        initialized = count
      }
    }
  }
}
