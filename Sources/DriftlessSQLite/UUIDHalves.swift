package import Foundation

/// Identities as two numbers: in order where their bytes are.
extension UUID {
  package init(high: UInt64, low: UInt64) {
    self.init(
      uuid: withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) {
        $0.loadUnaligned(as: uuid_t.self)
      })
  }

  /// The eight high bytes and the eight low bytes as big-endian numbers.
  package var halves: (high: UInt64, low: UInt64) {
    withUnsafeBytes(of: uuid) { bytes in
      (
        UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
  }

  /// Whether its bytes come first, in the order that all replicas have them in.
  package func precedes(_ other: UUID) -> Bool { halves < other.halves }

  /// The identity `distance` after this one: the low eight bytes count.
  package func following(by distance: UInt64) -> UUID {
    let (high, low) = halves
    assert(low <= .max - distance, "identities of one run have the same high bytes")
    return UUID(high: high, low: low &+ distance)
  }
}
