import Crypto

/// Makes digests of what objects have, object by object in the order of their numbers.
package struct DigestBuilder {
  private struct Sum {
    /// The cells of the block under way, but for those that are in the hash.
    private var cells: [UInt8] = []
    /// Of a block whose cells are too many to be kept until its end.
    private var hash: SHA256?
    /// The blocks of the range under way, as far as they have cells.
    var blocks: [StateDigest] = []
    var ranges: [StateDigest] = []

    /// What is kept of a column's cells. The values of 64 objects may be gigabytes.
    private static let bytesMax = 4_096

    var hasCells: Bool { hash != nil || !cells.isEmpty }

    mutating func append(_ place: UInt8, _ kind: UInt8, _ bytes: [UInt8]) {
      cells.append(place)
      cells.append(kind)
      var rest = UInt64(bytes.count)
      while rest > 127 {
        cells.append(UInt8(truncatingIfNeeded: rest) | 128)
        rest >>= 7
      }
      cells.append(UInt8(rest))
      guard cells.count + bytes.count > Self.bytesMax else {
        return cells.append(contentsOf: bytes)
      }
      var hash = self.hash ?? SHA256()
      hash.update(data: cells)
      hash.update(data: bytes)
      self.hash = hash
      cells.removeAll(keepingCapacity: true)
    }

    /// The digest of the block, which ends with it.
    mutating func blockDigest() -> StateDigest {
      defer {
        hash = nil
        cells.removeAll(keepingCapacity: true)
      }
      guard var hash else { return StateDigest(of: cells) }
      hash.update(data: cells)
      return StateDigest(hash.finalize())
    }
  }

  package private(set) var columns: [DigestColumn] = []
  private var places: [DigestColumn: Int] = [:]
  private var sums: [Sum] = []
  /// Columns with cells in the block, and with blocks in the range, under way.
  private var inBlock: [Int] = []
  private var inRange: [Int] = []
  private var block: UInt64
  private let firstRange: UInt64
  private let blockObjects: UInt64
  private let digestsMax: Int
  private var digestCount = 0

  /// What one tree may have: with 1,000 properties of four million objects it takes 16 MB.
  package static let digestsMax = 1 << 20

  /// - Parameters:
  ///   - range: the first range that objects come of.
  ///   - digestsMax: how many digests of ranges there may be.
  package init(from range: Int = 0, digestsMax: Int = Self.digestsMax) {
    self.init(from: range, digestsMax: digestsMax, blockObjects: StateDigest.blockObjects)
  }

  /// Makes digests of the single objects of one block: each is to it what a block is to a range.
  package init(ofBlock block: Int) {
    self.init(from: block, digestsMax: Self.digestsMax, blockObjects: 1)
  }

  private init(from range: Int, digestsMax: Int, blockObjects: UInt64) {
    self.blockObjects = blockObjects
    firstRange = UInt64(range)
    block = UInt64(range) * UInt64(StateDigest.rangeBlocks)
    self.digestsMax = digestsMax
  }

  /// The place of a column among those that have cells.
  package mutating func place(of column: DigestColumn) -> Int {
    if let place = places[column] { return place }
    let place = columns.count
    columns.append(column)
    sums.append(Sum())
    places[column] = place
    return place
  }

  /// - Parameters:
  ///   - number: not less than those before.
  ///   - kind: of a column on the wire; 0 where there is no value.
  ///   - bytes: the value. Without a null: what has none has no cell.
  /// - Throws: `ProtocolError` (`.tooLarge`).
  package mutating func append(
    _ number: UInt64, column: Int, kind: UInt8, _ bytes: [UInt8]
  ) throws(ProtocolError) {
    try move(to: number)
    if !sums[column].hasCells { inBlock.append(column) }
    let place = UInt8(truncatingIfNeeded: (number &- 1) % blockObjects)
    sums[column].append(place, kind, bytes)
  }

  private mutating func move(to number: UInt64) throws(ProtocolError) {
    let block = (number &- 1) / blockObjects
    guard block != self.block else { return }
    assert(block > self.block, "objects come in the order of their numbers")
    endBlock()
    let rangeBlocks = UInt64(StateDigest.rangeBlocks)
    if block / rangeBlocks != self.block / rangeBlocks { try endRange() }
    self.block = block
  }

  private mutating func endBlock() {
    let place = Int(block % UInt64(StateDigest.rangeBlocks))
    for column in inBlock {
      if sums[column].blocks.isEmpty { inRange.append(column) }
      sums[column].blocks.fill(to: place)
      sums[column].blocks.append(sums[column].blockDigest())
    }
    inBlock.removeAll(keepingCapacity: true)
  }

  private mutating func endRange() throws(ProtocolError) {
    let place = Int(block / UInt64(StateDigest.rangeBlocks) - firstRange)
    for column in inRange {
      sums[column].blocks.fill(to: StateDigest.rangeBlocks)
      digestCount += place + 1 - sums[column].ranges.count
      guard digestCount <= digestsMax else {
        throw ProtocolError(
          .tooLarge, "The zone has too many names of properties to be compared",
          suggestion: "Compare it another way: syncctl digest of two replicas.")
      }
      sums[column].ranges.fill(to: place)
      sums[column].ranges.append(StateDigest(of: sums[column].blocks))
      sums[column].blocks.removeAll(keepingCapacity: true)
    }
    inRange.removeAll(keepingCapacity: true)
  }

  /// The digests of the blocks of the range that all objects were of, or of the single objects of the block; missing columns
  /// have none.
  package mutating func blocks() -> [DigestColumn: [StateDigest]] {
    endBlock()
    var blocks: [DigestColumn: [StateDigest]] = [:]
    for column in inRange {
      sums[column].blocks.fill(to: StateDigest.rangeBlocks)
      blocks[columns[column]] = sums[column].blocks
    }
    return blocks
  }

  /// - Parameter next: the number behind the last object that there may be.
  /// - Throws: `ProtocolError` (`.tooLarge`).
  package mutating func tree(upTo next: UInt64) throws(ProtocolError) -> DigestTree {
    endBlock()
    try endRange()
    let rangeCount = DigestTree.rangeCount(upTo: next)
    let order = columns.indices.sorted { columns[$0].isOrdered(before: columns[$1]) }
    return DigestTree(
      columns: order.map { columns[$0] }, ranges: order.map { sums[$0].ranges },
      rangeCount: rangeCount)
  }
}

/// The digests of all that a zone's objects have, down to ranges.
package struct DigestTree: Sendable {
  /// By entity and property.
  package let columns: [DigestColumn]
  /// By column; those behind the last that there is are none.
  private let ranges: [[StateDigest]]
  package let rangeCount: Int
  package let roots: [StateDigest]
  private let places: [DigestColumn: Int]

  fileprivate init(columns: [DigestColumn], ranges: [[StateDigest]], rangeCount: Int) {
    self.columns = columns
    self.ranges = ranges
    self.rangeCount = rangeCount
    roots = ranges.map { ranges in
      var ranges = ranges
      ranges.fill(to: rangeCount)
      return StateDigest(of: ranges)
    }
    places = Dictionary(
      columns.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// How many ranges hold the objects before a number.
  package static func rangeCount(upTo next: UInt64) -> Int {
    guard next > 1 else { return 0 }
    return Int(clamping: (next - 2) / StateDigest.rangeObjects + 1)
  }

  package func place(of column: DigestColumn) -> Int? { places[column] }

  package func root(of column: DigestColumn) -> StateDigest {
    places[column].map { roots[$0] } ?? .empty
  }

  package func digest(of column: DigestColumn, range: Int) -> StateDigest {
    places[column].map { digest(ofColumn: $0, range: range) } ?? .empty
  }

  package func digest(ofColumn column: Int, range: Int) -> StateDigest {
    ranges[column].indices.contains(range) ? ranges[column][range] : .empty
  }
}

extension DigestColumn {
  /// By their bytes: to Swift canonically equivalent names are equal.
  func isOrdered(before other: DigestColumn) -> Bool {
    entity.utf8.elementsEqual(other.entity.utf8)
      ? property.utf8.lexicographicallyPrecedes(other.property.utf8)
      : entity.utf8.lexicographicallyPrecedes(other.entity.utf8)
  }
}

extension [StateDigest] {
  fileprivate mutating func fill(to count: Int) {
    while self.count < count { append(.empty) }
  }
}
