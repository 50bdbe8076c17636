package import Foundation

/// What stands in a row for a large value that the zone has and this store has not: the value's name, and how many bytes it has.
///
/// It is no null: no save, undo, copy or merge makes one of it, and a fetch tells the objects that have such a value from those
/// that have none. And it is no value: accessors say what it is. What names it crosses the wire by that name.
package struct ValueInZone: Hashable, Sendable {
  /// The first bytes, drawn at random: no value of a person's begins like that.
  private static let mark: [UInt8] = [
    0xd4, 0x61, 0x0e, 0xb9, 0x27, 0x83, 0xfa, 0x5c, 0x90, 0x3d, 0xc6, 0x18, 0x7f, 0xe2, 0x4b, 0xa5,
  ]
  private static let nameSize = 40
  /// How many bytes it has.
  package static let size = mark.count + 1 + nameSize

  /// Whether what has the name is sealed, whatever the model here says of the property.
  package let isSealed: Bool
  /// The SHA-256 of what the zone has, then how many bytes that has, little-endian.
  package let name: Data

  /// - Parameter name: as it stands in a column of a change set; nil for other bytes.
  package init?(name: some Collection<UInt8>, isSealed: Bool) {
    guard name.count == Self.nameSize else { return nil }
    self.name = Data(name)
    self.isSealed = isSealed
  }

  /// What bytes stand for; nil for any other.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == Self.size, bytes.starts(with: Self.mark) else { return nil }
    let rest = bytes.dropFirst(Self.mark.count)
    self.init(name: rest.dropFirst(), isSealed: rest.first == 1)
  }

  /// Whether bytes stand for a value.
  package static func isOne(_ bytes: Data) -> Bool {
    bytes.count == size && bytes.starts(with: mark)
  }

  /// What a value stands for; nil for any other.
  package init?(_ value: PropertyValue) {
    guard case .data(let data) = value else { return nil }
    self.init(data)
  }

  /// As it stands in a row.
  package var bytes: [UInt8] { Self.mark + [isSealed ? 1 : 0] + name }

  package var digest: Data { name.prefix(32) }

  /// How many bytes the zone has.
  package var length: Int64 {
    name.suffix(8).reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
  }
}

extension PropertyValue {
  /// Whether it stands for a large value that is not here.
  @inline(__always)
  package var isInZone: Bool {
    guard case .data(let data) = self else { return false }
    return ValueInZone.isOne(data)
  }
}
