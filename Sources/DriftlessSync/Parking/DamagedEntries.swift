import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Entries whose bytes the server's disk does not have as they were pushed. What is damaged on the way comes right the
/// next time; what comes twice with the same damage lies so at the server, and stops nobody.
extension SyncEngine {
  private static let seenSetting = "sync.damagedEntry"
  static let damagedThere =
    "The server's copy of it is damaged: it came twice with the same bytes, which are not those that were pushed. "
    + "When the operator has restored the log: syncctl parked retry."

  /// Whether an entry came with these very bytes before.
  func cameTwice(_ entry: PullPage.Entry) throws -> Bool {
    let digest = ChangeSetHeader.digest(of: entry.frame).map { String(format: "%02x", $0) }.joined()
    let sign = "\(entry.sequence) \(digest)"
    if case .text(sign)? = try store.read({ try $0.setting(Self.seenSetting) }) { return true }
    try bookkeep { try $0.setSetting(Self.seenSetting, .text(sign)) }
    return false
  }

  /// Fetches damaged entries again that a person asks for.
  func fetchDamaged() async throws {
    let asked = try store.read { transaction in
      try Parking.entries(on: transaction.connection).filter {
        $0.code == .damaged && $0.triedLevel < Parking.level
      }
    }
    for parked in asked {
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
        try KeptFrames.keep(entry, at: store.now, on: transaction.connection)
      }
    }
  }

  private func note(_ reason: String, of parked: Parking.Entry) throws {
    try bookkeep {
      try Parking.note(reason, of: parked.sequence, on: $0.connection)
    }
  }
}
