import DriftlessProtocol
import Foundation
import Synchronization

/// A transport that can also wait for news of the zone, and fetches no news twice.
///
/// `waitForNews` repeats the engine's last pull as a long poll. When a page comes, it is kept, and
/// the engine's next pull gets it without asking the server again. Bytes that were changed on their
/// way are asked for again.
final class NewsTransport: SyncTransport {
  private struct State {
    /// The engine's last pull; what it asked for is where the replica stands.
    var last: PullRequest?
    /// A page that the long poll brought, for exactly this request.
    var kept: (request: PullRequest, page: PullPage)?
    /// What the answers since the engine took note of it said about the zone's clock.
    var clock: ClockReading?
    /// How many answers came.
    var answers: UInt64 = 0
    /// Long polls in a row that were answered at once, without news.
    var earlyAnswers = 0
  }

  private let transport: any SyncTransport
  private let now: @Sendable () -> Date
  private let sleep: @Sendable (Double) async throws -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - now: the host's time of day.
  ///   - sleep: waits for so many seconds.
  init(
    _ transport: any SyncTransport, now: @escaping @Sendable () -> Date = { Date() },
    sleep: @escaping @Sendable (Double) async throws -> Void = {
      try await Task.sleep(for: .seconds($0))
    }
  ) {
    self.transport = transport
    self.now = now
    self.sleep = sleep
  }

  func zoneInfo() async throws -> ZoneInfo {
    try await undamaged {
      try await timed {
        try await transport.zoneInfo()
      } time: {
        $0.serverTimeMilliseconds
      }
    }
  }

  /// The way itself, for who keeps no news.
  var way: any SyncTransport { transport }

  /// How many answers the zone has given; a page that was kept counts when it is taken.
  var answers: UInt64 { state.withLock { $0.answers } }

  /// What the answers since the last call said about the zone's clock.
  func takeClockReading() -> ClockReading? {
    state.withLock { state in
      defer { state.clock = nil }
      return state.clock
    }
  }

  /// Makes a request and notes what its answer says about the zone's clock.
  private func timed<Answer>(
    _ request: () async throws -> Answer, time: (Answer) -> UInt64
  ) async throws -> Answer {
    let asked = now()
    func learn(_ milliseconds: UInt64) {
      guard let reading = ClockReading(zone: milliseconds, asked: asked, answered: now()) else {
        return
      }
      state.withLock { $0.clock = reading.after($0.clock) }
    }
    do {
      let answer = try await request()
      learn(time(answer))
      return answer
    } catch let error as ProtocolError {
      error.serverTimeMilliseconds.map(learn)
      throw error
    }
  }

  func push(_ frame: Data) async throws -> PushReply {
    let reply = try await undamaged {
      try await timed {
        try await transport.push(frame)
      } time: {
        $0.serverTimeMilliseconds
      }
    }
    // From here on the zone has this push: a long poll need not bring it back whole.
    state.withLock { $0.last?.ownThrough = reply.sequence }
    return reply
  }

  func stage(_ part: Data) async throws -> StagedReply {
    try await undamaged {
      try await timed {
        try await transport.stage(part)
      } time: {
        $0.serverTimeMilliseconds
      }
    }
  }

  func pull(_ request: PullRequest) async throws -> PullPage {
    let kept = state.withLock { state -> PullPage? in
      defer { state.kept = nil }
      state.last = request
      guard let kept = state.kept, kept.request == request else { return nil }
      state.answers += 1
      return kept.page
    }
    if let kept { return kept }
    var page = try await fetch(request)
    // A frame that stays damaged is the server's own: what can be read of the rest is applied.
    for _ in 1..<SyncTuning.damagedAttemptsMax where !page.isWhole {
      page = try await fetch(request)
    }
    return page
  }

  private func fetch(_ request: PullRequest) async throws -> PullPage {
    try await undamaged {
      // A long poll's answer says nothing about when it was asked for.
      guard request.waitSeconds == 0 else { return try await transport.pull(request) }
      return try await timed {
        try await transport.pull(request)
      } time: {
        $0.serverTimeMilliseconds
      }
    }
  }

  /// Bytes that were changed on their way go again; when that does not help, the error says so.
  private func undamaged<Answer>(_ request: () async throws -> Answer) async throws -> Answer {
    let answer = try await untilUndamaged(request)
    state.withLock { $0.answers += 1 }
    return answer
  }

  private func untilUndamaged<Answer>(
    _ request: () async throws -> Answer
  ) async throws -> Answer {
    for _ in 1..<SyncTuning.damagedAttemptsMax {
      do { return try await request() } catch let error as ProtocolError {
        guard error.code == .damaged else { throw error }
      }
    }
    return try await request()
  }

  func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
    try await undamaged { try await transport.refill(entries) }
  }

  func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    try await undamaged { try await transport.commonPlace(of: marks, generation: generation) }
  }

  func snapshot(of generation: UUID) async throws -> Snapshot? {
    try await undamaged { try await transport.snapshot(of: generation) }
  }

  func keptSnapshot(of generation: UUID) async throws -> Snapshot? {
    try await undamaged { try await transport.keptSnapshot(of: generation) }
  }

  func segment(
    _ name: String, of generation: UUID, range: Range<Int>
  ) async throws -> Data {
    try await undamaged { try await transport.segment(name, of: generation, range: range) }
  }

  func digests(at cursor: Cursor) async throws -> ZoneDigests {
    try await undamaged { try await transport.digests(at: cursor) }
  }

  func digests(_ part: DigestPart, at cursor: Cursor) async throws -> Data {
    try await undamaged { try await transport.digests(part, at: cursor) }
  }

  func put(_ piece: ValuePiece) async throws -> ValueState {
    // A damaged answer to a last piece says that the value is not what its digest says.
    try await transport.put(piece)
  }

  func value(_ digest: Data, of generation: UUID, range: Range<Int>) async throws -> Data {
    try await undamaged { try await transport.value(digest, of: generation, range: range) }
  }

  func lostValues(of generation: UUID, after digest: Data?) async throws -> LostValues {
    try await undamaged { try await transport.lostValues(of: generation, after: digest) }
  }

  /// Asks the server to answer when the zone has something that this replica has not.
  ///
  /// A server where too many wait already, or a way that knows no waiting, answers at once without news. Then the next question
  /// has to wait here: whoever asks again and again would else do nothing but that.
  ///
  /// - Returns: Whether there is something to pull; false when the time ran out.
  func waitForNews(seconds: Int) async throws -> Bool {
    guard let last = state.withLock({ $0.last }) else { return true }
    var waiting = last
    waiting.waitSeconds = seconds
    let start = ContinuousClock.now
    let page: PullPage
    do {
      page = try await transport.pull(waiting)
    } catch let error as ProtocolError
      where error.code == .diverged || error.code == .generationChanged
    {
      // The next pull hears it too, and knows what to do.
      return true
    }
    guard page.generation == last.cursor.generation, page.entries.isEmpty else {
      state.withLock { state in
        state.earlyAnswers = 0
        if page.isWhole { state.kept = (last, page) }
      }
      return true
    }
    try await pause(after: (ContinuousClock.now - start) / .seconds(1), of: Double(seconds))
    return false
  }

  /// Waits in the place of a server that did not: about a second, then twice as long each time, with jitter.
  private func pause(after elapsed: Double, of seconds: Double) async throws {
    let isEarly = elapsed < min(SyncTuning.earlyAnswerSeconds, seconds / 2)
    let count = state.withLock { state in
      state.earlyAnswers = isEarly ? state.earlyAnswers + 1 : 0
      return state.earlyAnswers
    }
    guard count > 0 else { return }
    let longest = min(Double(1 << min(count - 1, 30)), SyncTuning.earlyPauseSecondsMax)
    try await sleep(min(longest * .random(in: 0.75...1.25), seconds - elapsed))
  }
}

extension PullPage {
  /// Whether every frame is as it was made.
  fileprivate var isWhole: Bool {
    entries.allSatisfy { $0.isOwnHeaderOnly || ChangeSetHeader.isWhole($0.frame) }
  }
}
