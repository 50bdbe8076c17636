import Testing

@testable import DriftlessProtocol

/// Digests are over all cells of a block, however large these are.
struct DigestBuilderTests {
  private static let column = DigestColumn(entity: "Photo", property: "data")

  /// The cell of an object, as the page on the protocol has it.
  private func cell(_ number: UInt64, _ bytes: [UInt8]) -> [UInt8] {
    var cell = [UInt8((number - 1) % 64), 3]
    var rest = bytes.count
    while rest > 127 {
      cell.append(UInt8(rest & 127) | 128)
      rest >>= 7
    }
    return cell + [UInt8(rest)] + bytes
  }

  @Test(
    "A block's digest is over its cells, also where they are too large to be kept",
    arguments: [
      [0, 10], [4_089, 1], [4_090, 1], [4_096], [100_000, 5, 4_000, 4_000, 1], [1, 300_000, 0, 2],
      Array(repeating: 100, count: 64),
    ])
  func block(sizes: [Int]) throws {
    var builder = DigestBuilder()
    var cells: [UInt8] = []
    let place = builder.place(of: Self.column)
    for (index, size) in sizes.enumerated() {
      let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ index) }
      try builder.append(UInt64(index + 1), column: place, kind: 3, bytes)
      cells += cell(UInt64(index + 1), bytes)
    }
    // And the next block begins with nothing of this one.
    try builder.append(65, column: place, kind: 3, [9])
    let blocks = try #require(builder.blocks()[Self.column])
    #expect(blocks.prefix(2) == [StateDigest(of: cells), StateDigest(of: cell(65, [9]))])
  }
}
