package import Foundation

/// The bytes that a value counts with in a digest: those that a fold keeps of it, by the kind of its column on the wire.
package struct CellBytes {
  package private(set) var kind: UInt8 = 0
  private var out = FoldBytes()
  package var bytes: [UInt8] { out.bytes }

  package init() {}

  private mutating func begin(_ kind: ColumnCodec.Kind) {
    self.kind = UInt8(truncatingIfNeeded: kind.rawValue)
    out.bytes.removeAll(keepingCapacity: true)
  }

  package mutating func set(integer: Int64) {
    begin(.integers)
    out.append(varint: Packing.zigzag(integer))
  }

  package mutating func set(double: Double) {
    begin(.doubles)
    out.append(double.bitPattern)
  }

  /// - Parameter seconds: since 2001.
  package mutating func set(date seconds: Double) {
    begin(.dates)
    out.append(seconds.bitPattern)
  }

  package mutating func set(boolean: Bool) {
    begin(.booleans)
    out.bytes.append(boolean ? 1 : 0)
  }

  package mutating func set(string: String) {
    begin(.strings)
    out.bytes.append(contentsOf: string.utf8)
  }

  package mutating func set(data: Data) {
    begin(.bytes)
    out.bytes.append(contentsOf: data)
  }

  package mutating func set(decimal text: String) {
    begin(.decimals)
    out.bytes.append(contentsOf: text.utf8)
  }

  package mutating func set(uri text: String) {
    begin(.uris)
    out.bytes.append(contentsOf: text.utf8)
  }

  package mutating func set(uuid: UUID) {
    begin(.uuids)
    out.append(uuid)
  }

  /// - Parameter number: the zone's number of what it refers to.
  package mutating func set(reference number: UInt64) {
    begin(.references)
    out.append(varint: number)
  }

  /// - Parameter numbers: the zone's numbers of what a set has: ascending, or in their order.
  package mutating func set(elements numbers: [UInt64]) {
    begin(.elements)
    for number in numbers { out.append(varint: number) }
  }
}
