public import Foundation

/// Where a zone's log stands: the answer to `GET /v1/zones/{zone}`, as JSON.
public struct ZoneInfo: Hashable, Sendable, Codable {
  public var zone: String
  public var generation: UUID
  /// The last sequence number of the log; 0 when it is empty.
  public var head: UInt64
  /// The server's clock, in milliseconds since 1970.
  public var serverTimeMilliseconds: UInt64

  public init(zone: String, generation: UUID, head: UInt64, serverTimeMilliseconds: UInt64) {
    self.zone = zone
    self.generation = generation
    self.head = head
    self.serverTimeMilliseconds = serverTimeMilliseconds
  }
}
