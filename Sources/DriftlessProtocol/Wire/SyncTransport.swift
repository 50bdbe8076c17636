public import Foundation

/// The way from a replica to its zone.
///
/// What the server refuses is thrown as `ProtocolError` with the server's code and words. An
/// implementation may throw errors of its own when no usable answer came; the caller then tries
/// again later with the same bytes.
public protocol SyncTransport: Sendable {
  /// Where the zone's log stands.
  func zoneInfo() async throws -> ZoneInfo

  /// Hands a change set to the zone.
  ///
  /// - Parameter frame: What `ChangeSetEncoder` made.
  func push(_ frame: Data) async throws -> PushReply

  /// The zone's log after a cursor; waits for news when asked to.
  func pull(_ request: PullRequest) async throws -> PullPage

  /// Hands over entries that the zone lost, byte for byte: the first follows the zone's head.
  ///
  /// - Throws: `ProtocolError`: `.diverged` when the log does not go on with them.
  func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply

  /// The highest of some places of a replica's log that is the zone's own; nil when none is.
  func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark?
}
