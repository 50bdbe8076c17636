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
    let verdict =
      switch conflict.policy {
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
    guard case .combined(let value) = verdict.settlement,
      let refusal = refusal(of: value, conflict)
    else { return verdict }
    // CONFLICT: a rule makes a value of both that the model does not hold: too long a text, or none of an app's own choosing.
    // RESOLUTION: the later edit stands; the other value is in the journal.
    return LastWriterWins.settle(
      conflict,
      since: "since what \(conflict.policy.text) makes of both does not fit this model (\(refusal))"
    )
  }

  private static func refusal(of value: PropertyValue, _ conflict: PropertyConflict) -> String? {
    // Sums stop at the bounds by themselves, and one that comes back from beyond them is meant.
    guard conflict.policy != .counter, let attribute = conflict.attribute else { return nil }
    do throws(ValidationError) {
      try attribute.validate(value)
      return nil
    } catch {
      return "\(error)"
    }
  }
}
