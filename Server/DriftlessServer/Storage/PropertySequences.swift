public import Foundation

/// Which properties of one object were set later than the rest, and by which sequence number.
///
/// Stored as pairs of LEB128 numbers, property ID then sequence number, ascending by property ID.
public typealias PropertySequences = SequenceList<UInt64>

/// A sequence number for each of some IDs, ascending by ID: looked up in steps that grow with the logarithm of their count, and
/// set in one pass, however many of them at once.
public struct SequenceList<ID: Comparable & Sendable>: Sendable, Equatable {
  private(set) var pairs: [(property: ID, sequence: UInt64)] = []

  /// None.
  public init() {}

  package var count: Int { pairs.count }

  package var latest: UInt64 { pairs.reduce(0) { max($0, $1.sequence) } }

  package func sequence(of property: ID) -> UInt64? {
    let place = place(of: property, from: 0)
    guard place < pairs.count, pairs[place].property == property else { return nil }
    return pairs[place].sequence
  }

  package mutating func set(_ property: ID, to sequence: UInt64) {
    set([property], to: sequence)
  }

  /// Sets many at once.
  ///
  /// - Parameter properties: each once, ascending.
  package mutating func set(_ properties: [ID], to sequence: UInt64) {
    assert(
      zip(properties, properties.dropFirst()).allSatisfy { $0 < $1 },
      "properties are set in ascending order, each once")
    var place = 0
    var new: [ID] = []
    for property in properties {
      place = self.place(of: property, from: place)
      if place < pairs.count, pairs[place].property == property {
        pairs[place].sequence = sequence
      } else {
        new.append(property)
      }
    }
    if !new.isEmpty { merge(new, sequence) }
  }

  package mutating func removeAll() { pairs.removeAll(keepingCapacity: true) }

  /// The first place, from one on, whose property does not come before another.
  private func place(of property: ID, from first: Int) -> Int {
    var (low, high) = (first, pairs.count)
    while low < high {
      let middle = (low + high) / 2
      if pairs[middle].property < property { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Takes in properties that are not there yet.
  private mutating func merge(_ new: [ID], _ sequence: UInt64) {
    var merged: [(property: ID, sequence: UInt64)] = []
    merged.reserveCapacity(pairs.count + new.count)
    var rest = pairs[...]
    for property in new {
      while let next = rest.first, next.property < property {
        merged.append(next)
        rest.removeFirst()
      }
      merged.append((property, sequence))
    }
    pairs = merged + rest
  }

  /// Whether they have the same numbers for the same IDs.
  public static func == (left: Self, right: Self) -> Bool {
    left.pairs.elementsEqual(right.pairs, by: ==)
  }
}

// MARK: - Stored form

extension SequenceList<UInt64> {
  /// The bytes for a row.
  public var encoded: Data {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(6 * pairs.count)
    for (property, sequence) in pairs {
      Self.append(property, to: &bytes)
      Self.append(sequence, to: &bytes)
    }
    return Data(bytes)
  }

  /// - Throws: `ServerError` (`.storage`) when the bytes are not what `encoded` gives.
  public init(encoded data: Data) throws {
    self.init()
    let bytes = [UInt8](data)
    var place = 0
    while place < bytes.count {
      guard let property = Self.next(bytes, &place), let sequence = Self.next(bytes, &place),
        pairs.last.map({ $0.property < property }) ?? true
      else {
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

  private static func next(_ bytes: [UInt8], _ place: inout Int) -> UInt64? {
    var number: UInt64 = 0
    var shift: UInt64 = 0
    while place < bytes.count, shift < 64 {
      let byte = bytes[place]
      place += 1
      number |= UInt64(byte & 127) << shift
      if byte < 128 { return number }
      shift += 7
    }
    return nil
  }
}
