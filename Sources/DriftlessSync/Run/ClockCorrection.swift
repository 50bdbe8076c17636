package import Driftless
import DriftlessSQLite
package import Foundation

/// What a replica did about a clock of its host that was wrong, until the next time: for a person who asks afterwards.
package struct ClockCorrection: Hashable, Sendable {
  static let setting = "sync.clockCorrection"
  /// Differences of clocks that nobody minds.
  package static let leastMilliseconds: Int64 = 2_000

  /// Milliseconds from the host's clock to the zone's, as they were known before, and since.
  package var before: Int64
  package var after: Int64
  /// When that was found.
  package var found: Date
  /// Saves that lay ahead of the zone's clock and were moved back to it before they were sent.
  package var moved = 0
  /// By how many milliseconds the furthest of them lay ahead.
  package var lead: Int64 = 0

  init(before: Int64, after: Int64, found: Date) {
    self.before = before
    self.after = after
    self.found = found
  }

  var text: String { "\(before) \(after) \(found.timeIntervalSince1970) \(moved) \(lead)" }

  init?(text: String) {
    let parts = text.split(separator: " ")
    guard parts.count == 5, let before = Int64(parts[0]), let after = Int64(parts[1]),
      let time = Double(parts[2]), time.isFinite, let moved = Int(parts[3]), moved >= 0,
      let lead = Int64(parts[4]), lead >= 0
    else { return nil }
    self.init(before: before, after: after, found: Date(timeIntervalSince1970: time))
    (self.moved, self.lead) = (moved, lead)
  }

  static func load(_ transaction: ReadTransaction) throws -> ClockCorrection? {
    guard case .text(let text)? = try transaction.setting(setting) else { return nil }
    return ClockCorrection(text: text)
  }

  func save(_ transaction: WriteTransaction) throws {
    try transaction.setSetting(Self.setting, .text(text))
  }
}

/// What is known of the clock of a store's host.
package struct ClockState: Hashable, Sendable {
  /// Milliseconds from the host's clock as it is now to the zone's, as far as is known.
  package var offset: Int64
  /// What was done about a clock that was wrong before.
  package var correction: ClockCorrection?
  /// Saves that were not sent and lie ahead of the zone's clock: the next sync moves them back.
  package var ahead: Int
  /// By how many milliseconds the furthest of them does.
  package var lead: Int64
}

extension SyncEngine {
  /// What is known of the clock of a store's host.
  ///
  /// - Throws: `StoreError`, `SyncError`.
  package static func clock(of store: PersistentStore) throws -> ClockState {
    // A time of day that was set since is no more as far from the zone's as it was.
    let learnt = try store.learntClock()
    let offset = learnt.offset &- (learnt.step ?? 0)
    let zone = store.now.addingTimeInterval(Double(offset) / 1000).timeIntervalSince1970 * 1000
    return try store.read { transaction in
      var state = ClockState(offset: offset, correction: nil, ahead: 0, lead: 0)
      guard let replica = try ReplicaState.load(from: transaction.connection) else { return state }
      state.correction = try ClockCorrection.load(transaction)
      for time in try transaction.localTimes(after: replica.acknowledged) {
        let lead = Int64(time.date.timeIntervalSince1970 * 1000 - zone)
        guard lead >= ClockCorrection.leastMilliseconds else { continue }
        state.ahead += 1
        state.lead = max(state.lead, lead)
      }
      return state
    }
  }

  /// Keeps what changed about the host's clock.
  func note(clockWas before: Int64, is after: Int64) throws {
    guard before.distance(to: after).magnitude >= ClockCorrection.leastMilliseconds.magnitude
    else { return }
    let found = store.now
    try bookkeep {
      try ClockCorrection(before: before, after: after, found: found).save($0)
    }
  }

  /// Keeps how many saves were moved back to the zone's time, with those of the same mistake.
  func note(
    moved count: Int, lead: Int64, offset: Int64, _ transaction: WriteTransaction
  ) throws {
    guard count > 0 else { return }
    let now = store.now
    var correction = try ClockCorrection.load(transaction)
    // What is told is one mistake, found within a day, not all there ever were.
    if let known = correction, abs(known.found.timeIntervalSince(now)) > 86_400 { correction = nil }
    var noted = correction ?? ClockCorrection(before: offset, after: offset, found: now)
    noted.moved = noted.moved.addingReportingOverflow(count).partialValue
    noted.lead = max(noted.lead, lead)
    try noted.save(transaction)
  }
}
