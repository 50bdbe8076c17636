public import Foundation

/// Which part of a zone's log a replica asks for.
///
/// As HTTP: `GET /v1/zones/{zone}/changes?generation=&after=&max_bytes=&wait_seconds=&replica=&inca
/// rnation=&own_through=`.
public struct PullRequest: Hashable, Sendable {
  /// The entries after this one.
  public var cursor: Cursor
  /// The most bytes of entries; one entry comes even when it is larger.
  public var maxBytes: Int
  /// How long the server waits for news when there are none.
  public var waitSeconds: Int
  /// Who asks.
  public var replica: UUID
  public var incarnation: UInt32
  /// Change sets of this replica and incarnation up to this push number come back as headers only.
  public var ownThrough: UInt64

  public init(
    cursor: Cursor, maxBytes: Int, waitSeconds: Int, replica: UUID, incarnation: UInt32,
    ownThrough: UInt64
  ) {
    self.cursor = cursor
    self.maxBytes = maxBytes
    self.waitSeconds = waitSeconds
    self.replica = replica
    self.incarnation = incarnation
    self.ownThrough = ownThrough
  }
}
