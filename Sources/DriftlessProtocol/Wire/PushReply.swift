public import Foundation

/// The place that a zone gave a push: the answer to `POST /v1/zones/{zone}/changes`, as JSON.
///
/// The same push gets the same answer however often it arrives (only the time differs).
public struct PushReply: Hashable, Sendable, Codable {
  public var sequence: UInt64
  /// The zone object number of the push's first new object; the others follow it, in the order of
  /// the object table.
  public var firstObjectNumber: UInt64
  public var generation: UUID
  /// The server's clock, in milliseconds since 1970.
  public var serverTimeMilliseconds: UInt64

  public init(
    sequence: UInt64, firstObjectNumber: UInt64, generation: UUID, serverTimeMilliseconds: UInt64
  ) {
    self.sequence = sequence
    self.firstObjectNumber = firstObjectNumber
    self.generation = generation
    self.serverTimeMilliseconds = serverTimeMilliseconds
  }
}
