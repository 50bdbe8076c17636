import Driftless

/// For a to-many relationship the union is made element by element (`ElementMerge`); a single value
/// has no elements.
enum UnionMerge {
  static func settle(_ conflict: PropertyConflict) -> Settlement {
    // CONFLICT: both replicas set a property of one value whose policy is made for sets.
    // RESOLUTION: the later edit stands.
    LastWriterWins.settle(conflict)
  }
}
