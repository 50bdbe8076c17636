import Driftless
import Foundation

/// The later edit stands; equal times are told apart by the replicas' identities.
enum LastWriterWins {
  static func settle(_ conflict: PropertyConflict) -> Settlement {
    switch (conflict.local == conflict.remote, isLocalLater(conflict)) {
    // CONFLICT: both replicas set the property to the same value.
    // RESOLUTION: it stands, and nothing is pending.
    case (true, _): .same
    // CONFLICT: the local edit is the later one.
    // RESOLUTION: the local value stands and is pushed; the zone's goes to the journal.
    case (false, true): .local
    // CONFLICT: the remote edit is the later one.
    // RESOLUTION: the zone's value stands; the local one goes to the journal.
    case (false, false): .remote
    }
  }

  /// Whether the local edit comes after the remote one, by time, then by replica: a total order,
  /// the same everywhere.
  static func isLocalLater(_ conflict: PropertyConflict) -> Bool {
    if conflict.localTime != conflict.remoteTime {
      return conflict.localTime > conflict.remoteTime
    }
    return isOrderedBefore(conflict.remoteReplica, conflict.localReplica)
  }

  private static func isOrderedBefore(_ a: UUID, _ b: UUID) -> Bool {
    withUnsafeBytes(of: a.uuid) { a in
      withUnsafeBytes(of: b.uuid) { b in a.lexicographicallyPrecedes(b) }
    }
  }
}
