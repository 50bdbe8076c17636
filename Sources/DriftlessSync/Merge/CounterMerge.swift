import Driftless
import Foundation

/// What each side added or took away adds up, and stops at the bounds of the attribute.
///
/// What was counted here is the local value less the base. The base is the zone's value with what
/// it acknowledged of the transactions that are pending here, also where another copy of this
/// replica sent them: what is left are the transactions that nobody sent.
enum CounterMerge {
  static func settle(_ conflict: PropertyConflict) -> Verdict {
    guard counts(conflict), let counted = counted(conflict) else {
      // CONFLICT: no base is known (two replicas made the object), or one side set null, or what is
      // no finite number.
      // RESOLUTION: there is nothing to add to: the later edit stands.
      return LastWriterWins.settle(conflict, since: "since there is no count to add to")
    }
    let sum: (value: PropertyValue, isStopped: Bool)
    switch (conflict.remote, counted) {
    // CONFLICT: both replicas counted on one base.
    // RESOLUTION: the zone's value plus what was counted here; it is pushed on the zone's value as
    // base. A sum beyond what the attribute holds stops at its bound, and the journal says so.
    case (.integer(let remote), .integer(let counted)):
      sum = CounterBounds.sum(remote, counted, conflict)
    case (.double(let remote), .double(let counted)):
      sum = CounterBounds.sum(remote, counted, conflict)
    case (.decimal(let remote), .decimal(let counted)):
      sum = CounterBounds.sum(remote, counted, conflict)
    case (_, _):
      return LastWriterWins.settle(conflict, since: "since there is no count to add to")
    }
    if !sum.isStopped, sum.value == conflict.remote, conflict.local == conflict.remote {
      // CONFLICT: what was counted here cancels out, and both sides have one value.
      // RESOLUTION: it stands. Where it is known which transactions counted, it is sent all the same,
      // since another copy may have sent one of them: their names say that the rest is counted too.
      return Verdict(conflict.hasCounts ? .sameButLater : .same)
    }
    let note =
      sum.isStopped
      ? "The zone's \(text(conflict.remote)) and the \(text(counted)) counted here are beyond what "
        + "the attribute holds: it stops at \(text(sum.value))." : nil
    return Verdict(.combined(sum.value), note: note)
  }

  /// Whether the conflict is between two counts that add up.
  static func counts(_ conflict: PropertyConflict) -> Bool {
    switch (conflict.remote, counted(conflict)) {
    case (.integer, .integer): true
    case (.double(let remote), .double(let counted)): remote.isFinite && counted.isFinite
    case (.decimal(let remote), .decimal(let counted)): !remote.isNaN && !counted.isNaN
    default: false
    }
  }

  /// What was counted here and is pending; nil when it is not known, or the local value is no number.
  private static func counted(_ conflict: PropertyConflict) -> PropertyValue? {
    if conflict.local.isNull { return nil }
    return switch (conflict.base, conflict.local) {
    case (.integer(let base)?, .integer(let local)):
      .integer(CounterBounds.clamped(local.subtractingReportingOverflow(base), below: local < base))
    case (.double(let base)?, .double(let local)): .double(local - base)
    case (.decimal(let base)?, .decimal(let local)): .decimal(local - base)
    // Null counts from zero.
    case (.null?, .integer), (.null?, .double), (.null?, .decimal): conflict.local
    default: nil
    }
  }

  private static func text(_ value: PropertyValue) -> String {
    switch value {
    case .integer(let value): "\(value)"
    case .double(let value): "\(value)"
    case .decimal(let value): "\(value)"
    default: "value"
    }
  }
}

/// Sums that stop where the attribute's type, or its own least and greatest value, ends.
enum CounterBounds {
  typealias Sum = (value: PropertyValue, isStopped: Bool)

  /// The result of an operation on integers, or the end of 64 bits that it went past.
  static func clamped(_ result: (partialValue: Int64, overflow: Bool), below: Bool) -> Int64 {
    result.overflow ? (below ? .min : .max) : result.partialValue
  }

  static func sum(_ a: Int64, _ b: Int64, _ conflict: PropertyConflict) -> Sum {
    let result = a.addingReportingOverflow(b)
    let range: ClosedRange<Int64> =
      switch conflict.type {
      case .integer16: Int64(Int16.min)...Int64(Int16.max)
      case .integer32: Int64(Int32.min)...Int64(Int32.max)
      default: Int64.min...Int64.max
      }
    let exact = clamped(result, below: b < 0)
    let value = min(max(exact, range.lowerBound), range.upperBound)
    return bounded(
      .integer(value), rises: b >= 0, isStopped: result.overflow || value != exact, conflict)
  }

  static func sum(_ a: Double, _ b: Double, _ conflict: PropertyConflict) -> Sum {
    // Nothing counted changes nothing, not even a value that a Float would round.
    guard b != 0 else { return (.double(a), false) }
    var value = a + b
    var greatest = Double.greatestFiniteMagnitude
    if conflict.type == .float {
      greatest = Double(Float.greatestFiniteMagnitude)
      if abs(value) <= greatest { value = Double(Float(value)) }
    }
    guard abs(value) > greatest else {
      return bounded(.double(value), rises: b >= 0, isStopped: false, conflict)
    }
    return bounded(
      .double(value < 0 ? -greatest : greatest), rises: b >= 0, isStopped: true, conflict)
  }

  static func sum(_ a: Decimal, _ b: Decimal, _ conflict: PropertyConflict) -> Sum {
    var (left, right, value) = (a, b, Decimal())
    let isStopped = NSDecimalAdd(&value, &left, &right, .plain) == .overflow
    if isStopped {
      value = b < 0 ? -Decimal.greatestFiniteMagnitude : Decimal.greatestFiniteMagnitude
    }
    return bounded(.decimal(value), rises: b >= 0, isStopped: isStopped, conflict)
  }

  /// The sum, stopped at the attribute's own least or greatest value on the side to which it was
  /// counted: a value that lies beyond it already is not moved the other way.
  private static func bounded(
    _ value: PropertyValue, rises: Bool, isStopped: Bool, _ conflict: PropertyConflict
  ) -> Sum {
    let bound = rises ? conflict.attribute?.maximum : conflict.attribute?.minimum
    switch (bound, value) {
    case (.integer(let bound)?, .integer(let sum)) where rises ? sum > bound : sum < bound:
      return (.integer(bound), true)
    case (.double(let bound)?, .double(let sum)) where rises ? sum > bound : sum < bound:
      return (.double(bound), true)
    case (.decimal(let bound)?, .decimal(let sum)) where rises ? sum > bound : sum < bound:
      return (.decimal(bound), true)
    default: return (value, isStopped)
    }
  }
}
