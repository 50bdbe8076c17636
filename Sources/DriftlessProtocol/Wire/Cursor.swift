public import Foundation

/// Up to where a replica has applied a zone's log.
public struct Cursor: Hashable, Sendable, Codable {
  /// One life of the zone's log; another one begins when the zone is made anew.
  public var generation: UUID
  /// The last change set applied; 0 is the log's beginning.
  public var sequence: UInt64
  /// The log's chain at that place: a server that was put back to an older copy is found by it.
  public var chain: LogChain

  /// A place that a replica has reached.
  ///
  /// - Parameters:
  ///   - generation: The life of the log.
  ///   - sequence: The last change set applied.
  ///   - chain: The log's chain there.
  public init(generation: UUID, sequence: UInt64, chain: LogChain) {
    self.generation = generation
    self.sequence = sequence
    self.chain = chain
  }

  /// The beginning of a generation's log.
  public static func start(generation: UUID) -> Cursor {
    Cursor(generation: generation, sequence: 0, chain: .start(generation: generation))
  }

  /// The place, without its generation.
  public var mark: LogMark { LogMark(sequence: sequence, chain: chain) }
}
