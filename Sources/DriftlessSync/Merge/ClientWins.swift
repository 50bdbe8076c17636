import Driftless

/// The value of the replica that comes to the zone last stands.
enum ClientWins {
  static func settle(_ conflict: PropertyConflict) -> Verdict {
    // CONFLICT: another replica's value reached the zone first.
    // RESOLUTION: the local value stands and is pushed over it; the zone's goes to the journal.
    Verdict(.local)
  }
}
