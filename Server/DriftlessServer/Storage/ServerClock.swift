import Foundation
import Logging
import Synchronization

/// The server's time: the host's time of day, as far as it can be believed.
///
/// It never goes back, also when the server was ended meanwhile and the host's clock set back: the time is counted on from the
/// last that was given, a little slower than the clock that runs since the host was started, until the time of day has come
/// to it. What was given in the last minute before a process was killed is not kept. And it does not follow a leap ahead at
/// once: what a clock says that is set wrong for a moment would win every conflict for long. A leap that lasts is believed.
/// A server that was off for long, or put back to an old backup, has the same before it, so a process that is young follows a
/// far greater one: else all that replicas have not sent would be moved back to the time when it was last on.
package final class ServerClock: Sendable {
  /// Milliseconds since 1970 by the host's time of day.
  package typealias Wall = @Sendable () -> Int64

  /// What happened to the host's clock.
  enum Event: Equatable {
    case isBehind(milliseconds: Int64)
    case isAhead(milliseconds: Int64)
    case isRight
  }

  private struct State {
    /// The last time that was given, and what the other clock said then.
    var given: Double
    var sinceBoot: Int64
    /// When a leap ahead was seen first, by the other clock.
    var leapSince: Int64?
    var event = Event.isRight
    /// The last time that is kept in the database.
    var kept: Int64
    /// The last time that was handed out to be kept there.
    var due: Int64
  }

  private let wall: Wall
  private let sinceBoot: @Sendable () -> Int64
  private let leapMax: Double
  private let leapAtStartMax: Double
  private let leapMilliseconds: Int64
  private let started: Int64
  private let tell: @Sendable (Event) -> Void
  private let state: Mutex<State>

  /// What is counted while the time of day is behind: it comes closer by a tenth.
  private static let pace = 0.9
  /// 2025-01-01. What was given before it came of a clock that was not set yet, and does not hold up one that is.
  static let earliest = 1_735_689_600_000.0
  /// How much may be given that is not kept: so much less may be given after the server was ended.
  private static let keptMilliseconds = 60_000.0

  /// - Parameters:
  ///   - last: the last time that was given; 0 for none.
  ///   - sinceBoot: milliseconds by a clock that nobody sets.
  ///   - tell: called when the host's clock begins to be behind or ahead, or is right again.
  init(
    last: Int64, limits: ServerLimits, wall: @escaping Wall,
    sinceBoot: @escaping @Sendable () -> Int64, tell: @escaping @Sendable (Event) -> Void
  ) {
    self.wall = wall
    self.sinceBoot = sinceBoot
    self.tell = tell
    leapMax = Double(limits.clockLeapMillisecondsMax)
    leapAtStartMax = Double(limits.clockLeapAtStartMillisecondsMax)
    leapMilliseconds = Int64(limits.clockLeapSeconds) * 1000
    started = sinceBoot()
    state = Mutex(State(given: Double(last), sinceBoot: started, kept: last, due: last))
  }

  /// Milliseconds since the host was started, those asleep included.
  package static let hostSinceBoot: @Sendable () -> Int64 = {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Milliseconds since 1970: never less than what was given before.
  func now() -> Int64 {
    let (time, event) = state.withLock { state -> (Int64, Event?) in
      let boot = sinceBoot()
      let wall = Double(wall())
      let event = advance(&state, to: wall, at: boot)
      defer { state.event = event }
      let isNew =
        switch (event, state.event) {
        case (.isRight, .isRight), (.isBehind, .isBehind), (.isAhead, .isAhead): false
        default: true
        }
      return (Int64(state.given), isNew ? event : nil)
    }
    if let event { tell(event) }
    return time
  }

  private func advance(_ state: inout State, to wall: Double, at boot: Int64) -> Event {
    let elapsed = Double(max(0, boot - state.sinceBoot))
    defer { state.sinceBoot = boot }
    let leap = wall - (state.given + elapsed)
    if wall < state.given {
      state.leapSince = nil
      state.given += elapsed * Self.pace
      return .isBehind(milliseconds: Int64(-leap))
    }
    let isYoung = boot - started < leapMilliseconds
    let limit = isYoung ? max(leapMax, leapAtStartMax) : leapMax
    if leap > limit, state.given >= Self.earliest {
      let since = state.leapSince ?? boot
      if boot - since < leapMilliseconds {
        state.leapSince = since
        state.given += elapsed
        return .isAhead(milliseconds: Int64(leap))
      }
    }
    state.leapSince = nil
    state.given = wall
    return .isRight
  }

  /// The last time that was given, where it is not kept: to be kept when the server ends.
  func lastToKeep() -> Int64? {
    state.withLock { state in
      guard Int64(state.given) > state.kept else { return nil }
      state.kept = Int64(state.given)
      return state.kept
    }
  }

  /// The time to keep in the database, where that is due: a server that is started again goes on from it. Who takes it says
  /// by `didKeep` or `didNotKeep` what became of it; until then it is due for nobody else.
  func dueToKeep() -> Int64? {
    state.withLock { state in
      guard state.given - Double(max(state.kept, state.due)) >= Self.keptMilliseconds else {
        return nil
      }
      state.due = Int64(state.given)
      return state.due
    }
  }

  /// Whether a time that was due is not in the database yet, as it is when the server has ended meanwhile.
  func isToKeep(_ time: Int64) -> Bool { state.withLock { $0.kept < time } }

  /// A time that was due is in the database.
  func didKeep(_ time: Int64) {
    state.withLock { $0.kept = max($0.kept, time) }
  }

  /// What was due could not be kept: it is due again at once.
  func didNotKeep() {
    state.withLock { $0.due = $0.kept }
  }
}

extension ServerClock.Event {
  /// Tells the operator.
  func tell(_ logger: Logger) {
    switch self {
    case .isRight: logger.notice("the host's clock is followed again")
    case .isBehind(let milliseconds):
      logger.warning(
        "the host's clock was set back: the server's time is counted on",
        metadata: ["milliseconds": "\(milliseconds)"])
    case .isAhead(let milliseconds):
      logger.warning(
        "the host's clock leapt ahead: it is followed when it stays there",
        metadata: ["milliseconds": "\(milliseconds)"])
    }
  }
}
