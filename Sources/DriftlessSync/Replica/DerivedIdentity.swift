import Crypto
import Driftless
import Foundation

/// Identities that every replica derives alike (RFC 9562 version 8).
enum DerivedIdentity {
  /// The identity of the object that was made under `identity` in an entity, where the zone has an
  /// object of another entity under it: the first 16 bytes of SHA-256 over the zone's UUID, the
  /// identity and the entity's name.
  static func identity(_ identity: UUID, of entity: String, in zone: UUID) -> UUID {
    var hash = SHA256()
    hash.update(data: zone.networkBytes)
    hash.update(data: identity.networkBytes)
    hash.update(data: Data(entity.utf8))
    var bytes = Data(hash.finalize().prefix(16))
    bytes[6] = bytes[6] & 0x0f | 0x80
    bytes[8] = bytes[8] & 0x3f | 0x80
    return UUID(networkBytes: bytes) ?? identity
  }
}
