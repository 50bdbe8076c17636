import Driftless

/// The merge table for properties: which rule settles a conflict. One file a rule.
///
/// A rule is a pure function of the conflict. The replica that pulls settles, and what it settles
/// to either is the log's value already or is pushed on top of it: so every rule, even one that an
/// app writes, ends in one order of settled values, the log's, and replicas with equal cursors and
/// nothing pending are equal.
enum MergeTable {
  static func settle(
    _ conflict: PropertyConflict,
    custom: (String, PropertyConflict) -> PropertyValue?
  ) -> Verdict {
    if let verdict = EqualValues.settle(conflict) { return verdict }
    return switch conflict.policy {
    case .lastWriterWins: LastWriterWins.settle(conflict)
    case .serverWins: ServerWins.settle(conflict)
    case .clientWins: ClientWins.settle(conflict)
    case .max: GreatestWins.settle(conflict)
    case .min: LeastWins.settle(conflict)
    case .counter: CounterMerge.settle(conflict)
    case .union: UnionMerge.settle(conflict)
    case .text: TextMerge.settle(conflict)
    case .custom(let name): CustomMerge.settle(conflict, value: custom(name, conflict))
    case .manual: ManualMerge.settle(conflict)
    }
  }
}
