/// A set of rows of a column: one bit each.
public struct RowBitmap: Hashable, Sendable {
  /// Bit `i & 7` of byte `i >> 3` stands for row `i`; no zero bytes at the end.
  private(set) var bytes: [UInt8] = []

  /// No rows.
  public init() {}

  /// These rows, each 0 or more.
  public init(_ rows: some Sequence<Int>) {
    for row in rows { insert(row) }
  }

  init(bytes: [UInt8]) {
    self.bytes = bytes
    while self.bytes.last == 0 { self.bytes.removeLast() }
  }

  /// Whether no row is in it.
  public var isEmpty: Bool { bytes.isEmpty }

  /// Whether a row is in it.
  public func contains(_ row: Int) -> Bool {
    let byte = row >> 3
    return row >= 0 && byte < bytes.count && bytes[byte] & (1 << UInt8(row & 7)) != 0
  }

  /// - Parameter row: 0 or more.
  public mutating func insert(_ row: Int) {
    let byte = row >> 3
    if byte >= bytes.count {
      bytes.append(contentsOf: repeatElement(0, count: byte + 1 - bytes.count))
    }
    bytes[byte] |= 1 << UInt8(row & 7)
  }

  /// The rows that are in it, ascending.
  public var rows: [Int] {
    bytes.indices.flatMap { byte in
      (0..<8).compactMap { bit in bytes[byte] & 1 << UInt8(bit) == 0 ? nil : byte * 8 + bit }
    }
  }

  /// One more than the last row of the set; 0 when it is empty.
  var end: Int {
    guard let last = bytes.last else { return 0 }
    return bytes.count * 8 - last.leadingZeroBitCount
  }
}
