package import Foundation
import Synchronization

/// Lets a large push in among many small ones: a replica that was told *stale* several times in a row gets the zone to
/// itself, for as long as it needs to pull and push once, as its former tries show.
package final class ZoneHolds: Sendable {
  private struct Zone {
    /// When each replica was told that its push is stale, the last few times.
    private(set) var stale: [UUID: [ContinuousClock.Instant]] = [:]
    /// When it was last looked which of them are over.
    private var looked: ContinuousClock.Instant?
    var holder: Holder?
    /// Nobody gets the zone to itself before that.
    var restsUntil: ContinuousClock.Instant?

    /// Notes that a push of a replica was stale.
    ///
    /// - Parameter count: so many times of each replica are remembered.
    /// - Returns: when its last ones were, of those within the span; of a replica that there is no room for, this one alone.
    mutating func note(
      _ replica: UUID, at now: ContinuousClock.Instant, within span: Duration, count: Int
    ) -> [ContinuousClock.Instant] {
      // Who pushes may call itself anything. What is over makes room, where it has to.
      if stale[replica] == nil, stale.count >= ZoneHolds.replicasMax {
        // Once a second, however many come.
        if looked.map({ now - $0 >= .seconds(1) }) ?? true {
          stale = stale.filter { $0.value.contains { now - $0 < span } }
          looked = now
        }
        guard stale.count < ZoneHolds.replicasMax else { return [now] }
      }
      // So many as are counted, however often somebody is stale while the zone is held or rests.
      let recent = ((stale[replica] ?? []).filter { now - $0 < span } + [now]).suffix(count)
      stale[replica] = Array(recent)
      return Array(recent)
    }

    mutating func forget(_ replica: UUID) { stale[replica] = nil }

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
    func note(_ state: inout Zone) {
      if let holder = state.holder, holder.until <= now { state.end(holder, at: now) }
      let recent = state.note(
        replica, at: now, within: within, count: min(max(staleMax, 2), Self.countedMax))
      let mayHold = state.holder == nil && (state.restsUntil ?? now) <= now
      guard recent.count >= staleMax, mayHold else { return }
      let tries = zip(recent, recent.dropFirst()).map { $0.duration(to: $1) }
      let needs = (tries.max() ?? .zero) * 2
      state.holder = Holder(
        replica: replica, since: now, until: now + min(most, max(least, needs)))
      state.forget(replica)
    }
    zones.withLock { note(&$0[zone, default: Zone()]) }
  }

  /// Of each replica so many stale answers are remembered, and of each zone so many replicas: of further ones none.
  private static let countedMax = 64
  package static let replicasMax = 1_000

  /// Of how many replicas of a zone stale answers are remembered.
  package func remembered(of zone: Int64) -> Int {
    zones.withLock { $0[zone]?.stale.count ?? 0 }
  }

  /// A push was taken: whoever held the zone for it has no more need to.
  package func noteTaken(_ replica: UUID, in zone: Int64, at now: ContinuousClock.Instant = .now) {
    zones.withLock { zones in
      zones[zone]?.forget(replica)
      if let holder = zones[zone]?.holder, holder.replica == replica {
        zones[zone]?.end(holder, at: now)
      }
    }
  }
}
