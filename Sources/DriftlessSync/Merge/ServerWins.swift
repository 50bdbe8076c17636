import Driftless

/// What the zone's log says stands.
enum ServerWins {
  static func settle(_ conflict: PropertyConflict) -> Settlement {
    switch conflict.local == conflict.remote {
    // CONFLICT: both replicas set the property to the same value.
    // RESOLUTION: it stands, and nothing is pending.
    case true: .same
    // CONFLICT: another replica's value reached the zone first.
    // RESOLUTION: the zone's value stands; the local one goes to the journal.
    case false: .remote
    }
  }
}
