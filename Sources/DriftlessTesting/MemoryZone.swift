public import DriftlessProtocol
public import Foundation
import Synchronization

/// A zone in memory: the rules of a server without a server, as a transport. For tests and
/// previews.
///
/// ```swift
/// let zone = MemoryZone(name: "shop")
/// let engine = SyncEngine(store: store, enrollingThrough: zone)
/// ```
public final class MemoryZone: ZoneTransport {
  /// What went over the wire so far.
  public struct Traffic: Hashable, Sendable {
    /// Pushes that arrived.
    public var pushes = 0
    /// Parts of pushes that arrived before the last ones, and headers of such.
    public var stagedParts = 0
    /// Pulls that arrived.
    public var pulls = 0
    /// Entries that pulls carried, headers of own ones included.
    public var entries = 0
    /// Bytes of frames, in and out.
    public var bytes = 0
    /// Bytes of large values, in and out.
    public var valueBytes = 0
  }

  /// An address for `enroll`; nothing listens there.
  public static let url = URL(filePath: "/memory")

  /// The zone's name.
  public let name: String
  /// ``url``.
  public var server: URL { Self.url }
  /// ``name``.
  public var zone: String { name }
  private let clock: ManualClock?
  private let state: Mutex<(log: ZoneLog, traffic: Traffic)>
  private let news = MemoryNews()
  private let digested = DigestedLog()

  /// - Parameters:
  ///   - name: The zone's name.
  ///   - clock: the server's clock; nil for the machine's.
  ///   - clockToleranceMilliseconds: how far ahead of it an edit may be; nil: times are not looked
  ///     at.
  public init(
    name: String = "zone", clock: ManualClock? = nil, clockToleranceMilliseconds: UInt64? = nil
  ) {
    self.name = name
    self.clock = clock
    var log = ZoneLog(name: name)
    log.clockToleranceMilliseconds = clockToleranceMilliseconds
    state = Mutex((log, Traffic()))
  }

  /// What went over the wire so far.
  public var traffic: Traffic { state.withLock { $0.traffic } }
  /// The last sequence number of the log; 0 when it is empty.
  public var head: UInt64 { state.withLock { $0.log.head } }

  /// The zone's log as it is now: a backup.
  public var log: ZoneLog { state.withLock { $0.log } }

  /// Puts a log in the place of the zone's: an older copy of it, or another zone's.
  public func putBack(_ log: ZoneLog) {
    state.withLock { $0.log = log }
    news.tell()
  }

  /// Begins a new generation, with an empty log.
  public func renew(intent: ZoneIntent = .offer) {
    state.withLock { $0.log = $0.log.renewed(intent: intent) }
    news.tell()
  }

  public func zoneInfo() async throws -> ZoneInfo {
    let now = now
    return state.withLock { $0.log.info(nowMilliseconds: now) }
  }

  public func push(_ frame: Data) async throws -> PushReply {
    let now = now
    let reply = try state.withLock { state in
      state.traffic.pushes += 1
      state.traffic.bytes += frame.count
      return try state.log.append(frame, nowMilliseconds: now)
    }
    news.tell()
    return reply
  }

  public func stage(_ part: Data) async throws -> StagedReply {
    let now = now
    return try state.withLock { state in
      state.traffic.stagedParts += 1
      state.traffic.bytes += part.count
      return try state.log.stage(part, nowMilliseconds: now)
    }
  }

  /// Gives a page of the log. Where there is nothing new it waits for as long as the request says, as a server does.
  ///
  /// - Throws: `ProtocolError` as a server: `.diverged`, `.generationChanged`.
  public func pull(_ request: PullRequest) async throws -> PullPage {
    state.withLock { $0.traffic.pulls += 1 }
    let end = ContinuousClock.now + .seconds(request.waitSeconds)
    while true {
      let seen = news.count
      let page = try page(request)
      let left = (end - .now) / .seconds(1)
      // What was new may be known to who asks, or be none of its business.
      guard page.entries.isEmpty, left > 0 else { return page }
      await news.wait(since: seen, seconds: left)
      try Task.checkCancellation()
    }
  }

  private func page(_ request: PullRequest) throws -> PullPage {
    let now = now
    return try state.withLock { state in
      let page = try state.log.page(request, nowMilliseconds: now)
      state.traffic.entries += page.entries.count
      state.traffic.bytes += page.entries.reduce(0) { $0 + $1.frame.count }
      return page
    }
  }

  public func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
    let reply = try state.withLock { try $0.log.refill(entries) }
    news.tell()
    return reply
  }

  public func put(_ piece: ValuePiece) async throws -> ValueState {
    try state.withLock { state in
      state.traffic.valueBytes += piece.bytes.count
      return try state.log.values.put(piece)
    }
  }

  public func value(_ digest: Data, of generation: UUID, range: Range<Int>) async throws -> Data {
    try state.withLock { state in
      let piece = try state.log.values.piece(of: digest, range: range)
      state.traffic.valueBytes += piece.count
      return piece
    }
  }

  public func lostValues(of generation: UUID, after digest: Data?) async throws -> LostValues {
    state.withLock { $0.log.values.lost(after: digest) }
  }

  /// Changes the large values that the zone has, as a disk or an operator may.
  public func changeValues(_ change: (inout ZoneValues) -> Void) {
    state.withLock { change(&$0.log.values) }
  }

  public func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    try state.withLock { try $0.log.commonPlace(of: marks, generation: generation) }
  }

  public func digests(at cursor: Cursor) async throws -> ZoneDigests {
    let log = log
    guard log.generation == cursor.generation else {
      throw ProtocolError(
        .generationChanged, "The zone is of another generation", suggestion: "Sync again.")
    }
    return try await digested.digests(of: log.zoneID, at: cursor) { place in
      try log.page(
        PullRequest(
          cursor: place, maxBytes: 1 << 20, waitSeconds: 0, replica: UUID(), ownThrough: 0),
        nowMilliseconds: 0)
    }
  }

  public func digests(_ part: DigestPart, at cursor: Cursor) async throws -> Data {
    try digested.answer(part, at: cursor)
  }

  private var now: UInt64 {
    clock?.milliseconds ?? UInt64(Date().timeIntervalSince1970 * 1000)
  }
}
