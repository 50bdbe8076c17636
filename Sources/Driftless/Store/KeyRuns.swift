package import Foundation

/// Keys of one entity that follow each other.
package struct KeyRun: Hashable, Sendable {
  package var entity: Int32
  package var first: Int64
  package var count: Int64

  package init(entity: Int32, first: Int64, count: Int64) {
    self.entity = entity
    self.first = first
    self.count = count
  }

  package func contains(_ key: Int64) -> Bool { key >= first && key &- first < count }
}

extension [KeyRun] {
  /// Each run as entity, first key, count: three little-endian 64-bit numbers.
  package var bytes: Data {
    var data = Data(capacity: count * 24)
    for run in self {
      for number in [Int64(run.entity), run.first, run.count] {
        data.append(littleEndian: number)
      }
    }
    return data
  }

  /// Whether each run has keys that objects can have, and all together no more than so many.
  package func areWithin(_ most: Int64) -> Bool {
    var count: Int64 = 0
    return allSatisfy { run in
      guard ReadTransaction.keys.contains(run.first), 1...most ~= run.count,
        ReadTransaction.keys.contains(run.first + run.count - 1)
      else { return false }
      count += run.count
      return count <= most
    }
  }

  /// Nil for bytes that are no runs.
  package init?(bytes data: Data) {
    guard data.count % 24 == 0 else { return nil }
    let numbers = data.littleEndianNumbers.map { Int64(bitPattern: $0) }
    self = stride(from: 0, to: numbers.count, by: 3).map {
      KeyRun(
        entity: Int32(exactly: numbers[$0]) ?? -1, first: numbers[$0 + 1],
        count: numbers[$0 + 2])
    }
  }
}
