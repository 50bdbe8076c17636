/// Sums and differences of counters, in the attribute's type. Null counts as zero. Whole numbers stop at the bounds of
/// 64 bits; the narrower bounds of an attribute are for its values, not for what is added to them.
package enum CounterDelta {
  /// What makes `value` of `former`; nil for values that are no numbers.
  package static func difference(
    _ value: PropertyValue, _ former: PropertyValue
  ) -> PropertyValue? {
    switch (value, former) {
    case (.integer(let value), .integer(let former)):
      let (difference, overflows) = value.subtractingReportingOverflow(former)
      return .integer(overflows ? (value < former ? .min : .max) : difference)
    case (.integer, .null): return value
    case (.null, .integer(let former)): return .integer(former == .min ? .max : -former)
    case (.double(let value), .double(let former)): return .double(value - former)
    case (.double, .null): return value
    case (.null, .double(let former)): return .double(-former)
    case (.decimal(let value), .decimal(let former)): return .decimal(value - former)
    case (.decimal, .null): return value
    case (.null, .decimal(let former)): return .decimal(-former)
    default: return nil
    }
  }

  /// Nil for values that are no numbers of one type.
  package static func sum(_ value: PropertyValue, _ delta: PropertyValue) -> PropertyValue? {
    switch (value, delta) {
    case (.integer(let value), .integer(let delta)):
      let (sum, overflows) = value.addingReportingOverflow(delta)
      return .integer(overflows ? (delta < 0 ? .min : .max) : sum)
    case (.double(let value), .double(let delta)): return .double(value + delta)
    case (.decimal(let value), .decimal(let delta)): return .decimal(value + delta)
    case (.integer, .null), (.double, .null), (.decimal, .null): return value
    case (.null, .integer), (.null, .double), (.null, .decimal): return delta
    default: return nil
    }
  }
}
