public import Foundation

/// Which part of a zone's log a replica asks for.
///
/// As HTTP: `GET /v1/zones/{zone}/changes?generation=&after=&chain=&mark=&mark_chain=&max_bytes=
/// &wait_seconds=&replica=&own_through=`.
public struct PullRequest: Hashable, Sendable {
  /// The entries after this one.
  public var cursor: Cursor
  /// The asking replica's highest acknowledged entry; nil when it has none.
  public var mark: LogMark?
  /// The most bytes of entries; one entry comes even when it is larger.
  public var maxBytes: Int
  /// How long the server waits for news when there are none.
  public var waitSeconds: Int
  /// Who asks.
  public var replica: UUID
  /// Change sets of this replica up to this entry of the log come back as headers only. What it has not acknowledged comes
  /// whole, also where it has such a push number: a store that was put back may have sent it before.
  public var ownThrough: UInt64

  /// - Parameters:
  ///   - cursor: The entries after this one.
  ///   - mark: The asking replica's highest acknowledged entry.
  ///   - maxBytes: The most bytes of entries.
  ///   - waitSeconds: How long the server waits for news.
  ///   - replica: Who asks.
  ///   - ownThrough: Own change sets up to this entry come as headers only.
  public init(
    cursor: Cursor, mark: LogMark? = nil, maxBytes: Int, waitSeconds: Int, replica: UUID,
    ownThrough: UInt64
  ) {
    self.cursor = cursor
    self.mark = mark
    self.maxBytes = maxBytes
    self.waitSeconds = waitSeconds
    self.replica = replica
    self.ownThrough = ownThrough
  }
}
