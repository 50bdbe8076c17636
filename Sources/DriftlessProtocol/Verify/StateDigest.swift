import Crypto
package import Foundation

/// A digest over what some objects of a zone have of one property: two that are equal stand for equal values.
///
/// Cells of 64 objects whose numbers follow each other are a *block*, 64 blocks are a *range*. The digest of a block is over
/// its cells, that of a range over its blocks, and that of a property over its ranges.
public struct StateDigest: Hashable, Sendable {
  /// The length of a digest. Bytes.
  public static let size = SixteenBytes.size
  /// Objects of a block.
  public static let blockObjects: UInt64 = 64
  /// Blocks of a range.
  public static let rangeBlocks = 64
  /// Objects of a range.
  public static let rangeObjects = blockObjects * UInt64(rangeBlocks)

  private let digest: SixteenBytes

  /// Of objects that have nothing there.
  public static let empty = StateDigest(SixteenBytes(prefixOf: [UInt8]()))

  /// - Parameter bytes: 16 of them; any other number gives nil.
  public init?(bytes: some Collection<UInt8>) {
    guard let digest = SixteenBytes(bytes) else { return nil }
    self.digest = digest
  }

  /// - Parameter hexadecimal: 32 digits; anything else gives nil.
  public init?(hexadecimal: String) {
    guard let digest = SixteenBytes(hexadecimal: hexadecimal) else { return nil }
    self.digest = digest
  }

  private init(_ digest: SixteenBytes) { self.digest = digest }

  /// Of the cells of a block.
  init(of cells: [UInt8]) { self.init(SHA256.hash(data: cells)) }

  init(_ hash: SHA256Digest) { self.init(SixteenBytes(prefixOf: hash)) }

  /// Of the blocks of a range, or the ranges of a property.
  init(of parts: some Sequence<StateDigest>) {
    var bytes = Data()
    var isEmpty = true
    for part in parts {
      if part != .empty { isEmpty = false }
      part.append(to: &bytes)
    }
    self = isEmpty ? .empty : StateDigest(SixteenBytes(prefixOf: SHA256.hash(data: bytes)))
  }

  func append(to data: inout Data) { digest.append(to: &data) }

  /// 32 hexadecimal digits.
  public var hexadecimal: String { digest.hexadecimal }

  /// Digests as they stand in an answer.
  package static func data(of digests: some Sequence<StateDigest>) -> Data {
    var data = Data()
    for digest in digests { digest.append(to: &data) }
    return data
  }

  /// Digests as they stand in an answer.
  ///
  /// - Parameter count: how many there have to be.
  /// - Throws: `ProtocolError` (`.malformed`) when there are others.
  package static func all(in data: Data, count: Int) throws(ProtocolError) -> [StateDigest] {
    guard data.count == count * size else {
      throw .malformed("\(data.count) bytes of digests came in place of \(count * size)")
    }
    var digests: [StateDigest] = []
    digests.reserveCapacity(count)
    var rest = data[...]
    while !rest.isEmpty {
      digests.append(StateDigest(SixteenBytes(prefixOf: rest.prefix(size))))
      rest = rest.dropFirst(size)
    }
    return digests
  }
}

extension StateDigest: Codable {
  public init(from decoder: any Decoder) throws {
    digest = try SixteenBytes(from: decoder, as: "A digest")
  }

  public func encode(to encoder: any Encoder) throws { try digest.encode(to: encoder) }
}
