import Driftless
import Foundation

/// The later edit stands; equal times are told apart by the replicas' identities.
enum LastWriterWins {
  static func settle(_ conflict: PropertyConflict) -> Verdict {
    switch conflict.isLocalLater {
    // CONFLICT: the local edit is the later one.
    // RESOLUTION: the local value stands and is pushed; the zone's goes to the journal.
    case true: Verdict(.local)
    // CONFLICT: the remote edit is the later one.
    // RESOLUTION: the zone's value stands; the local one goes to the journal.
    case false: Verdict(.remote)
    }
  }

  /// The rule in place of one that has nothing to work on.
  ///
  /// - Parameter reason: such as "since one side holds no text"; the journal names it.
  static func settle(_ conflict: PropertyConflict, since reason: String) -> Verdict {
    var verdict = settle(conflict)
    verdict.rule = "lastWriterWins, \(reason),"
    return verdict
  }
}
