import Crypto
public import Foundation

/// A unique key as a server sees it: 16 bytes that tell nothing of the values.
public struct KeyHash: Hashable, Sendable {
  /// The length of a hash. Bytes.
  public static let size = SixteenBytes.size

  private let digest: SixteenBytes

  /// - Parameter bytes: 16 of them; any other number gives nil.
  public init?(bytes: some Collection<UInt8>) {
    guard let digest = SixteenBytes(bytes) else { return nil }
    self.digest = digest
  }

  /// 16 bytes.
  public var bytes: Data { digest.data }

  /// The hash of one object's key: the first 16 bytes of an HMAC-SHA256 whose secret is the zone's
  /// UUID, over the names of the entity and of the properties and the values, each part with its
  /// length (8 bytes little-endian) before it.
  ///
  /// - Parameters:
  ///   - entity: The entity that declares the constraint.
  ///   - properties: In the order in which the constraint names them.
  ///   - values: The bytes of each property's value; a key with a null is none.
  ///   - zone: The zone's UUID.
  public static func of(
    entity: String, properties: [String], values: [[UInt8]], zone: UUID
  ) -> KeyHash {
    of(
      entity: entity, properties: properties, values: values,
      secret: withUnsafeBytes(of: zone.uuid) { SymmetricKey(data: Array($0)) })
  }

  static func of(
    entity: String, properties: [String], values: [[UInt8]], secret: SymmetricKey
  ) -> KeyHash {
    var message = ByteWriter(capacity: 256)
    message.append(UInt64(properties.count))
    for part in [Array(entity.utf8)] + properties.map({ Array($0.utf8) }) + values {
      message.append(UInt64(part.count))
      message.append(contentsOf: part)
    }
    let code = HMAC<SHA256>.authenticationCode(for: message.bytes, using: secret)
    return KeyHash(code)
  }

  private init(_ code: HMAC<SHA256>.MAC) { digest = SixteenBytes(prefixOf: code) }

  func append(to data: inout Data) { digest.append(to: &data) }
}
