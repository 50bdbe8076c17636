import DriftlessProtocol
import Foundation

/// A part of a log that a purge takes in.
struct LogPortion {
  /// Its last entry: the end of a push.
  let last: UInt64
  /// The last entry that was looked at.
  let head: UInt64
  /// The lowest place that anything between the two was made at.
  let lowestBehind: UInt64
}

/// What a log comes to, a block of entries at a time: read once, from its end on, for all portions of a purge. What is asked of one
/// block is read again, so that what is kept of the log is a few bytes for each.
struct LogOutline {
  private struct Block {
    let bytes: Int64
    /// The lowest place that what is behind the block was made at.
    let lowestBehind: UInt64
  }

  private let entries: UInt64
  private let first: UInt64
  private let head: UInt64
  private let blocks: [Block]

  /// - Parameters:
  ///   - first: the entry behind which the log is looked at.
  ///   - entries: of one block.
  init(_ tables: some PurgeTables, after first: UInt64, entries: UInt64 = 1_000) throws {
    self.first = first
    self.entries = entries
    head = tables.zone.head
    var blocks: [Block] = []
    var (last, lowest) = (head, UInt64.max)
    while last > first {
      let start = first + (last - first - 1) / entries * entries
      blocks.append(
        Block(
          bytes: try tables.sum(after: start, through: last).bytes, lowestBehind: lowest))
      try tables.forEachHeader(after: start, through: last) { _, header in
        let header = try ChangeSetDecoder().decodeHeader(header)
        lowest = min(lowest, header.cursor.sequence)
        return true
      }
      last = start
    }
    self.blocks = blocks.reversed()
  }

  private func number(of entry: UInt64) -> Int { Int((entry - first - 1) / entries) }

  private func bounds(_ number: Int) -> (start: UInt64, end: UInt64) {
    let start = first + UInt64(number) * entries
    return (start, min(head, start + entries))
  }

  /// A portion of at most so many bytes, with nothing pushed behind it that was made at the floor or below; nil where there is
  /// none.
  func portion(
    after floor: UInt64, bytesMax: Int64, _ tables: some PurgeTables
  ) throws -> LogPortion? {
    let most = try last(after: floor, bytesMax: bytesMax, tables)
    guard most > floor else { return nil }
    for number in (0...number(of: most)).reversed() {
      let (start, end) = bounds(number)
      var lowest = blocks[number].lowestBehind
      var portion: LogPortion?
      guard end > floor, lowest > floor else { return nil }
      try tables.forEachHeader(after: max(start, floor), through: end) { sequence, header in
        let header = try ChangeSetDecoder().decodeHeader(header)
        if sequence <= most, !header.isFollowedByParts {
          portion = LogPortion(last: sequence, head: head, lowestBehind: lowest)
          return false
        }
        lowest = min(lowest, header.cursor.sequence)
        return lowest > floor
      }
      if let portion { return portion }
    }
    return nil
  }

  /// The last entry up to which there are at most so many bytes; the floor where the first one has more.
  private func last(
    after floor: UInt64, bytesMax: Int64, _ tables: some PurgeTables
  ) throws -> UInt64 {
    var left = bytesMax
    var least = floor
    while least < head {
      let (start, end) = bounds(number(of: least + 1))
      let bytes =
        least == start
        ? blocks[number(of: end)].bytes : try tables.sum(after: least, through: end).bytes
      if bytes > left {
        let from = least
        var most = end
        while most - least > 1 {
          let middle = least + (most - least) / 2
          if try tables.sum(after: from, through: middle).bytes <= left {
            least = middle
          } else {
            most = middle
          }
        }
        return least
      }
      left -= bytes
      least = end
    }
    return least
  }
}
