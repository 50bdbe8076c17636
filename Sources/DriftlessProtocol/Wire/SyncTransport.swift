public import Foundation

/// The way from a replica to its zone.
///
/// What the server refuses is thrown as `ProtocolError` with the server's code and words. An
/// implementation may throw errors of its own when no usable answer came; the caller then tries
/// again later with the same bytes.
public protocol SyncTransport: Sendable {
  /// Where the zone's log stands.
  ///
  /// - Throws: `ProtocolError` where the server refuses; an error of the transport's own where no usable answer came.
  func zoneInfo() async throws -> ZoneInfo

  /// Hands a change set to the zone.
  ///
  /// - Parameter frame: What `ChangeSetEncoder` made.
  /// - Throws: `ProtocolError`: `.stale` when the zone has news that the push does not know, `.diverged` when its log is another one,
  ///   `.tooLarge`, and what else the server refuses.
  func push(_ frame: Data) async throws -> PushReply

  /// Hands a part of a push to the zone that others follow. The last one goes by `push`.
  ///
  /// - Parameter part: A frame, or the header alone of one whose bytes the zone may have.
  /// - Throws: `ProtocolError`: `.notStaged` for a header whose bytes the zone does not have, `.unsupported` where it takes no
  ///   parts.
  func stage(_ part: Data) async throws -> StagedReply

  /// The zone's log after a cursor; waits for news when asked to.
  ///
  /// - Throws: `ProtocolError`: `.diverged` when the cursor is not of its log, `.generationChanged` when the log was begun anew, and what
  ///   else the server refuses.
  func pull(_ request: PullRequest) async throws -> PullPage

  /// Hands over entries that the zone lost, byte for byte: the first follows the zone's head.
  ///
  /// - Throws: `ProtocolError`: `.diverged` when the log does not go on with them.
  func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply

  /// The highest of some places of a replica's log that is the zone's own; nil when none is.
  ///
  /// - Throws: `ProtocolError` where the server refuses, or knows no such generation.
  func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark?

  /// What the zone's log comes to at some place, so that a new replica need not read all of it; nil where the zone has it
  /// not.
  ///
  /// - Throws: `ProtocolError` where the server refuses.
  func snapshot(of generation: UUID) async throws -> Snapshot?

  /// What stands for the entries of the zone's log that were purged, where ``snapshot(of:)`` is newer and cannot be taken in; nil where
  /// none were.
  ///
  /// - Throws: `ProtocolError` where the server refuses.
  func keptSnapshot(of generation: UUID) async throws -> Snapshot?

  /// A piece of a file of a snapshot.
  ///
  /// - Parameters:
  ///   - name: The file's name in the snapshot.
  ///   - generation: The life of the log that the snapshot is of.
  ///   - range: Which of its bytes; at most those.
  /// - Throws: `ProtocolError`: `.noSnapshot` when the zone has another snapshot by now.
  func segment(
    _ name: String, of generation: UUID, range: Range<Int>
  ) async throws -> Data

  /// Digests of what the zone's log comes to, at a place of it or a later one.
  ///
  /// - Throws: `ProtocolError`: `.unsupported` where the zone has none, `.diverged` when the place is not of its log.
  func digests(at cursor: Cursor) async throws -> ZoneDigests

  /// A part of the digests of a place, or the objects that they are of.
  ///
  /// - Parameters:
  ///   - part: Which of them.
  ///   - cursor: The place that ``digests(at:)`` named.
  /// - Throws: `ProtocolError`: `.noSnapshot` when the zone has the digests of another place by now.
  func digests(_ part: DigestPart, at cursor: Cursor) async throws -> Data

  /// Hands a piece of a large value to the zone, or asks how much of it the zone has.
  ///
  /// - Throws: `ProtocolError`: `.unsupported` where the zone takes none, `.tooLarge`, and `.damaged` when all pieces together are
  ///   not what the digest says.
  func put(_ piece: ValuePiece) async throws -> ValueState

  /// A piece of a large value of the zone.
  ///
  /// - Parameters:
  ///   - digest: The SHA-256 of the value.
  ///   - generation: The life of the log that names it.
  ///   - range: Which of its bytes, up to a multiple of ``LargeValue/pieceBytesMax`` or the value's end; at most those.
  /// - Throws: `ProtocolError` (`.noValue`) when the zone does not have it; ``PartOfValue`` where some of the piece came.
  func value(_ digest: Data, of generation: UUID, range: Range<Int>) async throws -> Data

  /// Large values that the zone's log names and the zone lacks: a server that was put back, or whose disk changed them, lost them.
  ///
  /// - Parameters:
  ///   - generation: The life of the log that names them.
  ///   - digest: Those after it, in the order of their digests; nil for the first ones.
  /// - Throws: `ProtocolError` where the server refuses.
  /// - Returns: At most ``LostValues/countMax``.
  func lostValues(of generation: UUID, after digest: Data?) async throws -> LostValues
}

extension SyncTransport {
  /// It takes none: a push goes whole.
  ///
  /// - Throws: `ProtocolError` (`.unsupported`).
  public func stage(_ part: Data) async throws -> StagedReply { throw ProtocolError.takesNoParts }

  /// None: a new replica reads the whole log.
  ///
  /// - Throws: nothing.
  public func snapshot(of generation: UUID) async throws -> Snapshot? { nil }

  /// None: no log is purged.
  ///
  /// - Throws: nothing.
  public func keptSnapshot(of generation: UUID) async throws -> Snapshot? { nil }

  /// There is none.
  ///
  /// - Throws: `ProtocolError` (`.noSnapshot`).
  public func segment(
    _ name: String, of generation: UUID, range: Range<Int>
  ) async throws -> Data {
    throw ProtocolError.noSnapshot
  }

  /// There are none.
  ///
  /// - Throws: `ProtocolError` (`.unsupported`).
  public func digests(at cursor: Cursor) async throws -> ZoneDigests {
    throw ProtocolError.noDigests
  }

  /// There are none.
  ///
  /// - Throws: `ProtocolError` (`.unsupported`).
  public func digests(_ part: DigestPart, at cursor: Cursor) async throws -> Data {
    throw ProtocolError.noDigests
  }

  /// It takes none: values go within change sets.
  ///
  /// - Throws: `ProtocolError` (`.unsupported`).
  public func put(_ piece: ValuePiece) async throws -> ValueState {
    throw ProtocolError.takesNoValues
  }

  /// There are none.
  ///
  /// - Throws: `ProtocolError` (`.noValue`).
  public func value(_ digest: Data, of generation: UUID, range: Range<Int>) async throws -> Data {
    throw ProtocolError.noValue(digest)
  }

  /// None: it has no large values.
  ///
  /// - Throws: nothing.
  public func lostValues(of generation: UUID, after digest: Data?) async throws -> LostValues {
    LostValues([])
  }
}

extension ProtocolError {
  /// The zone takes no push in several parts.
  public static let takesNoParts = ProtocolError(
    .unsupported, "The server takes no push in several parts",
    suggestion: "Send it in one. Its operator can update the server.")

  /// The zone has no such snapshot, or none any more.
  public static let noSnapshot = ProtocolError(
    .noSnapshot, "The zone has no such snapshot", suggestion: "Pull its log from the beginning.")

  /// The zone's server does not tell digests of what the log comes to.
  public static let noDigests = ProtocolError(
    .unsupported, "The server has nothing that a store can be compared with",
    suggestion: "Compare with another replica: syncctl digest. Its operator can update the server."
  )
}
