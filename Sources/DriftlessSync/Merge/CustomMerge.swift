import Driftless

/// The app's own rule, by name.
enum CustomMerge {
  /// - Parameter value: what the app's rule gave; nil when this process knows no rule of that name.
  static func settle(_ conflict: PropertyConflict, value: PropertyValue?) -> Verdict {
    switch value {
    // CONFLICT: the rule of that name is not registered in this process.
    // RESOLUTION: the later edit stands; the other value is in the journal.
    case nil:
      LastWriterWins.settle(
        conflict, since: "since this program knows no rule \(conflict.policy.text)")
    case let value?:
      switch (value == conflict.local, value == conflict.remote) {
      // CONFLICT: the rule keeps the local value.
      // RESOLUTION: it stands and is pushed; the zone's goes to the journal.
      case (true, _): Verdict(.local)
      // CONFLICT: the rule keeps the zone's value.
      // RESOLUTION: it stands; the local one goes to the journal.
      case (false, true): Verdict(.remote)
      // CONFLICT: the rule makes a value of its own.
      // RESOLUTION: that value stands and is pushed; both go to the journal.
      case (false, false): Verdict(.combined(value))
      }
    }
  }
}
