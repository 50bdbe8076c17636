public import Foundation

/// Up to where a replica has applied a zone's log.
public struct Cursor: Hashable, Sendable, Codable {
  /// The zone's identity; it changes when the zone is restored or created anew.
  public var generation: UUID
  /// The last change set applied; 0 is the log's beginning.
  public var sequence: UInt64

  public init(generation: UUID, sequence: UInt64) {
    self.generation = generation
    self.sequence = sequence
  }
}
