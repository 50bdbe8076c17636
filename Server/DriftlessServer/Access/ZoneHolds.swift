import Foundation
import Synchronization

/// Lets a large push in among many small ones: a replica that was told *stale* several times within
/// a short time gets the zone to itself for a moment, so that it can pull and push once.
final class ZoneHolds: Sendable {
  private struct Zone {
    /// When each replica was told that its push is stale, the last few times.
    var stale: [UUID: [ContinuousClock.Instant]] = [:]
    var holder: (replica: UUID, until: ContinuousClock.Instant)?
  }

  private let zones = Mutex<[Int64: Zone]>([:])
  private let limits: LiveLimits
  private var within: Duration { .seconds(limits.holdStaleSeconds) }

  init(limits: LiveLimits) { self.limits = limits }

  /// - Throws: `ServerError` (`.busy`) while the zone is held for another replica.
  func admit(_ replica: UUID, to zone: Int64, at now: ContinuousClock.Instant = .now) throws {
    let isHeld = zones.withLock { zones in
      guard let holder = zones[zone]?.holder else { return false }
      if holder.until <= now { zones[zone]?.holder = nil }
      return holder.until > now && holder.replica != replica
    }
    guard isHeld else { return }
    var error = ServerError.busy("the zone waits for the push of another replica")
    error.retryAfterSeconds = 1
    throw error
  }

  /// A push was stale.
  func noteStale(_ replica: UUID, in zone: Int64, at now: ContinuousClock.Instant = .now) {
    let within = within
    let staleMax = limits.holdStaleAnswers
    let holds = Duration.milliseconds(limits.holdMilliseconds)
    zones.withLock { zones in
      var state = zones[zone] ?? Zone()
      state.stale = state.stale.filter { $0.value.contains { now - $0 < within } }
      let recent = (state.stale[replica] ?? []).filter { now - $0 < within } + [now]
      if recent.count >= staleMax, (state.holder?.until ?? now) <= now {
        state.holder = (replica, now + holds)
        state.stale[replica] = nil
      } else {
        state.stale[replica] = recent
      }
      zones[zone] = state
    }
  }

  /// A push was taken: whoever held the zone for it has no more need to.
  func noteTaken(_ replica: UUID, in zone: Int64) {
    zones.withLock { zones in
      zones[zone]?.stale[replica] = nil
      if zones[zone]?.holder?.replica == replica { zones[zone]?.holder = nil }
    }
  }
}
