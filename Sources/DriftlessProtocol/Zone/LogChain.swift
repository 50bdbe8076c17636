import Crypto
public import Foundation

/// A running digest of a zone's log up to an entry: two logs with one chain are one log up to there.
public struct LogChain: Hashable, Sendable {
  /// The length of a chain. Bytes.
  public static let size = SixteenBytes.size

  private let digest: SixteenBytes

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

  private init(_ hash: SHA256.Digest) { digest = SixteenBytes(prefixOf: hash) }

  /// The chain of an empty log.
  public static func start(generation: UUID) -> LogChain {
    var hash = SHA256()
    hash.update(data: Array("driftless log".utf8))
    withUnsafeBytes(of: generation.uuid) { hash.update(bufferPointer: $0) }
    return LogChain(hash.finalize())
  }

  /// The chain after one more entry.
  ///
  /// - Parameters:
  ///   - digest: What the header of the entry's frame says (`ChangeSetHeader.digest`).
  ///   - sequence: The entry's sequence number.
  ///   - firstObjectNumber: The zone object number of its first new object.
  public func next(digest: Data, sequence: UInt64, firstObjectNumber: UInt64) -> LogChain {
    var writer = ByteWriter(capacity: 64)
    writer.append(contentsOf: bytes)
    writer.append(contentsOf: digest)
    writer.append(sequence)
    writer.append(firstObjectNumber)
    return LogChain(SHA256.hash(data: writer.bytes))
  }

  /// 16 bytes.
  public var bytes: Data { digest.data }

  /// 32 hexadecimal digits.
  public var hexadecimal: String { digest.hexadecimal }
}

extension LogChain: CustomStringConvertible {
  public var description: String { hexadecimal }
}

extension LogChain: Codable {
  public init(from decoder: any Decoder) throws {
    digest = try SixteenBytes(from: decoder, as: "A chain")
  }

  public func encode(to encoder: any Encoder) throws { try digest.encode(to: encoder) }
}

/// A place in a zone's log that proves which log it is of.
public struct LogMark: Hashable, Sendable, Codable {
  /// The sequence number; 0 for the beginning.
  public var sequence: UInt64
  /// The log's chain there.
  public var chain: LogChain

  /// - Parameters:
  ///   - sequence: The sequence number; 0 for the beginning.
  ///   - chain: The log's chain there.
  public init(sequence: UInt64, chain: LogChain) {
    self.sequence = sequence
    self.chain = chain
  }
}
