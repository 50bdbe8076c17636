import Driftless
import Foundation

/// What each side added or took away adds up.
///
/// The base is the value before the first local change that the zone has not acknowledged; after an
/// acknowledgement it is the value that was sent. A counter that wraps past the limits of Int64
/// wraps on every replica alike.
enum CounterMerge {
  static func settle(_ conflict: PropertyConflict) -> Settlement {
    switch (conflict.base, conflict.local, conflict.remote) {
    // CONFLICT: both replicas counted on one base.
    // RESOLUTION: the zone's value plus what was counted here; it is pushed on the zone's value as
    // base.
    case (.integer(let base)?, .integer(let local), .integer(let remote)):
      sum(.integer(remote &+ (local &- base)), conflict)
    case (.double(let base)?, .double(let local), .double(let remote)):
      sum(.double(remote + (local - base)), conflict)
    case (.decimal(let base)?, .decimal(let local), .decimal(let remote)):
      sum(.decimal(remote + (local - base)), conflict)
    // CONFLICT: both replicas began to count a property that was null: the base is zero.
    // RESOLUTION: both counts together.
    case (.null?, .integer(let local), .integer(let remote)):
      sum(.integer(remote &+ local), conflict)
    case (.null?, .double(let local), .double(let remote)):
      sum(.double(remote + local), conflict)
    case (.null?, .decimal(let local), .decimal(let remote)):
      sum(.decimal(remote + local), conflict)
    // CONFLICT: no base is known (two replicas made the object), or one side set null.
    // RESOLUTION: there is nothing to add to: the later edit stands.
    case (_, _, _): LastWriterWins.settle(conflict)
    }
  }

  private static func sum(_ value: PropertyValue, _ conflict: PropertyConflict) -> Settlement {
    value == conflict.remote && conflict.local == conflict.remote ? .same : .combined(value)
  }
}
