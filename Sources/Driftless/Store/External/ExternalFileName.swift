import Foundation

/// The name of a file of a large value: a UUID that begins with the prefix of the identities that the store's file gives, and that
/// says how long the value is.
///
/// The row names the file, so that the length is known wherever the row is, and a file that was cut off is told from a whole one
/// without a look at its bytes. It is in the name of what was written with it alone: Core Data and programs of before give random
/// UUIDs, which are of version 4; these are of version 8, whose bits are whoever's who makes them (RFC 9562).
///
/// | bytes | what |
/// |---|---|
/// | 0 … 5 | the prefix |
/// | 6 … 11 | random, but for the version and the variant of the UUID |
/// | 12 … 15 | the length in bytes, big-endian |
enum ExternalFileName {
  static let prefixLength = 6
  private static let version: UInt8 = 8

  /// Another name than any before it, as far as 42 random bits tell: whoever makes the file sees whether it is there.
  static func make(prefix: [UInt8], length: Int) -> String {
    var bytes = Array(UUID().networkBytes)
    let own = prefix.prefix(prefixLength)
    bytes.replaceSubrange(..<own.count, with: own)
    if let length = UInt32(exactly: length) {
      bytes[6] = version << 4 | bytes[6] & 0x0f
      for place in 0..<4 {
        bytes[12 + place] = UInt8(truncatingIfNeeded: length >> (24 - 8 * place))
      }
    }
    return UUID(networkBytes: Data(bytes))?.uuidString ?? UUID().uuidString
  }

  /// Whether a store's file that gives identities with a prefix has written it.
  static func isNamed(_ name: String, by prefix: [UInt8]) -> Bool {
    guard prefix.count == prefixLength, let uuid = UUID(uuidString: name) else { return false }
    return uuid.networkBytes.starts(with: prefix)
  }

  /// How many bytes the value has; nil where the name does not say it.
  static func length(in name: String) -> Int64? {
    guard let uuid = UUID(uuidString: name)?.uuid, uuid.6 >> 4 == version else { return nil }
    return [uuid.12, uuid.13, uuid.14, uuid.15].reduce(0) { $0 << 8 | Int64($1) }
  }
}
