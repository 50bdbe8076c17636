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
    guard let value = LargeValue(of: data) else {
      out.bytes.append(contentsOf: data)
      return
    }
    set(large: value.bytes)
  }

  /// A value that is told by its name.
  package mutating func set(large: LargeValue) {
    begin(.bytes)
    set(large: large.bytes)
  }

  /// What a fold keeps.
  mutating func set(_ value: FoldValue) {
    kind = UInt8(truncatingIfNeeded: value.kind)
    out.bytes.removeAll(keepingCapacity: true)
    if value.isLarge {
      set(large: value.bytes)
    } else if value.kind == ColumnCodec.Kind.bytes.rawValue,
      let large = LargeValue(of: value.bytes)
    {
      set(large: large.bytes)
    } else {
      out.bytes.append(contentsOf: value.bytes)
    }
  }

  /// Who sent a value by its digest, and who did not, have one value: as long as it may be told so, it counts so.
  private mutating func set(large bytes: [UInt8]) {
    kind |= Self.largeFlag
    out.bytes.append(contentsOf: bytes)
  }

  private static let largeFlag: UInt8 = 128

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
