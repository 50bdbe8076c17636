import Driftless

/// What the zone's log says stands.
enum ServerWins {
  static func settle(_ conflict: PropertyConflict) -> Verdict {
    // CONFLICT: another replica's value reached the zone first.
    // RESOLUTION: the zone's value stands; the local one goes to the journal.
    Verdict(.remote)
  }
}
