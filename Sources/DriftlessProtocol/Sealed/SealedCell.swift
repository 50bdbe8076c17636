public import Foundation

/// Where a sealed value stands: it opens nowhere else.
///
/// The zone's number of the object, the generation and the time are no part of it: they change when a value is offered again.
public struct SealedPlace: Hashable, Sendable {
  /// The name of the object's own entity.
  public var entity: String
  /// The object's identity.
  public var object: UUID
  /// The name of the property.
  public var property: String

  /// - Parameters:
  ///   - entity: The name of the object's own entity.
  ///   - object: The object's identity.
  ///   - property: The name of the property.
  public init(entity: String, object: UUID, property: String) {
    self.entity = entity
    self.object = object
    self.property = property
  }
}

/// A value that was sealed, as it stands in a column: a version, the key's ID, 12 bytes of nonce, the ciphertext, 16 bytes
/// of tag.
public struct SealedCell: Hashable, Sendable {
  /// The version that this program writes and reads.
  public static let version: UInt8 = 1
  /// What a cell has beside its ciphertext. Bytes.
  public static let overhead =
    1 + KeyID.size + ValueCipher.nonceSize + ValueCipher.tagSize

  /// All of it.
  public let bytes: [UInt8]
  /// The key that it was sealed with.
  public let key: KeyID

  var sealed: ArraySlice<UInt8> { bytes.dropFirst(1 + KeyID.size) }

  /// Nil for bytes that are no cell of this version.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.overhead, bytes[0] == Self.version,
      let key = KeyID(bytes: bytes[1...KeyID.size])
    else { return nil }
    self.bytes = bytes
    self.key = key
  }

  init(_ key: KeyID, sealed: [UInt8]) {
    self.key = key
    bytes = [Self.version] + key.bytes + sealed
  }
}

/// The name of a key: 8 bytes, drawn with it.
public struct KeyID: Hashable, Sendable, CustomStringConvertible {
  /// Bytes.
  static let size = 8

  let bytes: [UInt8]

  init?(bytes: some Collection<UInt8>) {
    guard bytes.count == Self.size else { return nil }
    self.bytes = Array(bytes)
  }

  static var random: KeyID { KeyID((0..<size).map { _ in UInt8.random(in: .min ... .max) }) }

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// 16 hexadecimal digits.
  public var description: String { Hexadecimal.text(bytes) }
}

/// Bytes as two digits each.
package enum Hexadecimal {
  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Nil for anything but an even number of digits.
  package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    var digits: [UInt8] = []
    for character in text.utf8 {
      switch character {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digits.append(character - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digits.append(character - UInt8(ascii: "a") + 10)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digits.append(character - UInt8(ascii: "A") + 10)
      default: return nil
      }
    }
    guard digits.count % 2 == 0 else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
