import Driftless

/// The value of the replica that comes to the zone last stands.
enum ClientWins {
  static func settle(_ conflict: PropertyConflict) -> Settlement {
    switch conflict.local == conflict.remote {
    // CONFLICT: both replicas set the property to the same value.
    // RESOLUTION: it stands, and nothing is pending.
    case true: .same
    // CONFLICT: another replica's value reached the zone first.
    // RESOLUTION: the local value stands and is pushed over it; the zone's goes to the journal.
    case false: .local
    }
  }
}
