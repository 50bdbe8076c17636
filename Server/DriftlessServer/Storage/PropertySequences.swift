package import Foundation

/// Which properties of one object were set later than the rest, and by which sequence number.
///
/// Stored as pairs of LEB128 numbers, property ID then sequence number, ascending by property ID.
/// Most objects have a handful, so a linear look-up in a small array is the fastest there is.
package struct PropertySequences: Sendable, Equatable {
  private(set) var pairs: [(property: UInt64, sequence: UInt64)] = []

  package init() {}

  package var latest: UInt64 { pairs.reduce(0) { max($0, $1.sequence) } }

  package func sequence(of property: UInt64) -> UInt64? {
    pairs.first { $0.property == property }?.sequence
  }

  package mutating func set(_ property: UInt64, to sequence: UInt64) {
    let place = pairs.firstIndex { $0.property >= property } ?? pairs.count
    if place < pairs.count, pairs[place].property == property {
      pairs[place].sequence = sequence
    } else {
      pairs.insert((property, sequence), at: place)
    }
  }

  package mutating func removeAll() { pairs.removeAll(keepingCapacity: true) }

  package static func == (left: Self, right: Self) -> Bool {
    left.pairs.elementsEqual(right.pairs, by: ==)
  }

  // MARK: - Stored form

  package var encoded: Data {
    var bytes: [UInt8] = []
    for (property, sequence) in pairs {
      Self.append(property, to: &bytes)
      Self.append(sequence, to: &bytes)
    }
    return Data(bytes)
  }

  /// - Throws: `ServerError` (`.storage`) when the bytes are not what `encoded` gives.
  package init(encoded data: Data) throws {
    var bytes = data[...]
    while !bytes.isEmpty {
      guard let property = Self.next(&bytes), let sequence = Self.next(&bytes) else {
        throw ServerError(
          .storage, "an object's list of properties in the index is damaged",
          suggestion: "Check the database: sqlite3 driftless.sqlite 'PRAGMA integrity_check'.")
      }
      pairs.append((property, sequence))
    }
  }

  private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    var rest = number
    while rest > 127 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  private static func next(_ bytes: inout Data.SubSequence) -> UInt64? {
    var number: UInt64 = 0
    var shift: UInt64 = 0
    while let byte = bytes.popFirst(), shift < 64 {
      number |= UInt64(byte & 127) << shift
      if byte < 128 { return number }
      shift += 7
    }
    return nil
  }
}
