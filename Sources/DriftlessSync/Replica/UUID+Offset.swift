import Foundation

extension UUID {
  /// The identity `count` after this one: the last eight bytes, big-endian, count up.
  func offset(by count: UInt64) -> UUID {
    var bytes = uuid
    withUnsafeMutableBytes(of: &bytes) { raw in
      let low = UInt64(bigEndian: raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      raw.storeBytes(of: (low &+ count).bigEndian, toByteOffset: 8, as: UInt64.self)
    }
    return UUID(uuid: bytes)
  }
}
