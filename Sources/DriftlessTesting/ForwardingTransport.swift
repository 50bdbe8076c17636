public import DriftlessProtocol
public import Foundation

/// A transport that hands on what it does not do itself: the beginning of one that is away, picky or slow.
///
/// ```swift
/// struct Offline: ForwardingTransport {
///   let next: any SyncTransport
///   func push(_ frame: Data) async throws -> PushReply { throw URLError(.notConnectedToInternet) }
/// }
/// ```
public protocol ForwardingTransport: SyncTransport {
  /// Who gets what is handed on.
  var next: any SyncTransport { get }
}

extension ForwardingTransport {
  public func zoneInfo() async throws -> ZoneInfo { try await next.zoneInfo() }
  public func push(_ frame: Data) async throws -> PushReply { try await next.push(frame) }
  public func stage(_ part: Data) async throws -> StagedReply { try await next.stage(part) }
  public func pull(_ request: PullRequest) async throws -> PullPage { try await next.pull(request) }

  public func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
    try await next.refill(entries)
  }

  public func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    try await next.commonPlace(of: marks, generation: generation)
  }

  public func snapshot(of generation: UUID) async throws -> Snapshot? {
    try await next.snapshot(of: generation)
  }

  public func keptSnapshot(of generation: UUID) async throws -> Snapshot? {
    try await next.keptSnapshot(of: generation)
  }

  public func segment(
    _ name: String, of generation: UUID, range: Range<Int>
  ) async throws -> Data {
    try await next.segment(name, of: generation, range: range)
  }

  public func digests(at cursor: Cursor) async throws -> ZoneDigests {
    try await next.digests(at: cursor)
  }

  public func digests(_ part: DigestPart, at cursor: Cursor) async throws -> Data {
    try await next.digests(part, at: cursor)
  }

  public func put(_ piece: ValuePiece) async throws -> ValueState { try await next.put(piece) }

  public func value(_ digest: Data, of generation: UUID, range: Range<Int>) async throws -> Data {
    try await next.value(digest, of: generation, range: range)
  }

  public func lostValues(of generation: UUID, after digest: Data?) async throws -> LostValues {
    try await next.lostValues(of: generation, after: digest)
  }
}
