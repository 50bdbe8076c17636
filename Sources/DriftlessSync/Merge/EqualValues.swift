import Driftless

/// Both sides have one value: the one place that says whether the pending edit ends with that.
///
/// The rules behind it in the merge table see two values that differ.
enum EqualValues {
  /// Nil when the values differ, or when equal values are, or may be, two counts.
  static func settle(_ conflict: PropertyConflict) -> Verdict? {
    guard conflict.local == conflict.remote else { return nil }
    // CONFLICT: a count that a server lost and this replica offers, and another edit that left the same number.
    // RESOLUTION: two edits may be two counts of which one goes: the counter's rule says so in the journal.
    if conflict.policy == .counter, conflict.isOffered, conflict.localTime != conflict.remoteTime {
      return nil
    }
    // CONFLICT: both replicas made the object, and gave it the same value.
    // RESOLUTION: it stands, and nothing is pending: to import the same data again is no later word
    // on it.
    if conflict.isOfTwoCreations { return Verdict(.same) }
    switch (conflict.policy, conflict.isLocalLater) {
    // CONFLICT: both replicas set the property to the same value, and its policy does not look at
    // time.
    // RESOLUTION: it stands, and nothing is pending: the time of the edit decides nothing later.
    case (.max, _), (.min, _), (.serverWins, _), (.manual, _):
      return Verdict(.same)
    // CONFLICT: both replicas counted to the same number.
    // RESOLUTION: two counts that look alike are two counts: the counter's rule adds them up.
    case (.counter, _) where CounterMerge.counts(conflict):
      return nil
    // CONFLICT: both replicas set the property to the same value, the zone's edit is not the older
    // one.
    // RESOLUTION: it stands, and nothing is pending.
    case (.lastWriterWins, false), (.clientWins, false), (.text, false), (.union, false),
      (.counter, false), (.custom, false):
      return Verdict(.same)
    // CONFLICT: both replicas set the property to the same value, the local edit is the later one.
    // RESOLUTION: it stands and stays pending: an edit that lies between the two in time, and comes
    // to the zone after the first, must find the second there.
    case (.union, true):
      return Verdict(.sameButLater, base: UnionMerge.baseKeepingAdds(conflict))
    case (.lastWriterWins, true), (.clientWins, true), (.text, true), (.counter, true),
      (.custom, true):
      return Verdict(.sameButLater)
    }
  }
}
