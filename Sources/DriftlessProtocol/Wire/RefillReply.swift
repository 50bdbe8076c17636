public import Foundation

/// Where a zone's log stands after a refill: the answer to `POST /v1/zones/{zone}/refill`, as JSON.
public struct RefillReply: Hashable, Sendable, Codable {
  /// The last sequence number of the log.
  public var head: UInt64
  /// The log's chain at `head`.
  public var chain: LogChain

  /// - Parameters:
  ///   - head: The last sequence number of the log.
  ///   - chain: The log's chain there.
  public init(head: UInt64, chain: LogChain) {
    self.head = head
    self.chain = chain
  }
}

/// Places of a replica's log: the body of `POST /v1/zones/{zone}/common`, as JSON.
public struct CommonPlaceRequest: Hashable, Sendable, Codable {
  /// The life of the log that the places are of.
  public var generation: UUID
  /// In any order.
  public var marks: [LogMark]

  /// - Parameters:
  ///   - generation: The life of the log.
  ///   - marks: In any order.
  public init(generation: UUID, marks: [LogMark]) {
    self.generation = generation
    self.marks = marks
  }
}

/// The answer to `POST /v1/zones/{zone}/common`, as JSON.
public struct CommonPlaceReply: Hashable, Sendable, Codable {
  /// The highest of the places asked for that is the server's own; nil when none is.
  public var place: LogMark?

  /// - Parameter place: The highest common place; nil when none is.
  public init(place: LogMark?) { self.place = place }
}
