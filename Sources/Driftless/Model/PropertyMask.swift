/// A set of property slots: a word for the first 64, an array for what lies above.
package struct PropertyMask: Hashable, Sendable {
  private var low: UInt64 = 0
  private var high: [UInt64] = []

  package init() {}

  package init(_ indexes: some Sequence<Int>) {
    for index in indexes { insert(index) }
  }

  /// The slots `0 ..< count`.
  package init(all count: Int) { self.init(0..<count) }

  package var isEmpty: Bool { low == 0 && high.allSatisfy { $0 == 0 } }

  package var count: Int { high.reduce(low.nonzeroBitCount) { $0 + $1.nonzeroBitCount } }

  @inline(__always)
  package func contains(_ index: Int) -> Bool {
    if index < 64 { return low & (1 << UInt64(index)) != 0 }
    let word = index / 64 - 1
    return word < high.count && high[word] & (1 << UInt64(index % 64)) != 0
  }

  @inline(__always)
  package mutating func insert(_ index: Int) {
    assert(index >= 0)
    if index < 64 {
      low |= 1 << UInt64(index)
    } else {
      let word = index / 64 - 1
      while high.count <= word { high.append(0) }
      high[word] |= 1 << UInt64(index % 64)
    }
  }

  package mutating func remove(_ index: Int) {
    if index < 64 {
      low &= ~(1 << UInt64(index))
    } else if index / 64 - 1 < high.count {
      high[index / 64 - 1] &= ~(1 << UInt64(index % 64))
      trim()
    }
  }

  package func intersects(_ other: PropertyMask) -> Bool {
    var common = self
    common.formIntersection(other)
    return !common.isEmpty
  }

  package mutating func formUnion(_ other: PropertyMask) {
    low |= other.low
    while high.count < other.high.count { high.append(0) }
    for (word, bits) in other.high.enumerated() { high[word] |= bits }
  }

  package mutating func subtract(_ other: PropertyMask) {
    low &= ~other.low
    for (word, bits) in other.high.enumerated() where word < high.count { high[word] &= ~bits }
    trim()
  }

  package mutating func formIntersection(_ other: PropertyMask) {
    low &= other.low
    for word in high.indices { high[word] &= word < other.high.count ? other.high[word] : 0 }
    trim()
  }

  /// Calls `body` with each slot, in ascending order.
  package func forEach(_ body: (Int) throws -> Void) rethrows {
    try Self.forEach(low, from: 0, body)
    for (word, bits) in high.enumerated() { try Self.forEach(bits, from: (word + 1) * 64, body) }
  }

  package var indexes: [Int] {
    var indexes: [Int] = []
    forEach { indexes.append($0) }
    return indexes
  }

  private static func forEach(_ bits: UInt64, from start: Int, _ body: (Int) throws -> Void)
    rethrows
  {
    var bits = bits
    while bits != 0 {
      try body(start + bits.trailingZeroBitCount)
      bits &= bits - 1
    }
  }

  // Equal sets are equal values: no empty words at the end.
  private mutating func trim() { while high.last == 0 { high.removeLast() } }
}
