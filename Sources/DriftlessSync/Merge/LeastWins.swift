import Driftless

/// The least value stands: it commutes, so the order of delivery does not matter. Null never wins
/// over a value.
enum LeastWins {
  static func settle(_ conflict: PropertyConflict) -> Verdict {
    switch (conflict.local.isNull, conflict.remote.isNull) {
    // CONFLICT: the local value is null.
    // RESOLUTION: the zone's value stands; the local null goes to the journal.
    case (true, _): Verdict(.remote)
    // CONFLICT: the zone's value is null, the local one is not.
    // RESOLUTION: the local value stands and is pushed; the zone's null goes to the journal.
    case (false, true): Verdict(.local)
    case (false, false):
      switch ValueOrder.compare(conflict.local, conflict.remote) {
      // CONFLICT: both replicas set the property to equally small values.
      // RESOLUTION: the zone's spelling stands, and nothing is pending.
      case .same: Verdict(.remote)
      // CONFLICT: the local value is less than the zone's.
      // RESOLUTION: the local value stands and is pushed; the zone's goes to the journal.
      case .ascending: Verdict(.local)
      // CONFLICT: the zone's value is less than the local one.
      // RESOLUTION: the zone's value stands; the local one goes to the journal.
      case .descending: Verdict(.remote)
      }
    }
  }
}
