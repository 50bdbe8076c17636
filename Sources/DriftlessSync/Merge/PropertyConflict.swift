import Driftless
import Foundation

/// A remote change to a property that is pending here: both sides, with what a rule may look at.
struct PropertyConflict: Sendable {
  var policy: ConflictPolicy
  /// The value before the first local change, when a policy needed it kept.
  var base: PropertyValue?
  var local: PropertyValue
  var remote: PropertyValue
  var localTime: HybridTime
  var remoteTime: HybridTime
  var localReplica: UUID
  var remoteReplica: UUID
}

/// What a rule decides.
enum Settlement: Hashable, Sendable {
  /// Both sides want the same. Nothing is pending, nothing is lost, nothing is journaled.
  case same
  /// The zone's value stands; the local one goes to the journal and is pending no more.
  case remote
  /// The local value stands and stays pending on the zone's; the zone's goes to the journal.
  case local
  /// A value made of both stands. It stays pending, unless it is the zone's value.
  case combined(PropertyValue)
}
