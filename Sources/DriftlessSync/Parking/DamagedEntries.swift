import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Entries that come other than they were pushed. What is damaged on the way comes right the next time, as a rule; what comes
/// twice with the same damage lies so at the server, or the way does it each time. It stops nobody, and is asked for again
/// every hour: a host gets another way, an operator restores a log.
extension SyncEngine {
  private static let seenSetting = "sync.damagedEntry"
  static let damagedTriedSetting = "sync.damagedTried"
  /// How long after a try in vain the next one is due. Milliseconds.
  private static let damagedPause: Int64 = 3_600_000
  static let damagedThere =
    "It came twice with the same bytes, which are not those that were pushed: the server's copy of it is damaged "
    + "(driftless-server verify tells), or something on the way changes it each time. It is asked for again every hour, "
    + "and by: syncctl parked retry."

  /// Whether an entry came with these very bytes before.
  func cameTwice(_ entry: PullPage.Entry) throws -> Bool {
    let digest = ChangeSetHeader.digest(of: entry.frame).map { String(format: "%02x", $0) }.joined()
    let sign = "\(entry.sequence) \(digest)"
    if case .text(sign)? = try store.read({ try $0.setting(Self.seenSetting) }) { return true }
    try bookkeep { try $0.setSetting(Self.seenSetting, .text(sign)) }
    return false
  }

  /// Fetches damaged entries again: all every hour, and those that a person asks for.
  func fetchDamaged() async throws {
    let now = Int64(store.now.timeIntervalSince1970 * 1_000)
    let (damaged, last) = try store.read { transaction in
      (
        try Parking.entries(on: transaction.connection).filter { $0.code == .damaged },
        try transaction.setting(Self.damagedTriedSetting)
      )
    }
    guard !damaged.isEmpty else { return }
    var isDue = true
    // A clock that was put back makes nobody wait for it.
    if case .integer(let tried)? = last, (0...now).contains(tried) {
      isDue = now - tried >= Self.damagedPause
    }
    let wanted = damaged.filter { isDue || $0.triedLevel < Parking.level }
    guard !wanted.isEmpty else { return }
    try bookkeep { try $0.setSetting(Self.damagedTriedSetting, .integer(now)) }
    for parked in wanted {
      let state = try replicaState()
      guard
        let before = try store.read({
          try LogPlaces.all(
            of: state.generation, through: parked.sequence &- 1, on: $0.connection
          ).last
        }), before.sequence == parked.sequence &- 1
      else {
        try note(
          "It is too old to be fetched again by itself: run syncctl enroll --anew.", of: parked)
        continue
      }
      let page: PullPage
      do {
        page = try await transport.pull(
          PullRequest(
            cursor: Cursor(
              generation: state.generation, sequence: before.sequence, chain: before.chain),
            mark: state.mark, maxBytes: 1, waitSeconds: 0, replica: state.replica, ownThrough: 0))
      } catch let error as ProtocolError
        where error.code == .damaged || error.code == .malformed
      {
        // What cannot be answered stops no pull: the rest of the log is elsewhere.
        try note(Self.damagedThere, of: parked)
        continue
      } catch let error as ProtocolError where error.code == .purged {
        try note(
          "It was purged from the zone's log, whose snapshot has what it came to: enrol a new, empty store.",
          of: parked)
        continue
      }
      guard let entry = page.entries.first, entry.follows(before),
        ChangeSetHeader.isWhole(entry.frame)
      else {
        try note(Self.damagedThere, of: parked)
        continue
      }
      try bookkeep { transaction in
        // Enrolled anew meanwhile, the store has another log.
        guard try Self.state(on: transaction.connection, of: store).generation == state.generation
        else { return }
        try Parking.replace(entry.frame, of: parked.sequence, on: transaction.connection)
        try KeptFrames.keep(entry, transaction)
      }
    }
  }

  private func note(_ reason: String, of parked: Parking.Entry) throws {
    try bookkeep {
      try Parking.note(reason, of: parked.sequence, on: $0.connection)
    }
  }
}
