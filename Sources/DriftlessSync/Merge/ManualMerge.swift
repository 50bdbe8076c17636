import Driftless

/// A person decides (`SyncEngine.decide`). Until then the zone's value stands everywhere, and the
/// local one waits in the journal.
enum ManualMerge {
  static func settle(_ conflict: PropertyConflict) -> Verdict {
    // CONFLICT: two values, and no rule may choose.
    // RESOLUTION: the zone's value stands until a person takes the local one back out of the
    // journal.
    Verdict(.remote)
  }
}
