package import Foundation

/// Identities that every replica derives alike (RFC 9562 version 8).
package enum DerivedIdentity {
  /// The identity of the object that was made under `identity` in an entity, where the zone has an
  /// object of another entity under it: the first 16 bytes of SHA-256 over the zone's UUID, the
  /// identity and the entity's name, and a bit that no minted identity has.
  package static func identity(_ identity: UUID, of entity: String, in zone: UUID) -> UUID {
    let message = [UInt8](zone.networkBytes) + [UInt8](identity.networkBytes) + Array(entity.utf8)
    var bytes = Array(SHA256Digest.hash(message).prefix(16))
    bytes[6] = bytes[6] & 0x0f | 0x80
    bytes[8] = bytes[8] & 0x1f | 0xa0
    return UUID(networkBytes: Data(bytes)) ?? identity
  }
}
