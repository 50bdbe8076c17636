import Driftless
import DriftlessProtocol
import Foundation

/// Which objects of blocks that differ are to be looked at: the values of a block may be large, and one of them other than the
/// zone's.
extension SyncEngine {
  typealias AskedColumns = [(column: DigestColumn, place: Int?)]

  /// Of objects of blocks that differ, those that do, as runs of numbers; all of them where many do, or where the server is of
  /// before and tells digests of blocks alone.
  func differingObjects(
    of numbers: Range<UInt64>, _ columns: AskedColumns, _ verification: ZoneVerification,
    _ gathered: inout ZoneVerification.Gathered
  ) async throws -> [Range<UInt64>] {
    guard gathered.asksForCells else { return [numbers] }
    let size = StateDigest.blockObjects
    let blocks =
      Int(clamping: (numbers.lowerBound - 1) / size)..<Int(
        clamping: (numbers.upperBound - 2) / size)
      + 1
    var differing: Set<UInt64> = []
    for batch in columns.batches(of: DigestPart.cellColumnsMax) {
      do {
        try await compareCells(of: blocks, batch, verification, &gathered, &differing)
      } catch let error as ProtocolError where error.code.rawValue == "not-found" {
        gathered.asksForCells = false
        return [numbers]
      }
    }
    // Each run is a request, and has the server look a file through.
    guard !differing.isEmpty,
      differing.count * SyncTuning.differingShare <= numbers.count
    else { return [numbers] }
    return differing.filter { numbers.contains($0) }.sorted().runs
  }

  private func compareCells(
    of blocks: Range<Int>, _ columns: AskedColumns, _ verification: ZoneVerification,
    _ gathered: inout ZoneVerification.Gathered, _ differing: inout Set<UInt64>
  ) async throws {
    let blockSize = Int(StateDigest.blockObjects)
    let there = try await ask(
      columns, verification, &gathered, each: blocks.count * blockSize
    ) { .cells(blocks: blocks, columns: $0) }
    let next = verification.digests.nextObject
    for (place, block) in blocks.enumerated() {
      let numbers = DigestPart.numbers(ofBlocks: block..<block + 1)
      let here = try store.read { transaction in
        try checkPlace(verification, transaction)
        var cells = try ReplicaCells(transaction, schema: schema, ofBlock: block)
        defer { cells.finish() }
        for number in numbers where number < next { try cells.append(number) }
        return cells.blocks()
      }
      for (column, digests) in zip(columns, there) {
        let (shown, said) = (here.shown[column.column], here.said[column.column])
        for (place, digest) in digests[place * blockSize..<(place + 1) * blockSize].enumerated()
        where digest != shown?[place] ?? .empty
          && !(column.column.maySayLess(gathered.said) && digest == said?[place] ?? .empty)
        {
          differing.insert(numbers.lowerBound + UInt64(place))
        }
      }
    }
  }
}

extension DigestColumn {
  /// Whether the store may show something of it that no entry says.
  func maySayLess(_ said: DigestTree) -> Bool { said.place(of: self) != nil }
}

extension Array where Element: FixedWidthInteger {
  /// Of ascending numbers, those that follow each other.
  var runs: [Range<Element>] {
    var runs: [Range<Element>] = []
    for number in self {
      if let last = runs.last, last.upperBound == number {
        runs[runs.count - 1] = last.lowerBound..<number + 1
      } else {
        runs.append(number..<number + 1)
      }
    }
    return runs
  }
}
