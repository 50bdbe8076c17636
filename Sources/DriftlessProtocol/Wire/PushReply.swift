public import Foundation

/// The place that a zone gave a push: the answer to `POST /v1/zones/{zone}/changes`, as JSON.
///
/// The same push gets the same answer however often it arrives (only the time differs).
public struct PushReply: Hashable, Sendable, Codable {
  /// The sequence number of the push; of one in several parts that of the last, and the others stand before it.
  public var sequence: UInt64
  /// The zone object number of the change set's first new object; the others follow it, in the order of
  /// the object table.
  public var firstObjectNumber: UInt64
  /// The log's chain at `sequence`.
  public var chain: LogChain
  /// Of a push in several parts: the log's chain before the first of them.
  public var chainBefore: LogChain?
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
    sequence: UInt64, firstObjectNumber: UInt64, chain: LogChain, chainBefore: LogChain? = nil,
    generation: UUID, pushNumber: UInt64, digest: Data, serverTimeMilliseconds: UInt64
  ) {
    self.sequence = sequence
    self.firstObjectNumber = firstObjectNumber
    self.chain = chain
    self.chainBefore = chainBefore
    self.generation = generation
    self.pushNumber = pushNumber
    self.digest = digest
    self.serverTimeMilliseconds = serverTimeMilliseconds
  }

  /// The place of the push.
  public var mark: LogMark { LogMark(sequence: sequence, chain: chain) }
}

/// What a zone says of a part of a push that others follow: the answer to `POST /v1/zones/{zone}/changes`, as JSON. It keeps
/// the part beside its log until the last one comes.
public struct StagedReply: Hashable, Sendable, Codable {
  /// The push number of the frame that this answers.
  public var pushNumber: UInt64
  /// Which part it is.
  public var part: UInt16
  /// The digest of the frame that this answers.
  public var digest: Data
  /// The server's clock, in milliseconds since 1970.
  public var serverTimeMilliseconds: UInt64

  /// What a zone answers to a part that it keeps.
  public init(pushNumber: UInt64, part: UInt16, digest: Data, serverTimeMilliseconds: UInt64) {
    self.pushNumber = pushNumber
    self.part = part
    self.digest = digest
    self.serverTimeMilliseconds = serverTimeMilliseconds
  }
}
