/// When a store syncs (`SyncEngine.run`): events go in, actions come out, time is a number. No clock, no tasks, no
/// randomness.
///
/// A change here waits a moment, so that a burst of saves is one push. News of the zone is fetched
/// at once. A failure backs off, doubling to a ceiling with jitter; a person's request or a reload is
/// sooner. A change here brings the next attempt nearer, once in each pause, and by less each time that
/// it was in vain: what is saved goes soon after an outage, and nothing hammers the server. A refusal
/// that time does not heal (a revoked token) waits the ceiling. Now and then a sync happens without a
/// reason, in case one was missed.
public struct SyncSchedule: Sendable {
  /// Delays, in seconds.
  public struct Delays: Hashable, Sendable {
    /// From a change to the sync that sends it.
    public var settle = 0.2
    /// After the first failure, before jitter.
    public var retryFirst = 1.0
    /// Between attempts at most.
    public var retryMax = 300.0
    /// Between attempts at most while the store's file system has no space left.
    public var roomMax = 30.0
    /// From a change while sync fails to the next attempt; twice as long each time that it was in vain.
    public var retryChanged = 5.0
    /// From a change while sync fails to the next attempt at most, also where an answer asked to wait for longer.
    public var retryChangedMax = 60.0
    /// Between syncs without a reason.
    public var idle = 900.0
    /// Of one long poll. Shorter than the minute after which many proxies cut silent connections.
    public var poll = 50.0

    /// - Parameters:
    ///   - settle: Seconds from a change to the sync that sends it.
    ///   - retryFirst: Seconds after the first failure.
    ///   - retryMax: Seconds between attempts at most.
    ///   - idle: Seconds between syncs without a reason.
    ///   - poll: Seconds of one long poll.
    public init(
      settle: Double = 0.2, retryFirst: Double = 1, retryMax: Double = 300, idle: Double = 900,
      poll: Double = 50
    ) {
      self.settle = settle
      self.retryFirst = retryFirst
      self.retryMax = retryMax
      self.idle = idle
      self.poll = poll
    }

    /// Seconds to the next attempt before jitter, doubled with each failure.
    ///
    /// - Parameters:
    ///   - count: failed attempts in a row.
    ///   - most: where the doubling ends.
    package func afterFailures(_ count: Int, most: Double) -> Double {
      // 2^30 seconds is beyond any ceiling; the bound keeps the shift defined.
      min(retryFirst * Double(1 << min(max(count - 1, 0), 30)), most)
    }

    /// Seconds from a change to the attempt that it brings nearer, before jitter.
    ///
    /// - Parameter count: such attempts in a row that failed.
    package func afterChange(_ count: Int) -> Double {
      min(retryChanged * Double(1 << min(max(count, 0), 30)), retryChangedMax)
    }
  }

  /// What happened.
  public enum Event: Hashable, Sendable {
    /// Start, or the configuration was read again.
    case started
    /// Somebody saved to the store.
    case changed
    /// The zone has something new.
    case news
    /// A person asks.
    case asked
    /// The time of `wake` has come.
    case timer
    case succeeded
    /// The sync succeeded, and something that somebody asked for beside it did not come: that is tried again as after a failure, while
    /// all else goes on; `waitsForRoom` when there was no space left here.
    case succeededInPart(waitsForRoom: Bool)
    /// The sync failed; `isTransient` when time may heal it, `waitsForRoom` when there was no space left here.
    case failed(isTransient: Bool, retryAfter: Double?, waitsForRoom: Bool = false)
  }

  /// What to do.
  public enum Action: Hashable, Sendable {
    case startSync
    /// Send `timer` after so many seconds; replaces the former.
    case wake(after: Double)
    /// Listen for news of the zone from now on.
    case listen
    /// Stop to listen: the server is away, or a sync is about to look by itself.
    case deafen
  }

  /// What the store does.
  public enum State: Hashable, Sendable {
    case listening
    /// Waits for the burst of saves to end.
    case settling
    case syncing(again: Bool)
    case backingOff
  }

  /// How long it waits, in seconds.
  public let delays: Delays
  /// What the store does.
  public private(set) var state: State = .listening
  /// Failed attempts in a row.
  public private(set) var failedAttempts = 0
  /// Seconds of the pause that goes on.
  private var pause = 0.0
  /// Seconds that somebody who answers may ask to wait for, also where the pauses are to be shorter.
  private static let askedToWaitMax = 300.0

  /// For how long whoever answered asked to wait.
  private var askedToWait = 0.0
  /// Whether a change has brought the end of the pause nearer.
  private var isHastened = false
  /// Attempts in a row that a change brought nearer, in vain.
  private var hastenedAttempts = 0

  /// - Parameter delays: How long it waits, in seconds.
  public init(delays: Delays = Delays()) {
    self.delays = delays
  }

  /// - Parameters:
  ///   - event: What happened.
  ///   - jitter: A random number from 0 up to 1; used by failures only.
  ///   - left: Seconds until the time of the last `wake`; nil where it has just been asked for.
  /// - Returns: What to do, in order.
  public mutating func handle(
    _ event: Event, jitter: Double = 0.5, left: Double? = nil
  ) -> [Action] {
    switch (state, event) {
    case (.syncing, .changed), (.syncing, .news), (.syncing, .asked), (.syncing, .started):
      state = .syncing(again: true)
      return []
    case (.syncing(let again), .succeeded):
      failedAttempts = 0
      hastenedAttempts = 0
      state = again ? .settling : .listening
      return again ? [.wake(after: delays.settle)] : [.listen, .wake(after: delays.idle)]
    case (.syncing(let again), .succeededInPart(let waitsForRoom)):
      hastenedAttempts = 0
      backOff(
        most: min(waitsForRoom ? delays.roomMax : delays.retryMax, delays.idle), isTransient: true,
        retryAfter: nil, jitter: jitter)
      state = again ? .settling : .listening
      return again ? [.wake(after: delays.settle)] : [.listen, .wake(after: pause)]
    case (let former, .failed(let isTransient, let retryAfter, let waitsForRoom)):
      backOff(
        most: waitsForRoom ? min(delays.roomMax, delays.retryMax) : delays.retryMax,
        isTransient: isTransient, retryAfter: retryAfter, jitter: jitter)
      // What was saved during the attempt may have come too late for it.
      if former == .syncing(again: true), let sooner = hastened(jitter: jitter, left: pause) {
        pause = sooner
      }
      return [.deafen, .wake(after: pause)]
    case (.syncing, .timer), (.listening, .succeeded), (.settling, .succeeded),
      (.backingOff, .succeeded), (_, .succeededInPart):
      return []
    case (.listening, .changed):
      state = .settling
      return [.wake(after: delays.settle)]
    case (.backingOff, .changed):
      return hastened(jitter: jitter, left: left ?? pause).map { [.wake(after: $0)] } ?? []
    case (.settling, .changed), (.backingOff, .news):
      return []
    case (.listening, _), (.settling, _), (.backingOff, _):
      state = .syncing(again: false)
      return [.deafen, .startSync]
    }
  }

  private mutating func backOff(
    most: Double, isTransient: Bool, retryAfter: Double?, jitter: Double
  ) {
    state = .backingOff
    failedAttempts += 1
    let ceiling = isTransient ? delays.afterFailures(failedAttempts, most: most) : most
    let jittered = ceiling * (0.5 + 0.5 * min(max(jitter, 0), 1))
    // Whoever answers may ask for patience, and not for days: a gateway on the way may say anything.
    askedToWait = min(retryAfter ?? 0, max(delays.retryMax, Self.askedToWaitMax))
    pause = max(jittered, askedToWait)
    isHastened = false
  }

  /// Something was saved while sync fails: maybe a person sits there, and the network is back.
  ///
  /// - Parameter left: Seconds until the next attempt as it is.
  /// - Returns: Seconds until one that is sooner; nil where none is.
  private mutating func hastened(jitter: Double, left: Double) -> Double? {
    guard !isHastened else { return nil }
    let ceiling = delays.afterChange(hastenedAttempts)
    let jittered = ceiling * (0.5 + 0.5 * min(max(jitter, 0), 1))
    let sooner = max(jittered, min(askedToWait, delays.retryChangedMax))
    guard sooner < left else { return nil }
    isHastened = true
    hastenedAttempts += 1
    return sooner
  }
}
