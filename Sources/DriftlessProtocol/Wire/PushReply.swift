public import Foundation

/// The place that a zone gave a push: the answer to `POST /v1/zones/{zone}/changes`, as JSON.
///
/// The same push gets the same answer however often it arrives (only the time differs).
public struct PushReply: Hashable, Sendable, Codable {
  /// The sequence number of the push.
  public var sequence: UInt64
  /// The zone object number of the push's first new object; the others follow it, in the order of
  /// the object table.
  public var firstObjectNumber: UInt64
  /// The log's chain at `sequence`.
  public var chain: LogChain
  /// The life of the log that it is in.
  public var generation: UUID
  /// The push number of the frame that this answers.
  public var pushNumber: UInt64
  /// The digest of the frame that this answers.
  public var digest: Data
  /// The server's clock, in milliseconds since 1970.
  public var serverTimeMilliseconds: UInt64

  /// What a zone answers to a push that it has appended.
  public init(
    sequence: UInt64, firstObjectNumber: UInt64, chain: LogChain, generation: UUID,
    pushNumber: UInt64, digest: Data, serverTimeMilliseconds: UInt64
  ) {
    self.sequence = sequence
    self.firstObjectNumber = firstObjectNumber
    self.chain = chain
    self.generation = generation
    self.pushNumber = pushNumber
    self.digest = digest
    self.serverTimeMilliseconds = serverTimeMilliseconds
  }

  /// The place of the push.
  public var mark: LogMark { LogMark(sequence: sequence, chain: chain) }
}
