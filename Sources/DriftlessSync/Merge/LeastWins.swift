import Driftless

/// The least value stands: it commutes, so the order of delivery does not matter. Null never wins
/// over a value.
enum LeastWins {
  static func settle(_ conflict: PropertyConflict) -> Settlement {
    switch (conflict.local.isNull, conflict.remote.isNull) {
    // CONFLICT: both replicas set the property to null.
    // RESOLUTION: null stands, and nothing is pending.
    case (true, true): .same
    // CONFLICT: the local value is null, the zone's is not.
    // RESOLUTION: the zone's value stands; the local null goes to the journal.
    case (true, false): .remote
    // CONFLICT: the zone's value is null, the local one is not.
    // RESOLUTION: the local value stands and is pushed; the zone's null goes to the journal.
    case (false, true): .local
    case (false, false):
      switch ValueOrder.compare(conflict.local, conflict.remote) {
      // CONFLICT: both replicas set the property to equally small values.
      // RESOLUTION: the zone's spelling stands, and nothing is pending.
      case .same: conflict.local == conflict.remote ? .same : .remote
      // CONFLICT: the local value is less than the zone's.
      // RESOLUTION: the local value stands and is pushed; the zone's goes to the journal.
      case .ascending: .local
      // CONFLICT: the zone's value is less than the local one.
      // RESOLUTION: the zone's value stands; the local one goes to the journal.
      case .descending: .remote
      }
    }
  }
}
