import Driftless
import DriftlessProtocol
import DriftlessSync
import Foundation
import SyncDaemon

extension DoctorCheck {
  /// What a zone that answers says of itself, beside what the store knows of it.
  static func zone(_ info: ZoneInfo, for status: SyncStatus, at store: String) -> DoctorCheck {
    let reached = "zone \(info.zone) reached, head \(info.head)"
    let isOfAnotherLife = status.generation.map { $0 != info.generation } ?? false
    if isOfAnotherLife || status.cursor > info.head {
      let difference =
        isOfAnotherLife
        ? "its log was begun anew since this store read it"
        : "this store has read to \(status.cursor): the server was put back to an older state"
      return DoctorCheck(
        "server", .bad,
        "\(reached), but \(difference). syncctl sync --store \(store.shellWord) comes back to it, with "
          + "--reconcile where the store waits for a word")
    }
    let pending = status.pending.objects
    if !info.mayWrite, !status.pending.isEmpty {
      return DoctorCheck(
        "server", .bad,
        "\(reached), but the token may only read, and "
          + "\(status.pending.hasMore ? "more than " : "")\(pending) object\(pending == 1 ? "" : "s") "
          + "of this store cannot be sent. Get one with driftless-server token create --zone "
          + "\(info.zone) --verbs read,write, and syncctl enroll again with it; or give up what was not "
          + "sent: syncctl sync --store \(store.shellWord) --give-up-unsent")
    }
    if let error = status.lastError {
      return DoctorCheck("server", .note, "\(reached), but the last sync failed: \(error)")
    }
    return DoctorCheck("server", .good, reached)
  }
}
