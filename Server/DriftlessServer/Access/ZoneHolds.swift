package import Foundation
import Synchronization

/// Lets a large push in among many small ones: a replica that was told *stale* several times in a row gets the zone to
/// itself, for as long as it needs to pull and push once, as its former tries show.
package final class ZoneHolds: Sendable {
  private struct Zone {
    /// When each replica was told that its push is stale, the last few times.
    var stale: [UUID: [ContinuousClock.Instant]] = [:]
    var holder: Holder?
    /// Nobody gets the zone to itself before that.
    var restsUntil: ContinuousClock.Instant?

    mutating func end(_ holder: Holder, at now: ContinuousClock.Instant) {
      self.holder = nil
      restsUntil = now + holder.since.duration(to: min(now, holder.until)) * ZoneHolds.restShare
    }
  }

  private struct Holder {
    var replica: UUID
    var since: ContinuousClock.Instant
    var until: ContinuousClock.Instant
  }

  /// After a zone was held, it is open to all for so many times as long: a replica whose pushes never get in keeps the others
  /// from a quarter of the time at most.
  private static let restShare = 3

  private let zones = Mutex<[Int64: Zone]>([:])
  private let limits: LiveLimits

  package init(limits: LiveLimits) { self.limits = limits }

  /// - Throws: `ServerError` (`.busy`) while the zone is held for another replica.
  package func admit(_ replica: UUID, to zone: Int64, at now: ContinuousClock.Instant = .now) throws
  {
    let isHeld = zones.withLock { zones in
      guard let holder = zones[zone]?.holder else { return false }
      if holder.until <= now { zones[zone]?.end(holder, at: now) }
      return holder.until > now && holder.replica != replica
    }
    guard isHeld else { return }
    var error = ServerError.busy("the zone waits for the push of another replica")
    error.retryAfterSeconds = 1
    throw error
  }

  /// A push was stale.
  package func noteStale(_ replica: UUID, in zone: Int64, at now: ContinuousClock.Instant = .now) {
    let within = Duration.seconds(limits.holdStaleSeconds)
    let staleMax = limits.holdStaleAnswers
    let least = Duration.milliseconds(limits.holdMilliseconds)
    let most = max(least, .milliseconds(limits.holdMillisecondsMax))
    zones.withLock { zones in
      var state = zones[zone] ?? Zone()
      if let holder = state.holder, holder.until <= now { state.end(holder, at: now) }
      state.stale = state.stale.filter { $0.value.contains { now - $0 < within } }
      // So many as are counted, however often somebody is stale while the zone is held or rests.
      let recent = ((state.stale[replica] ?? []).filter { now - $0 < within } + [now])
        .suffix(min(max(staleMax, 2), Self.countedMax))
      let mayHold = state.holder == nil && (state.restsUntil ?? now) <= now
      if recent.count >= staleMax, mayHold {
        let tries = zip(recent, recent.dropFirst()).map { $0.duration(to: $1) }
        let needs = (tries.max() ?? .zero) * 2
        state.holder = Holder(
          replica: replica, since: now, until: now + min(most, max(least, needs)))
        state.stale[replica] = nil
      } else {
        state.stale[replica] = Array(recent)
      }
      zones[zone] = state
    }
  }

  /// Of each replica so many stale answers are remembered.
  private static let countedMax = 64

  /// A push was taken: whoever held the zone for it has no more need to.
  package func noteTaken(_ replica: UUID, in zone: Int64, at now: ContinuousClock.Instant = .now) {
    zones.withLock { zones in
      zones[zone]?.stale[replica] = nil
      if let holder = zones[zone]?.holder, holder.replica == replica {
        zones[zone]?.end(holder, at: now)
      }
    }
  }
}
