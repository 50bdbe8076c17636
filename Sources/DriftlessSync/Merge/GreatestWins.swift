import Driftless

/// The greatest value stands: it commutes, so the order of delivery does not matter.
enum GreatestWins {
  static func settle(_ conflict: PropertyConflict) -> Verdict {
    switch ValueOrder.compare(conflict.local, conflict.remote) {
    // CONFLICT: both replicas set the property to equally great values.
    // RESOLUTION: the zone's spelling stands, and nothing is pending.
    case .same: Verdict(.remote)
    // CONFLICT: the local value is greater than the zone's, or the zone's is null.
    // RESOLUTION: the local value stands and is pushed; the zone's goes to the journal.
    case .descending: Verdict(.local)
    // CONFLICT: the zone's value is greater than the local one, or the local one is null.
    // RESOLUTION: the zone's value stands; the local one goes to the journal.
    case .ascending: Verdict(.remote)
    }
  }
}
